import Foundation
import StrataCore
import StrataTestSupport
import Testing

struct VerifyTests {
  let scratch: Scratch
  let archive: Data

  init() throws {
    scratch = try Scratch()
    archive = try ArchiveEncoder().encode(
      ModelRecord(typeName: "Issue", modelVersion: 3, fields: [("title", "text"), ("list", [1, 2, 3])]))
  }

  @Test func intactFiles() throws {
    let single = try scratch.file("a.strata", archive)
    let stream = try scratch.file("s.strata", Streams.stream([[1, 2], [3]]))
    let run = Run("verify", single, stream)
    #expect(run.code == 0 && run.error.isEmpty)
    let lines = run.text.split(separator: "\n")
    #expect(lines.first?.hasPrefix("intact  \(single)  Issue@3   1 value  ") == true, "\(lines)")
    #expect(lines.dropFirst().first?.hasPrefix("intact  \(stream)  Value    3 values  ") == true, "\(lines)")
    #expect(Run("verify", single).text == "intact  \(single)  Issue@3  1 value  \(archive.count) bytes\n")
  }

  @Test("verify rejects each damaged fixture and accepts the archive of a newer model")
  func damagedFixtures() throws {
    let folder = Repository.fixtures.appending(path: "damaged")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.count >= 6)
    for name in names {
      let run = Run("verify", folder.appending(path: name).path)
      #expect(run.code == (name == "newer-model.strata" ? 0 : 1), "\(name): \(run.text)")
    }
  }

  @Test("verify reports each flipped byte as damage, or as an unsupported file in the magic bytes")
  func everyFlippedByteIsNoticed() throws {
    var unsupported = 0
    for place in archive.indices {
      var damaged = archive
      damaged[place] ^= 0x10
      let path = try scratch.file("d.strata", damaged)
      let run = Run("verify", path)
      #expect(run.code == 1 && run.error.isEmpty, "\(place)")
      if run.text.hasPrefix("unsupported  \(path)  ") {
        unsupported += 1
      } else {
        #expect(run.text.hasPrefix("damaged  \(path)  "), "\(run.text)")
      }
    }
    #expect(unsupported < 8)
  }

  @Test func cutFiles() throws {
    for length in [0, 1, 10, archive.count - 1] {
      #expect(Run("verify", try scratch.file("c.strata", archive.prefix(length))).code == 1)
    }
    #expect(Run("verify", try scratch.file("c.strata", archive + Data("more".utf8))).code == 1)
    #expect(Run("verify", try scratch.file("c.strata", archive + archive)).code == 1)
  }

  @Test func brokenStreams() throws {
    func reason(_ data: Data) throws -> String {
      let run = Run("verify", try scratch.file("s.strata", data))
      #expect(run.code == 1)
      return run.text
    }
    #expect(try reason(Streams.stream([[1], [2]], hasEnd: false)).contains("the writer did not finish"))
    #expect(try reason(Streams.stream([[1], [2]], numbers: [0, 2])).contains("out of order"))
    let whole = try Streams.stream([[1], [2]])
    #expect(try reason(whole + archive).contains("a separate archive"))
  }

  @Test("X-30: every command reads streams that were appended to")
  func appendedStreams() throws {
    let url = URL(fileURLWithPath: scratch.path("appended.strata"))
    for session in 0..<3 {
      var writer =
        try session == 0
        ? ArchiveStreamWriter<ArchiveValue>(creating: url) : ArchiveStreamWriter<ArchiveValue>(appendingTo: url)
      for number in 0..<4 { try writer.append(["number": .integer(session * 4 + number)]) }
      try writer.finish()
    }
    let run = Run("verify", url.path)
    #expect(run.code == 0 && run.text.contains("12 values"))
    let decoded = Run("decode", url.path)
    #expect(try decoded.code == 0 && JSONReader().read(Data(decoded.text.utf8)).arrayValue?.count == 12)
    #expect(Run("inspect", url.path).code == 0)
    let salvaged = Run("salvage", url.path, "-o", scratch.path("rescued.strata"))
    #expect(salvaged.code == 0 && salvaged.text.contains("complete") && salvaged.text.contains("12 models"))
    // `verify` also reads from standard input.
    #expect(Run("verify", "-", input: try Data(contentsOf: url)).code == 0)
  }

  @Test("X-30: verify, decode and inspect reject a stream member that is not an array")
  func otherBodies() throws {
    for body: ArchiveValue in ["text", ["a": 1], .graph(ObjectGraph(objects: [], root: [1]))] {
      var writer = ArchiveWriter()
      try writer.write(body)
      var data = Data(try writer.member(Stamp(kind: .member, typeName: "Value", count: 1), .balanced))
      var end: [UInt8] = []
      let size = try Stamp(of: data).plainSize
      try Gzip.appendMember(
        body: RawSpan(), stamp: Stamp(kind: .end, sequenceNumber: 1, typeName: "Value", plainSize: size, count: 1),
        to: &end)
      data.append(contentsOf: end)
      let path = try scratch.file("other.strata", data)
      for command in ["verify", "decode", "inspect"] { #expect(Run(command, path).code == 1, "\(command) of \(body)") }
    }
  }

  @Test("X-32: salvage reports the missing parts")
  func salvage() throws {
    let url = URL(fileURLWithPath: scratch.path("stream.strata"))
    for session in 0..<3 {
      var writer =
        try session == 0
        ? ArchiveStreamWriter<ArchiveValue>(creating: url) : ArchiveStreamWriter<ArchiveValue>(appendingTo: url)
      for number in 0..<4 { try writer.append(["number": .integer(session * 4 + number)]) }
      try writer.finish()
    }
    var damaged = try Data(contentsOf: url)
    damaged[100] ^= 1
    let path = try scratch.file("damaged.strata", damaged)
    let run = Run("salvage", path, "-o", scratch.path("rescued.strata"))
    #expect(run.code == 1 && run.text.contains("missing  bytes 0..<") && run.text.contains("partial"))
    #expect(run.text.contains("8 models"), "\(run.text)")
    #expect(Run("verify", scratch.path("rescued.strata")).code == 0)
    // The following checks use invalid arguments, and archives of one value that are truncated or damaged.
    let cut = Run("salvage", try scratch.file("cut.strata", archive.dropLast(12)), "-o", scratch.path("part.strata"))
    #expect(cut.code == 1 && cut.text.contains("missing  everything from"), "\(cut.text) \(cut.error)")
    let unverified = Run(
      "salvage", try scratch.file("cut.strata", archive.dropLast(4)), "-o", scratch.path("all.strata"))
    #expect(unverified.code == 1 && unverified.text.contains("unverified  all values"), "\(unverified.text)")
    var flipped = archive
    flipped[archive.count - 15] ^= 1
    let refused = Run("salvage", try scratch.file("flipped.strata", flipped), "-o", scratch.path("none.strata"))
    #expect(refused.code == 1 && !FileManager.default.fileExists(atPath: scratch.path("none.strata")))
    #expect(Run("salvage", path, "-o", path).code == 1)
    #expect(Run("salvage", "-", "-o", path).code == 64)
  }

  @Test func oneBadFileAmongGoodOnes() throws {
    let good = try scratch.file("a.strata", archive)
    let run = Run("verify", good, scratch.path("missing"), good)
    #expect(run.code == 1)
    #expect(run.text.split(separator: "\n").map { $0.prefix(3) } == ["int", "mis", "int", "3 f"])
  }

  @Test func folders() throws {
    _ = try scratch.file("b.strata", archive)
    _ = try scratch.file("a.txt", "text")
    try FileManager.default.createDirectory(atPath: scratch.path("c/d"), withIntermediateDirectories: true)
    _ = try scratch.file("c/d/e.plist", Legacy.data("bookmarks.plist"))
    try FileManager.default.createSymbolicLink(atPath: scratch.path("c/loop"), withDestinationPath: "..")
    let folder = scratch.url.path
    let run = Run("verify", folder)
    #expect(run.code == 0 && run.error.isEmpty)
    #expect(
      run.text.split(separator: "\n").map { $0.replacing(/[ ]{2,}/, with: "  ") } == [
        "other  \(folder)/a.txt  text", "intact  \(folder)/b.strata  Issue@3  1 value  \(archive.count) bytes",
        "intact  \(folder)/c/d/e.plist  keyed archive, binary  14 objects  601 bytes",
        "other  \(folder)/c/loop  a symbolic link", "4 files: 2 intact, 2 other",
      ], "\(run.text)")
    _ = try scratch.file("c/z.strata", archive.dropLast())
    #expect(Run("verify", folder + "/").text.contains("damaged  \(folder)/c/z.strata "))
    #expect(Run("verify", folder + "/").code == 1)
  }

  @Test("verify skips a writer's temporary file in a folder, but reads it if it is named")
  func unfinishedFiles() throws {
    _ = try scratch.file("b.strata", archive)
    let half = try scratch.file(".strata-1f.tmp", archive.prefix(20))
    _ = try scratch.file(".strata-notes", "text")
    _ = try scratch.file("a.tmp", "text")
    let run = Run("verify", scratch.url.path)
    #expect(run.code == 0)
    #expect(
      run.text.split(separator: "\n").map { $0.prefix(5) } == ["other", "other", "intac", "3 fil"], "\(run.text)")
    #expect(Run("verify", half).code == 1)
  }

  @Test func foldersWithNothingToVerify() throws {
    let run = Run("verify", scratch.url.path)
    #expect(run.code == 1 && run.text.hasPrefix("missing  \(scratch.url.path)  the folder contains no archive"))
  }

  @Test func noFiles() { Run("verify").expectFailure(code: 64, "files") }
}
