import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("Gzip members")
struct GzipTests {
  static let sizes = [0, 1, 2, 3, 63, 64, 255, 762, 763, 1000, 3834, 3835, 0xFFFF, 0x10000, 0x1FFFE, 0x20001, 200_000]

  @Test("Bodies of every size round-trip at every level", .tags(.long), arguments: Effort.sample(3, of: -1...9), sizes)
  func roundTrip(rawLevel: Int, size: Int) throws {
    let level = try #require(CompressionLevel(rawLevel: rawLevel))
    let body = sampleBody(size)
    let bytes = try member(body, level: level)
    let result = try inflate(bytes)
    #expect(result.stamp == .sample(plainSize: size))
    #expect(result.body == body)
    #expect(result.nextOffset == bytes.count)
    #expect(try member(body, level: level) == bytes)
  }

  @Test(
    "Bodies larger than the initially reserved memory round-trip", .tags(.long),
    arguments: Effort.isLong ? [1 << 20, 5_000_001] : [1 << 20])
  func growth(size: Int) throws {
    let zeros = [UInt8](repeating: 0, count: size)
    #expect(try inflate(member(zeros)).body == zeros)
    #expect(try inflate(member(zeros, level: .best)).body == zeros)
    let noise = sampleBody(size)
    #expect(try inflate(member(noise)).body == noise)
  }

  @Test("Creating a compression level outside −1 to 9 returns nil")
  func levels() {
    #expect(CompressionLevel(rawLevel: -2) == nil)
    #expect(CompressionLevel(rawLevel: 10) == nil)
    #expect(CompressionLevel(rawLevel: -1) == .balanced)
    #expect(CompressionLevel(rawLevel: 0) == CompressionLevel.none)
  }

  @Test("Consecutive members of one file are read in order")
  func sequence() throws {
    var bytes: [UInt8] = []
    for number in 0..<5 {
      bytes += try member(sampleBody(number * 100), kind: .member, sequenceNumber: UInt64(number))
    }
    bytes += try member([], kind: .end)
    var offset = 0
    for number in 0..<5 {
      let result = try inflate(bytes, at: offset)
      #expect(result.body == sampleBody(number * 100))
      #expect(result.stamp.sequenceNumber == UInt64(number))
      offset = result.nextOffset
    }
    #expect(try inflate(bytes, at: offset).stamp.kind == .end)
    archiveError(.damaged) { _ = try inflate(bytes, at: 1) }
    archiveError(.truncated) { _ = try inflate(bytes, at: bytes.count) }
    archiveError(.truncated) { _ = try inflate(bytes, at: bytes.count + 1) }
    archiveError(.truncated) { _ = try inflate(bytes, at: -1) }
  }

  @Test("The end member is empty at every level", arguments: 0...9)
  func end(rawLevel: Int) throws {
    let level = try #require(CompressionLevel(rawLevel: rawLevel))
    var stamp = Stamp.sample(kind: .end)
    stamp.plainSize = 1 << 60
    stamp.count = 1 << 50
    var bytes: [UInt8] = []
    try Gzip.appendMember(body: RawSpan(), stamp: stamp, level: level, to: &bytes)
    #expect(bytes.suffix(10) == [3, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    #expect(try inflate(bytes).stamp == stamp)
    let before = bytes
    archiveError(.notEncodable) {
      try Gzip.appendMember(body: [1].bytes, stamp: stamp, level: level, to: &bytes)
    }
    #expect(bytes == before)
  }

  @Test("The encoded bytes match the specification")
  func layout() throws {
    let stamp = Stamp(typeName: "A", modelVersion: nil, fingerprint: 0x0102, plainSize: 0, count: 1)
    let body: [UInt8] = [0x68, 0x69]
    var bytes: [UInt8] = []
    try Gzip.appendMember(body: body.bytes, stamp: stamp, level: .none, to: &bytes)
    let expected: [UInt8] =
      [0x1F, 0x8B, 8, 6, 0, 0, 0, 0, 0, 255, 47, 0, 0x53, 0x74, 43, 0, 1, 0]
      + [0, 0, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 255, count: 8) + [2, 1, 0, 0, 0, 0, 0, 0]
      + [2, 0, 0, 0, 0, 0, 0, 0] + [1, 0, 0, 0, 0, 0, 0, 0] + [0x41]
    #expect(Array(bytes.prefix(expected.count)) == expected)
    #expect(Array(bytes.dropFirst(expected.count + 2).prefix(7)) == [1, 2, 0, 0xFD, 0xFF, 0x68, 0x69])
  }

  @Test("Members are deflated and inflated correctly on many threads at once")
  func threads() throws {
    let expected = try (0..<4).map { try member(sampleBody(3000 + $0)) }
    DispatchQueue.concurrentPerform(iterations: 200) { number in
      let body = sampleBody(3000 + number % 4)
      let bytes = try? member(body)
      #expect(bytes == expected[number % 4])
      #expect((try? inflate(bytes ?? []))?.body == body)
    }
  }

  @Test(
    "gunzip accepts intact members and rejects a damaged one",
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/bin/gunzip")))
  func gunzip() throws {
    try withFolder { (folder: URL) throws in
      var plain: [UInt8] = []
      var bytes: [UInt8] = []
      for (number, level) in [CompressionLevel.none, .fastest, .balanced, .best].enumerated() {
        plain += sampleBody(70_000 + number)
        bytes += try member(sampleBody(70_000 + number), kind: .member, level: level)
      }
      bytes += try member([], kind: .end)
      let url = folder.appendingPathComponent("a.gz")
      try Data(bytes).write(to: url)
      #expect(try run("/bin/gunzip", "-t", url.path).status == 0)
      #expect(try run("/bin/gunzip", "-c", url.path).output == Data(plain))
      bytes[15] ^= 1
      try Data(bytes).write(to: url)
      #expect(try run("/bin/gunzip", "-t", url.path).status != 0)
    }
  }

  private func run(_ tool: String, _ arguments: String...) throws -> (status: Int32, output: Data) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: tool)
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, output)
  }
}
