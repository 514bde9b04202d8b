import StrataCore
import StrataTestSupport
import Testing

/// The string table as described in Docs/Format.md, section 5.
private struct DescribedTable {
  private var slots = [(bytes: [UInt8], number: Int)?](repeating: nil, count: 64)
  private var next = 0

  mutating func find(_ bytes: [UInt8], major: UInt8) -> Int? {
    let least = next < 24 ? 3 : next < 256 ? 4 : 5
    guard bytes.count >= least else { return nil }
    let content = [major] + bytes
    var free: Int?
    for step in 0..<16 {
      let place = (Self.hash(bytes, major) + step) % slots.count
      guard let known = slots[place] else {
        free = place
        break
      }
      if known.bytes == content { return known.number }
    }
    next += 1
    guard let free else { return nil }
    slots[free] = (content, next - 1)
    if slots.count(where: { $0 != nil }) * 2 > slots.count {
      let old = slots
      slots = Array(repeating: nil, count: old.count * 4)
      for slot in old.compactMap(\.self) {
        var place = Self.hash(Array(slot.bytes.dropFirst()), slot.bytes[0]) % slots.count
        while slots[place] != nil { place = (place + 1) % slots.count }
        slots[place] = slot
      }
    }
    return nil
  }

  static func hash(_ bytes: [UInt8], _ major: UInt8) -> Int {
    bytes.withUnsafeBytes { Int(ByteBuffer.hash($0, seed: UInt64(major))) }
  }
}

@Suite("String index")
struct StringIndexTests {
  private static func check(_ strings: [(bytes: [UInt8], major: UInt8)]) {
    var index = StringIndex()
    var table = DescribedTable()
    var buffer = ByteBuffer()
    for (place, string) in strings.enumerated() {
      let found = string.bytes.withUnsafeBytes {
        index.find($0, major: string.major, start: buffer.count, in: buffer)
      }
      let expected = table.find(string.bytes, major: string.major)
      #expect(found.map(Int.init) == expected, "string \(place) of \(strings.count)")
      string.bytes.withUnsafeBytes { buffer.append(contentsOf: $0) }
    }
  }

  @Test("The index finds the same strings as the table described in the format", arguments: 0..<200 as Range<UInt64>)
  func described(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let count = random.below([10, 15, 16, 17, 18, 32, 33, 34, 40, 140][Int(seed % 10)] + 1) + 4
    Self.check(
      (0..<count * 2).map { _ in
        (Array("s\(random.below(count))".utf8) + Array(repeating: 120, count: random.below(3)), random.oneOf([2, 3]))
      })
  }

  @Test("Strings with colliding hashes are found or written again as the format describes")
  func collisions() {
    let colliding = (0..<4000).map { Array("key \($0)".utf8) }.filter { DescribedTable.hash($0, 3) % 64 == 5 }
    #expect(colliding.count > 20)
    for count in 14...20 {
      let strings = colliding.prefix(count).map { ($0, UInt8(3)) }
      Self.check(strings + strings + strings.reversed())
    }
  }
}
