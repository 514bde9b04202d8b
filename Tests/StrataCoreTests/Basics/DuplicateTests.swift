import Foundation
import Testing

@testable import StrataCore
import StrataTestSupport

/// Two elements or keys are duplicates if their canonical encodings are equal. A value that contains NaN has no duplicates.
@Suite struct DuplicateTests {
  /// Some of these elements are different encodings of the same value.
  private static let elements: [[UInt8]] = [
    [0x00], [0x18, 0x00], [0x19, 0x00, 0x00], [0x17], [0x18, 0x17], [0x18, 0x18], [0x19, 0x00, 0x18],
    [0x19, 0x01, 0x00],
    [0x1A, 0x00, 0x00, 0x01, 0x00], [0x1B, 0, 0, 0, 0, 0, 0, 0x01, 0x00], [0x20], [0x38, 0x00],
    [0x60], [0x61, 0x61], [0x78, 0x01, 0x61], [0x62, 0x61, 0x62], [0x61, 0x62], [0x41, 0x61], [0x58, 0x01, 0x61],
    [0xF4], [0xF5], [0xF6], [0xFA, 0x3F, 0x80, 0, 0], [0xFB, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0],
    [0xFB, 0x7F, 0xF8, 0, 0, 0, 0, 0, 0], [0xFB, 0, 0, 0, 0, 0, 0, 0, 0], [0xFB, 0x80, 0, 0, 0, 0, 0, 0, 0],
    [0x80], [0x81, 0x00], [0x81, 0x18, 0x00], [0xC1, 0x00], [0xC1, 0x18, 0x00],
  ]

  private static func alone(_ element: [UInt8]) throws -> (bytes: Data, hasNaN: Bool) {
    let value = try ArchiveDecoder().decodeBody(ArchiveValue.self, from: Data([0xD9, 1, 0] + element))
    return (try ArchiveEncoder().encodeBody(value), value.hasNaN)
  }

  @Test(
    "X-33: duplicate elements and keys are rejected in any encoding and order", .tags(.long),
    arguments: 0..<Effort.rounds(1, long: 10))
  func duplicates(round: Int) throws {
    let seed = UInt64.random(in: 0..<1 << 32)
    var random = SeededRandom(seed: seed)
    let known = try Self.elements.map { try Self.alone($0) }
    var counts = [0, 0]
    for _ in 0..<1000 {
      var chosen = (0..<random.below(5)).map { _ in random.below(Self.elements.count) }
      if random.below(2) == 0 {
        chosen.sort { Self.elements[$0].lexicographicallyPrecedes(Self.elements[$1]) }
      }
      let isDuplicate = chosen.indices.contains { one in
        chosen[..<one].contains { known[$0].bytes == known[chosen[one]].bytes && !known[$0].hasNaN }
      }
      counts[isDuplicate ? 1 : 0] += 1
      let place: Comment = "seed \(seed): \(chosen.map { number in Self.elements[number] })"
      let inSet = random.below(3) == 0
      for isMap in [false, true] {
        var body = HostileBody()
        // Inside another set, the decoder keeps cached hashes.
        if inSet { body.set(1) }
        if isMap { body.map(chosen.count) } else { body.set(chosen.count) }
        for element in chosen { body.repeat(Self.elements[element] + (isMap ? [0x01] : []), 1) }
        let found: ArchiveValue?
        do { found = try ArchiveDecoder().decodeBody(ArchiveValue.self, from: Data(body.bytes)) } catch let error
          as ArchiveError
        {
          #expect(error.code == .damaged && isDuplicate, "\(place): \(error)")
          continue
        }
        #expect(!isDuplicate && found != nil, place)
      }
    }
    #expect(counts.allSatisfy { $0 > 50 })
  }
}
