/// Numbers for the keys of a keyed archive, found by their bytes: Foundation writes a string for each key of each object.
struct KeyedKeys {
  private(set) var texts: [String] = []
  private var numbers: [ExactKey: Int] = [:]
  /// The keys that were met lately, each in one of a fixed number of slots.
  private var slots = [Slot](repeating: Slot(), count: 64)

  /// The first and the last bytes of a key, which are all that one of up to 16 bytes has.
  private struct Slot {
    var first: UInt64 = 0
    var last: UInt64 = 0
    var length = -1
    var number = 0
  }

  /// The keys that the fast path over bytes knows itself.
  enum Known: Int, CaseIterable {
    case type, time, objects, keys, string, relative, base, version
  }

  init() {
    for text in ["$class", "NS.time", "NS.objects", "NS.keys", "NS.string", "NS.relative", "NS.base"] {
      _ = number(of: text)
    }
    _ = number(of: KeyedLayout.versionKey)
  }

  /// The number of the key that stands at an offset.
  @inline(__always)
  mutating func number(at offset: Int, in objects: borrowing BinaryObjects) throws -> (number: Int, size: Int) {
    guard objects.marker(at: offset) >> 4 == 0x5 else { throw BinaryObjects.FastPathUnavailable() }
    let (start, length) = try objects.content(at: offset, width: 1)
    let size = start &- offset &+ length
    guard length > 0, length <= 16 else { return (number(of: try objects.string(at: offset)), size) }
    let first = objects.unsigned(at: start, size: min(length, 8))
    let last = length <= 8 ? 0 : objects.word(at: start &+ length &- 8)
    let mixed = (first ^ last &* 0xD6E8_FEB8_6659_FD93 ^ UInt64(length)) &* 0x9E37_79B9_7F4A_7C15
    let slot = Int(mixed >> 58)
    let known = slots[slot]
    if known.first == first, known.last == last, known.length == length { return (known.number, size) }
    let number = number(of: try objects.string(at: offset))
    slots[slot] = Slot(first: first, last: last, length: length, number: number)
    return (number, size)
  }

  private mutating func number(of text: String) -> Int {
    if let number = numbers[ExactKey(text)] { return number }
    numbers[ExactKey(text)] = texts.count
    texts.append(text)
    return texts.count - 1
  }
}
