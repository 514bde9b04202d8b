import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// An operation that changes a file from one state to another.
private enum WritingScenario: String, CaseIterable, Sendable {
  case create, replace, append, recover, write, file, salvage

  /// Prepares the file. In each stream, the models are numbered from 0.
  func prepare(_ stream: SessionStream) throws {
    switch self {
    case .create: break
    case .replace, .append: _ = try stream.sessions(2)
    case .recover:
      let sizes = try stream.sessions(3)
      try stream.bytes.prefix(sizes[2] - 9).write(to: stream.url)
    case .write, .file: try ArchiveEncoder().encode(SessionStream.model(0), to: stream.url)
    case .salvage:
      let sizes = try stream.sessions(3)
      var bytes = try stream.bytes
      bytes[sizes[0] + 100] ^= 1
      try bytes.write(to: stream.folder.appending(path: "damaged.strata"))
      try bytes.prefix(sizes[0]).write(to: stream.url)
    }
  }

  func run(_ stream: SessionStream) throws {
    switch self {
    case .create, .replace:
      var writer = try ArchiveStreamWriter<Address>(creating: stream.url)
      for number in 100..<110 { try writer.append(SessionStream.model(number)) }
      try writer.finish()
    case .append: try stream.session(20..<30)
    case .recover: try stream.session(20..<30, recovering: true)
    case .write: try ArchiveEncoder().encode(SessionStream.model(1), to: stream.url)
    case .file: try ArchiveFile<Address>(stream.url).save(SessionStream.model(1))
    case .salvage: _ = try ArchiveSalvage.salvage(stream.folder.appending(path: "damaged.strata"), to: stream.url)
    }
  }

  /// The models in the file, or an empty array if it does not exist.
  func content(_ stream: SessionStream) throws -> [Address] {
    guard FileManager.default.fileExists(atPath: stream.url.path) else { return [] }
    switch self {
    case .write, .file: return [try ArchiveDecoder().decode(Address.self, from: Data(contentsOf: stream.url))]
    case .recover: return try stream.read(.skips).models
    default: return try stream.read().models
    }
  }

  /// The system calls that the operation makes.
  var calls: Set<SystemCall> {
    let all: Set<SystemCall> = [.open, .write, .synchronize, .close]
    return switch self {
    case .create: all
    case .append: all.union([.read])
    case .recover: all.union([.read, .truncate])
    case .replace, .write: all.union([.rename])
    case .file, .salvage: all.union([.read, .rename])
    }
  }

  var old: [Address] {
    switch self {
    case .create: []
    case .replace, .append: SessionStream.models(0..<20)
    case .recover: SessionStream.models(0..<20)
    case .write, .file: SessionStream.models(0..<1)
    case .salvage: SessionStream.models(0..<10)
    }
  }

  var new: [Address] {
    switch self {
    case .create, .replace: SessionStream.models(100..<110)
    case .append, .recover: SessionStream.models(0..<30)
    case .write, .file: SessionStream.models(1..<2)
    case .salvage: SessionStream.models(0..<10) + SessionStream.models(20..<30)
    }
  }
}

@Suite("Fault injection: each system call fails once")
struct FaultInjectionTests {
  private static let faults: [SystemCall.Outcome] = [
    .fails(EIO), .fails(ENOSPC), .fails(EINTR), .fails(EACCES), .isShort,
  ]

  /// After each fault the file has its old or new content, acknowledged models are kept, and the next writer succeeds.
  @Test(
    "X-30, X-31: after a failed system call, the file has its old or its new content", .tags(.long),
    arguments: WritingScenario.allCases, SystemCall.allCases)
  fileprivate func faults(scenario: WritingScenario, call: SystemCall) throws {
    for fault in Effort.sample(2, of: Self.faults) {
      for number in stride(from: 0, to: 1000, by: Effort.faultStep(4, long: 3)) {
        let isReached = try SessionStream.with { stream in
          try scenario.prepare(stream)
          let before = try stream.files
          let plan = FaultPlan(call, number, fault)
          let error: (any Error)? = plan.run {
            do {
              try scenario.run(stream)
              return nil
            } catch { return error }
          }
          guard plan.wasReached else { return false }
          let place: Comment = "\(scenario), \(call) \(number), \(fault): \(error.map { "\($0)" } ?? "no error")"
          let found = try scenario.content(stream)
          if error == nil { #expect(found == scenario.new, place) }
          if scenario == .recover, found.count < 30 {
            #expect(found.starts(with: scenario.old), place)
          } else {
            #expect(found == scenario.old || found == scenario.new, place)
          }
          if fault == .fails(EINTR), call != .close { #expect(error == nil, place) }
          if fault == .isShort { #expect(error == nil, place) }
          if let error { #expect((error as? ArchiveError)?.code == .fileSystem, place) }
          // The next writers remove all temporary files, but keep the bytes that were cut off. If a hard link of the file is left, only
          // the second writer can remove it, after the first has replaced the file.
          for _ in 0..<2 { try scenario.run(stream) }
          let after = try stream.files.filter { !$0.contains(".cut") }
          #expect(Set(after) == Set(before).union(["stream.strata"]), place)
          return true
        }
        if !isReached {
          #expect(number > 0 || !scenario.calls.contains(call), "\(scenario) makes no call \(call)")
          break
        }
      }
    }
  }
}

@Suite("Temporary files")
struct TemporaryFileTests {
  /// The name of the temporary file that a writer of the stream uses.
  private func temporary(_ stream: SessionStream) throws -> String {
    var name = ""
    do {
      let writer = try ArchiveStreamWriter<Address>(creating: stream.url)
      name = try stream.files.first { $0.hasPrefix(".strata-") } ?? ""
      _ = consume writer
    }
    #expect(try !name.isEmpty && stream.files.isEmpty)
    return name
  }

  @Test("X-30: the next writer of a file removes only the temporary files that a killed writer left")
  func abandoned() throws {
    try SessionStream.with { stream in
      let name = try temporary(stream)
      let end = name.index(name.endIndex, offsetBy: -5)
      let others = [".strata-mine.tmp", ".strata-0123456789abcdef-0.tmp", "a.tmp"]
      for other in others { try Data("user's".utf8).write(to: stream.folder.appending(path: other)) }
      // Writers number their temporary files. Killed writers may leave one file for each number.
      for number in 0..<16 {
        let left = name[..<end] + String(number, radix: 16) + name[name.index(after: end)...]
        try Data("left".utf8).write(to: stream.folder.appending(path: String(left)))
      }
      try ArchiveEncoder().encode(SessionStream.model(0), to: stream.url)
      #expect(try Set(stream.files) == Set(others + ["stream.strata"]))
      // An appending writer creates no temporary file, but removes those that killed writers left.
      try ArchiveStreamWriter<Address>(creating: stream.url).finish()
      let left = stream.folder.appending(path: name)
      try Data("left".utf8).write(to: left)
      // Killed processes may also leave a temporary folder, which stores use.
      let folder = stream.folder.appending(path: String(name[..<end] + "7" + name[name.index(after: end)...]))
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
      try Data("left".utf8).write(to: folder.appending(path: "copy"))
      try ArchiveStreamWriter<Address>(appendingTo: stream.url).finish()
      #expect(try Set(stream.files) == Set(others + ["stream.strata"]))
    }
  }

  @Test("A temporary folder that contains a folder is kept, because the library never creates one")
  func foreignFolder() throws {
    try SessionStream.with { stream in
      let name = try temporary(stream)
      let inner = stream.folder.appending(path: name).appending(path: "inner")
      try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
      try Data("user's".utf8).write(to: inner.appending(path: "file"))
      try ArchiveEncoder().encode(SessionStream.model(0), to: stream.url)
      #expect(try Data(contentsOf: inner.appending(path: "file")) == Data("user's".utf8))
    }
  }

  @Test("Other writers keep a temporary folder that is in use, and its owner removes it")
  func folders() throws {
    try SessionStream.with { stream in
      try TemporaryFiles.withFolder(beside: stream.url) { first in
        try Data("copy".utf8).write(to: first.appending(path: "copy"))
        try TemporaryFiles.withFolder(beside: stream.url) { second in
          #expect(second != first)
          try Data("copy".utf8).write(to: second.appending(path: "copy-wal"))
        }
        try ArchiveEncoder().encode(SessionStream.model(0), to: stream.url)
        #expect(try stream.files.count == 2)
        #expect(try Data(contentsOf: first.appending(path: "copy")) == Data("copy".utf8))
      }
      #expect(try stream.files == ["stream.strata"])
    }
  }

  @Test("X-31: other writers keep the temporary file of a running writer")
  func live() throws {
    try SessionStream.with { stream in
      var first = try ArchiveStreamWriter<Address>(creating: stream.url)
      try first.append(SessionStream.model(0))
      let files = try stream.files
      for _ in 0..<20 {
        try ArchiveEncoder().encode(SessionStream.model(0), to: stream.folder.appending(path: "other"))
      }
      let second = try ArchiveStreamWriter<Address>(creating: stream.url)
      #expect(try Set(stream.files).isSuperset(of: files) && stream.files.count == files.count + 2)
      _ = consume second
      try first.finish()
      #expect(try stream.files == ["other", "stream.strata"])
    }
  }

  @Test("Writing succeeds in an unreadable folder, and if the owner or permissions cannot be kept")
  func odd() throws {
    try SessionStream.with { stream in
      try ArchiveEncoder().encode(SessionStream.model(0), to: stream.url)
      for (call, number) in [(SystemCall.changeOwner, EPERM), (.changeMode, EPERM), (.changeMode, ENOTSUP)] {
        let plan = FaultPlan(call, 0, .fails(number))
        try plan.run { try ArchiveEncoder().encode(SessionStream.model(1), to: stream.url) }
      }
      // The first open call opens the folder.
      let plan = FaultPlan(.open, 0, .fails(EACCES))
      try plan.run { try ArchiveEncoder().encode(SessionStream.model(2), to: stream.url) }
      #expect(plan.wasReached)
      #expect(try ArchiveDecoder().decode(Address.self, from: Data(contentsOf: stream.url)) == SessionStream.model(2))
    }
  }
}
