import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("Atomic files")
struct AtomicFileTests {
  private let old = Data("old".utf8)
  private let new = Data("new content".utf8)

  private func names(in folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
  }

  private func permissions(of url: URL) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
  }

  @Test("Writing creates a file, and writing again replaces it", arguments: [0, 1, 100_000])
  func write(size: Int) throws {
    try withFolder { (folder: URL) throws in
      let url = folder.appendingPathComponent("größe ü.strata")
      let bytes = sampleBody(size)
      try AtomicFile.write(bytes.bytes, to: url)
      #expect(try AtomicFile.read(url) == bytes)
      try AtomicFile.write(new, to: url)
      #expect(try Data(contentsOf: url) == new)
      #expect(try names(in: folder).count == 1)
    }
  }

  @Test(
    "Replacing a file keeps its permissions, and a new file gets the default ones", arguments: [0o600, 0o640, 0o444])
  func permissions(mode: Int) throws {
    try withFolder { (folder: URL) throws in
      let url = folder.appendingPathComponent("a")
      let usual = folder.appendingPathComponent("b")
      try AtomicFile.write(old, to: url)
      try old.write(to: usual)
      #expect(try permissions(of: url) == permissions(of: usual))
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path)
      try AtomicFile.write(new, to: url)
      #expect(try permissions(of: url) == mode)
    }
  }

  @Test("Writing to a symbolic link keeps the link and replaces its target", arguments: [true, false], [true, false])
  func link(exists: Bool, relative: Bool) throws {
    try withFolder { (folder: URL) throws in
      let inner = folder.appendingPathComponent("inner")
      try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: false)
      let target = inner.appendingPathComponent("target")
      if exists { try old.write(to: target) }
      let link = folder.appendingPathComponent("link")
      let second = folder.appendingPathComponent("second")
      let destination = relative ? "inner/target" : target.path
      try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: destination)
      try FileManager.default.createSymbolicLink(atPath: second.path, withDestinationPath: "link")
      try AtomicFile.write(new, to: second)
      #expect(try Data(contentsOf: target) == new)
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == destination)
      #expect(try names(in: folder) == ["inner", "link", "second"])
      #expect(try names(in: inner) == ["target"])
    }
  }

  @Test("Writing to a cycle of symbolic links throws fileSystem")
  func circle() throws {
    try withFolder { (folder: URL) throws in
      let link = folder.appendingPathComponent("link")
      try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "link")
      archiveError(.fileSystem) { try AtomicFile.write(new, to: link) }
    }
  }

  @Test("Writing throws fileSystem if the folder is missing or the path cannot be a regular file")
  func impossible() throws {
    try withFolder { (folder: URL) throws in
      let missing = folder.appendingPathComponent("none/file")
      let error = archiveError(.fileSystem) { try AtomicFile.write(new, to: missing) }
      #expect(error?.description.contains("none/file”: No such file or directory") == true)
      #expect((error?.underlyingError as? POSIXError)?.code == .ENOENT)
      archiveError(.fileSystem) { try AtomicFile.write(new, to: folder) }
      let file = folder.appendingPathComponent("file")
      try old.write(to: file)
      archiveError(.fileSystem) { try AtomicFile.write(new, to: file.appendingPathComponent("below")) }
      archiveError(.fileSystem) { try AtomicFile.write(new, to: URL(fileURLWithPath: "/dev/null")) }
      if let page = URL(string: "https://example.com/a") {
        archiveError(.fileSystem) { try AtomicFile.write(new, to: page) }
      }
      #expect(try names(in: folder) == ["file"])
    }
  }

  private struct Stop: Error {}

  @Test("X-8: an error while writing keeps the old file")
  func failure() throws {
    try withFolder { (folder: URL) throws in
      let url = folder.appendingPathComponent("a")
      try old.write(to: url)
      #expect(throws: Stop.self) {
        try AtomicFile.replace(url) { file in
          try file.writeAll(new.bytes)
          throw Stop()
        }
      }
      #expect(try Data(contentsOf: url) == old)
      #expect(try names(in: folder) == ["a"])
    }
  }

  @Test("X-8: a full disk keeps the old file", .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
  func fullDisk() throws {
    try withFolder { (folder: URL) throws in
      let url = folder.appendingPathComponent("a")
      try old.write(to: url)
      let error = archiveError(.fileSystem) {
        try AtomicFile.replace(url) { file in
          try file.writeAll(new.bytes)
          try OpenFile(writing: URL(fileURLWithPath: "/dev/full")).writeAll(new.bytes)
        }
      }
      #expect(error?.description == "cannot write the file “/dev/full”: No space left on device")
      #expect(try Data(contentsOf: url) == old)
      #expect(try names(in: folder) == ["a"])
    }
  }

  @Test("Several pieces are written in order")
  func pieces() throws {
    try withFolder { (folder: URL) throws in
      let url = folder.appendingPathComponent("a")
      try AtomicFile.replace(url) { file in
        try file.writeAll(old.bytes)
        try file.writeAll(new.bytes)
      }
      #expect(try AtomicFile.read(url) == Array(old + new))
    }
  }

  @Test("Reading errors name the file and the cause")
  func reading() throws {
    try withFolder { (folder: URL) throws in
      let url = folder.appendingPathComponent("a")
      let missing = archiveError(.fileSystem) { _ = try AtomicFile.read(url) }
      #expect(missing?.description == "cannot read the file “\(url.path)”: No such file or directory")
      let isFolder = archiveError(.fileSystem) { _ = try AtomicFile.read(folder) }
      #expect(isFolder?.description.hasSuffix("”: Is a directory") == true)
      try AtomicFile.write(Data(), to: url)
      #expect(try AtomicFile.read(url, limit: 0).isEmpty)
      try AtomicFile.write(new, to: url)
      #expect(try AtomicFile.read(url, limit: new.count) == Array(new))
      archiveError(.limitExceeded) { _ = try AtomicFile.read(url, limit: new.count - 1) }
    }
  }

  @Test("Reading a file of unknown size stops at the limit")
  func endless() {
    let zero = URL(fileURLWithPath: "/dev/zero")
    archiveError(.limitExceeded) { _ = try AtomicFile.read(zero, limit: 100_000) }
  }
}
