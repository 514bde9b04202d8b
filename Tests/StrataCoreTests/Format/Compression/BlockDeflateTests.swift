import Foundation
import StrataTestSupport
import Testing

@testable import StrataCore

@Suite("Deflating large bodies in blocks", .tags(.long))
struct BlockDeflateTests {
  private static let block = 64 << 10

  private enum Content: CaseIterable {
    case zeros, noise, repeats

    func body(_ size: Int) -> [UInt8] {
      var random = SeededRandom(seed: UInt64(size))
      switch self {
      case .zeros: return [UInt8](repeating: 0, count: size)
      case .noise: return (0..<size).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      // Each part repeats bytes from up to 32 KiB before it, also across block boundaries.
      case .repeats: return (0..<size).map { UInt8(truncatingIfNeeded: $0 % 31_000 &* 7919 >> 4) }
      }
    }
  }

  private func blocks(_ body: [UInt8], level: Int, threads: Int?) throws -> [UInt8] {
    var output: [UInt8] = []
    try BlockDeflate.deflate(body.bytes, level: level, threads: threads, to: &output)
    return output
  }

  @Test("The bytes do not depend on the number of threads, and zlib inflates them", arguments: [1, 6, 9])
  func threads(level: Int) throws {
    for size in [
      1, Self.block - 1, Self.block, Self.block + 1, 4 * Self.block, 4 * Self.block + 1, 9 * Self.block + 77,
    ] {
      for content in Content.allCases {
        let body = content.body(size)
        let one = try blocks(body, level: level, threads: 1)
        for threads in [2, 3, 8, nil] { #expect(try blocks(body, level: level, threads: threads) == one) }
        var inflated: [UInt8] = []
        #expect(try PrimedDeflate.inflate(one.bytes, dictionary: RawSpan(), size: size, to: &inflated) == one.count)
        #expect(inflated == body)
      }
    }
  }

  @Test("Blocks are at most one percent larger than a single deflate stream")
  func size() throws {
    let body = Content.repeats.body(8 * Self.block)
    var stream: [UInt8] = []
    try DeflateStream.deflate(body.bytes, level: 6, to: &stream)
    let blocks = try blocks(body, level: 6, threads: nil)
    #expect(blocks.count <= stream.count + stream.count / 100 + 8 * 100)
  }

  @Test("The bytes of an archive do not depend on the number of threads")
  func archives() throws {
    let texts = (0..<20_000).map { "The text number \($0), of \($0 % 97) and \($0 * 7919 % 1013)" }
    let bodies = try [1, 2, 5, nil].map { try ArchiveEncoder(threads: $0).encode(texts) }
    #expect(Set(bodies).count == 1)
    #expect(try ArchiveDecoder().decode([String].self, from: bodies[0]) == texts)
    #expect(try ArchiveEncoder().encodeBody(texts).count > BlockDeflate.leastSize)
  }
}
