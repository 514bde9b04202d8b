import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("Reading members from a file")
struct MemberReaderTests {
  /// Sizes of members around the boundaries of the reader's buffer.
  private static let sizes = [0, 1, 70_000, 65_400, 12, 131_072, 900_000, 3, 65_536, 65_537]

  private func stream(end: Bool = true) throws -> [UInt8] {
    var bytes: [UInt8] = []
    for (number, size) in Self.sizes.enumerated() {
      bytes += try member(
        sampleBody(size), kind: .member, level: number % 2 == 0 ? .none : .balanced,
        sequenceNumber: UInt64(number))
    }
    return end ? try bytes + member([], kind: .end, sequenceNumber: UInt64(Self.sizes.count)) : bytes
  }

  private func withFile(_ bytes: [UInt8], _ body: (URL) throws -> Void) throws {
    try withFolder { (folder: URL) throws in
      let url = folder.appendingPathComponent("archive")
      try Data(bytes).write(to: url)
      try body(url)
    }
  }

  @Test("Reading from a file returns the same members as reading from memory")
  func agrees() throws {
    let bytes = try stream()
    try withFile(bytes) { (url: URL) throws in
      var reader = try MemberReader(url: url)
      var offset = 0
      while let (stamp, body) = try reader.next() {
        let expected = try inflate(bytes, at: offset)
        #expect(stamp == expected.stamp)
        #expect(body == expected.body)
        offset = expected.nextOffset
        #expect(reader.offset == offset)
      }
      #expect(offset == bytes.count)
      #expect(try reader.next() == nil)
    }
  }

  @Test("An empty file has no members")
  func empty() throws {
    try withFile([]) { (url: URL) throws in
      var reader = try MemberReader(url: url)
      #expect(try reader.next() == nil)
      archiveError(.truncated) { _ = try MemberReader.stamp(ofFile: url) }
    }
  }

  @Test("A file cut within a member throws truncated, and throws again on the next call", .tags(.long))
  func cut() throws {
    let first = try member(sampleBody(300), kind: .member)
    for count in Effort.sample(20, of: 1..<first.count) {
      try withFile(first + first.prefix(count)) { (url: URL) throws in
        var reader = try MemberReader(url: url)
        #expect(try reader.next()?.body == sampleBody(300))
        #expect(throws: ArchiveError.self) { _ = try reader.next() }
        let error = #expect(throws: ArchiveError.self) { _ = try reader.next() }
        #expect(error?.code == .truncated)
      }
    }
  }

  @Test(
    "Damage throws the same error as when reading from memory", .tags(.long),
    arguments: Effort.sample(3, of: [0, 3, 20, 80, 1000, 70_100, 136_000]))
  func damage(place: Int) throws {
    var bytes = try stream()
    bytes[place] ^= 0x20
    var expected: ArchiveError?
    var offset = 0
    do {
      while offset < bytes.count { offset = try inflate(bytes, at: offset).nextOffset }
    } catch {
      expected = error as? ArchiveError
    }
    try withFile(bytes) { (url: URL) throws in
      var reader = try MemberReader(url: url)
      do {
        while try reader.next() != nil {}
        #expect(expected == nil)
      } catch {
        let error = try #require(error as? ArchiveError)
        #expect(error.description == expected?.description)
        #expect(error.byteOffset == expected?.byteOffset)
        #expect(reader.offset == offset)
      }
    }
  }

  @Test("Size and ratio limits apply to every member")
  func limits() throws {
    var limits = ArchiveLimits()
    limits.inflatedSize = 100_000
    try withFile(stream()) { (url: URL) throws in
      var reader = try MemberReader(url: url, limits: limits)
      let error = archiveError(.limitExceeded) { while try reader.next() != nil {} }
      #expect(error?.limit == .inflatedSize)
    }
    limits.inflatedSize = 1 << 30
    limits.inflationRatio = 50
    try withFile(member([UInt8](repeating: 0, count: 9 << 20))) { (url: URL) throws in
      var reader = try MemberReader(url: url, limits: limits)
      let error = archiveError(.limitExceeded) { _ = try reader.next() }
      #expect(error?.limit == .inflationRatio)
    }
  }

  @Test(
    "The first and the last stamp are read from the two ends of the file",
    arguments: ["A", String(repeating: "B", count: 3000)], [true, false])
  func stamps(typeName: String, link: Bool) throws {
    var bytes: [UInt8] = []
    let stamp = Stamp.sample(kind: .member, typeName: typeName, plainSize: 50, sequenceNumber: 0)
    try Gzip.appendMember(
      body: sampleBody(50).bytes, stamp: stamp, link: link ? StreamLink(after: bytes.bytes) : nil, to: &bytes)
    let withoutEnd = bytes
    let end = Stamp.sample(kind: .end, typeName: typeName, plainSize: 50, sequenceNumber: 1)
    try Gzip.appendMember(body: RawSpan(), stamp: end, link: link ? StreamLink(after: bytes.bytes) : nil, to: &bytes)
    try withFile(bytes) { (url: URL) throws in
      #expect(try MemberReader.stamp(ofFile: url) == stamp)
      #expect(try MemberReader.endStamp(ofFile: url) == end)
    }
    try withFile(withoutEnd) { (url: URL) throws in #expect(try MemberReader.endStamp(ofFile: url) == nil) }
    try withFile(Array(bytes.dropLast())) { (url: URL) throws in
      #expect(try MemberReader.endStamp(ofFile: url) == nil)
    }
    // The file contains only an end member. The members that it counts are missing.
    try withFile(Array(bytes.dropFirst(withoutEnd.count))) { (url: URL) throws in
      #expect(try MemberReader.endStamp(ofFile: url) == nil)
    }
    try withFile(Array(withoutEnd.prefix(20))) { (url: URL) throws in
      archiveError(.truncated) { _ = try MemberReader.endStamp(ofFile: url) }
    }
  }

  @Test("A stream with a damaged end member has no end stamp")
  func damagedEnd() throws {
    let first = try member(sampleBody(9), kind: .member)
    let end = try member([], kind: .end)
    for place in end.indices {
      var bytes = first + end
      bytes[first.count + place] ^= 4
      try withFile(bytes) { (url: URL) throws in #expect(try MemberReader.endStamp(ofFile: url) == nil) }
    }
  }

  @Test("The longest header that gzip allows can be read")
  func longHeader() throws {
    // Fills the extra field up to 65,535 bytes with a subfield of another program.
    let extra = try Stamp.sample(kind: .member).extraField()
    let filler = 0xFFFF - extra.count - 4
    let bytes = try member([]).prefix(10) + [0xFF, 0xFF, 0x5A, 0x5A]
    var header = Array(bytes) + [UInt8(filler & 0xFF), UInt8(filler >> 8)]
    header += [UInt8](repeating: 1, count: filler) + extra
    let crc = crc32(header)
    header += [UInt8(crc & 0xFF), UInt8(crc >> 8 & 0xFF), 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    try withFile(header + header) { (url: URL) throws in
      #expect(try MemberReader.stamp(ofFile: url) == .sample(kind: .member))
      var reader = try MemberReader(url: url)
      #expect(try reader.next() != nil)
      #expect(try reader.next() != nil)
      #expect(try reader.next() == nil)
    }
  }

  private func crc32(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~UInt32(0)) { crc, byte in
      (0..<8).reduce(crc ^ UInt32(byte)) { value, _ in value >> 1 ^ (value & 1) * 0xEDB8_8320 }
    }
  }
}
