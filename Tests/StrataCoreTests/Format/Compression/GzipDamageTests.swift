import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("Damaged and hostile gzip members")
struct GzipDamageTests {
  @Test("Every truncation throws truncated", arguments: [CompressionLevel.none, .balanced], [0, 5, 3000])
  func truncations(level: CompressionLevel, size: Int) throws {
    let bytes = try member(sampleBody(size), level: level)
    for count in bytes.indices {
      let cut = Array(bytes.prefix(count))
      archiveError(.truncated) { _ = try inflate(cut) }
    }
  }

  @Test(
    "Every flipped bit throws an error or changes nothing",
    arguments: [CompressionLevel.none, .balanced, .best], [0, 1, 40, 700])
  func flips(level: CompressionLevel, size: Int) throws {
    let body = sampleBody(size)
    let bytes = try member(body, level: level)
    var silent = 0
    for bit in 0..<bytes.count * 8 {
      var flipped = bytes
      flipped[bit / 8] ^= 1 << UInt8(bit % 8)
      do {
        let result = try inflate(flipped)
        #expect(result.stamp == .sample(plainSize: size))
        #expect(result.body == body)
        silent += 1
      } catch {
        #expect(error is ArchiveError)
      }
    }
    // A flipped bit has no effect only if it is padding in the deflate data or in a stored block's header.
    #expect(silent < 14)
  }

  @Test("Every flipped bit of the longest header throws an error", .tags(.long))
  func longestHeader() throws {
    let name = String(repeating: "N", count: Stamp.longestTypeName)
    let header = try GzipHeader.bytes(for: .sample(typeName: name))
    for bit in Effort.sample(997, of: 0..<header.count * 8) {
      var flipped = header
      flipped[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(throws: ArchiveError.self) { try GzipHeader(at: 0, in: flipped.bytes, fileOffset: 0) }
    }
    archiveError(.notEncodable) { _ = try GzipHeader.bytes(for: .sample(typeName: name + "N")) }
  }

  @Test(
    "A stamp with a wrong body size is rejected",
    arguments: [1 << 30, 1 << 60, UInt64.max, 1001, 999, 0])
  func hostileSize(claim: UInt64) throws {
    var stamp = Stamp.sample()
    stamp.plainSize = claim
    let bytes = try member(sampleBody(1000), claiming: stamp)
    let error = #expect(throws: ArchiveError.self) { try inflate(bytes) }
    #expect(error?.code == (claim > 1 << 30 ? .limitExceeded : .damaged))
  }

  @Test("A decompression bomb is rejected before it expands, regardless of its stamp", .tags(.long))
  func bomb() throws {
    let bomb = [UInt8](repeating: 0, count: Effort.rounds(10, long: 100) << 20)
    var limits = ArchiveLimits()
    limits.inflatedSize = 1 << 20
    let bytes = try member(bomb, level: .fastest)
    var error = archiveError(.limitExceeded) { _ = try inflate(bytes, limits: limits) }
    #expect(error?.limit == .inflatedSize)
    let lie = try Array(
      GzipHeader.bytes(for: .sample(plainSize: 10))
        + bytes[GzipHeader(at: 0, in: bytes.bytes, fileOffset: 0).length...])
    archiveError(.damaged) { _ = try inflate(lie, limits: limits) }
    limits.inflatedSize = 1 << 30
    limits.inflationRatio = 100
    error = archiveError(.limitExceeded) { _ = try inflate(bytes, limits: limits) }
    #expect(error?.limit == .inflationRatio)
    limits.inflationRatio = 1032
    #expect(try inflate(bytes, limits: limits).body.count == bomb.count)
    limits.inflatedSize = -1
    archiveError(.limitExceeded) { _ = try inflate(bytes, limits: limits) }
    limits.inflatedSize = .max
    limits.inflationRatio = .max
    #expect(try inflate(bytes, limits: limits).body.count == bomb.count)
  }

  @Test("A small member may have a high compression ratio")
  func smallRatio() throws {
    var limits = ArchiveLimits()
    limits.inflationRatio = 1
    let zeros = [UInt8](repeating: 0, count: 1 << 20)
    #expect(try inflate(member(zeros), limits: limits).body == zeros)
  }

  @Test("An end member with a body throws damaged")
  func endWithBody() throws {
    let bytes = try member([1, 2, 3], claiming: .sample(kind: .end, plainSize: 3))
    archiveError(.damaged) { _ = try inflate(bytes) }
  }

  @Test("Bytes after a member are not read, even if they look like deflate data")
  func trailing() throws {
    let bytes = try member(sampleBody(100))
    #expect(try inflate(bytes + bytes).nextOffset == bytes.count)
    #expect(try inflate(bytes + [0]).nextOffset == bytes.count)
  }

  @Test("Data that is not a Strata archive throws notAnArchive")
  func otherFiles() throws {
    // The output of `printf hi | gzip -n`.
    let plain: [UInt8] =
      [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xCB, 0xC8, 4, 0, 0xAC, 0x2A, 0x93, 0xD8, 2, 0, 0, 0]
    let error = archiveError(.notAnArchive) { _ = try inflate(plain) }
    #expect(error?.reason.contains("the data is not an archive: the gzip header has no stamp") == true)
    let other = archiveError(.notAnArchive) { _ = try inflate(Array("other".utf8)) }
    #expect(other?.reason == "the data is not an archive: the gzip header is missing")
    archiveError(.notAnArchive) { _ = try inflate([0x1F, 0x8A]) }
    archiveError(.notAnArchive) { _ = try inflate([0x1F, 0x8B, 7]) }
    archiveError(.truncated) { _ = try inflate([]) }
  }
}
