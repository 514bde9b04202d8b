import Foundation
import StrataTestSupport
import Testing

@testable import StrataCore

/// In builds with the `Libdeflate` trait, libdeflate compresses members in memory, whereas `DeflateStream` and `BodyInflater.feed(_:)`
/// still use zlib. Without the trait, everything uses zlib.
@Suite("zlib and libdeflate", .tags(.long))
struct CodecTests {
  private var random = SeededRandom(seed: UInt64.random(in: 0..<1 << 32))

  private mutating func body() -> [UInt8] {
    let size = random.oneOf([1, 2, 30, 700, 5_000, 70_000, 300_000])
    let letters = random.oneOf([1, 3, 40, 256])
    var bytes = (0..<1 + random.below(size)).map { _ in UInt8(random.below(letters)) }
    if random.isOnce(in: 2) { bytes += bytes.prefix(random.below(2_000)) }
    return bytes
  }

  private func stamp(_ body: [UInt8]) -> Stamp {
    var stamp = Stamp(kind: .single, typeName: "Codec", modelVersion: 1)
    stamp.plainSize = UInt64(body.count)
    return stamp
  }

  /// A member that zlib compressed.
  private func zlibMember(_ body: [UInt8], level: Int) throws -> [UInt8] {
    var member = try GzipHeader.bytes(for: stamp(body), link: nil)
    try DeflateStream.deflate(body.bytes, level: level, to: &member)
    member.appendLittleEndian(Checksum.crc32(of: body.bytes))
    member.appendLittleEndian(UInt32(body.count))
    return member
  }

  /// Returns zlib's output or its error.
  private func inflatedByZlib(_ bytes: [UInt8], _ limits: ArchiveLimits = ArchiveLimits()) -> Result<
    [UInt8], ArchiveError
  > {
    result {
      let header = try GzipHeader(at: 0, in: bytes.bytes, fileOffset: 0)
      return try InflateStream.withStream { stream in
        let rest = bytes.bytes.extracting(header.length..<bytes.count)
        var inflater = try BodyInflater(
          stamp: header.stamp, limits: limits, stream: stream, inputHint: rest.byteCount, fileOffset: 0)
        let used = try inflater.feed(rest)
        guard inflater.isFinished, let crc = rest.littleEndian(at: used, as: UInt32.self),
          let size = rest.littleEndian(at: used + 4, as: UInt32.self)
        else { throw Gzip.truncation(bytes.count) }
        return try inflater.finish(crc: crc, size: size) + [UInt8((header.length + used) & 0xFF)]
      }
    }
  }

  /// Decompresses a member with the reader for members in memory, and returns the output or the error.
  private func inflated(_ bytes: [UInt8], _ limits: ArchiveLimits = ArchiveLimits()) -> Result<[UInt8], ArchiveError> {
    result {
      let (_, body, next) = try Gzip.inflateMember(at: 0, in: bytes.bytes, limits: limits)
      return body + [UInt8((next - Gzip.trailerSize) & 0xFF)]
    }
  }

  private func result(_ body: () throws -> [UInt8]) -> Result<[UInt8], ArchiveError> {
    Result { try body() }.mapError(ArchiveError.wrap)
  }

  private func isSame(_ left: Result<[UInt8], ArchiveError>, _ right: Result<[UInt8], ArchiveError>) -> Bool {
    switch (left, right) {
    case (.success(let left), .success(let right)): left == right
    case (.failure(let left), .failure(let right)): "\(left)" == "\(right)" && left.code == right.code
    default: false
    }
  }

  @Test("The Libdeflate trait selects the codec")
  func trait() {
    var output: [UInt8] = []
    #if Libdeflate
      #expect(WholeDeflate.deflate([1, 1, 1, 1].bytes, level: 6, to: &output) && !output.isEmpty)
    #else
      #expect(!WholeDeflate.deflate([1, 1, 1, 1].bytes, level: 6, to: &output) && output.isEmpty)
    #endif
  }

  @Test("Each codec reads the other's output at every compression level")
  mutating func bothWays() throws {
    for _ in 0..<Effort.rounds(8, long: 200) {
      let body = body()
      for level in 1...9 {
        var member: [UInt8] = []
        let compression = try #require(CompressionLevel(rawLevel: level))
        try Gzip.appendMember(body: body.bytes, stamp: stamp(body), level: compression, to: &member)
        let byZlib = inflatedByZlib(member)
        #expect(try byZlib.get().dropLast() == body, "\(random), level \(level)")
        #expect(isSame(inflated(member), byZlib), "\(random), level \(level)")
        #expect(try inflated(zlibMember(body, level: level)).get().dropLast() == body, "\(random), level \(level)")
      }
      let primed = Array(body.prefix(1_000))
      for dictionary in [[], primed] {
        var deflated: [UInt8] = []
        try PrimedDeflate.deflate(body.bytes, dictionary: dictionary.bytes, to: &deflated)
        var plain: [UInt8] = [7]
        let used = try PrimedDeflate.inflate(
          (deflated + [1, 2, 3]).bytes, dictionary: dictionary.bytes, size: body.count, to: &plain)
        #expect(used == deflated.count && plain == [7] + body, "\(random)")
      }
    }
  }

  @Test("Both codecs give the same body or error for damaged data and wrong sizes")
  mutating func damage() throws {
    for _ in 0..<Effort.rounds(4, long: 60) {
      let body = Array(body().prefix(2_000))
      let intact = try zlibMember(body, level: 1 + random.below(9))
      let start = try GzipHeader(at: 0, in: intact.bytes, fileOffset: 0).length
      for place in Effort.sample(120, of: start..<intact.count) {
        var bytes = intact
        bytes[place] ^= 1 << UInt8(random.below(8))
        // libdeflate accepts some codes that zlib rejects. The output is then accepted only if its checksum is right.
        let found = inflated(bytes)
        let isWhole = (try? found.get().dropLast() == body) ?? false
        #expect(isWhole || isSame(found, inflatedByZlib(bytes)), "\(random), byte \(place)")
        let cut = Array(intact.prefix(place))
        #expect(isSame(inflated(cut), inflatedByZlib(cut)), "\(random), cut at \(place)")
      }
      #expect(isSame(inflated(intact + intact), inflatedByZlib(intact)), "\(random)")
      for difference in [-1, 1, 1_000, 1 << 20, 1 << 40] where body.count + difference >= 0 {
        var wrong = stamp(body)
        wrong.plainSize = UInt64(body.count + difference)
        let bytes = try GzipHeader.bytes(for: wrong, link: nil) + intact[start...]
        #expect(isSame(inflated(bytes), inflatedByZlib(bytes)), "\(random), size \(wrong.plainSize)")
        #expect(throws: ArchiveError.self) { try inflated(bytes).get() }
      }
    }
  }

  @Test("Both codecs enforce the limits on inflated size and ratio")
  func limits() throws {
    let body = [UInt8](repeating: 0, count: 3 << 20)
    let member = try zlibMember(body, level: 9)
    var limits = ArchiveLimits()
    #expect(try inflated(member, limits).get().count == body.count + 1)
    limits.inflatedSize = body.count - 1
    #expect(isSame(inflated(member, limits), inflatedByZlib(member, limits)))
    #expect(throws: ArchiveError.self) { try inflated(member, limits).get() }
    limits = ArchiveLimits()
    for ratio in [1, 100, 1_031] {
      limits.inflationRatio = ratio
      #expect(isSame(inflated(member, limits), inflatedByZlib(member, limits)), "\(ratio)")
    }
    limits.inflationRatio = 100
    #expect(throws: ArchiveError.self) { try inflated(member, limits).get() }
  }
}
