import Foundation

/// A value as a Codable type encodes it, or as it is handed to one: all its parts in one array.
///
/// A part that holds others names the first and the last of them, and each of these the next. So a container takes another
/// part whenever it is asked to, in any order, and no part has memory of its own.
struct FlatValue {
  enum Kind: UInt8 {
    /// Nothing was encoded, which is written as an object without entries.
    case empty
    case null, bool, int, float, double, date, text, array, object
    /// A value of any kind in ``FlatValue/values``.
    case value
  }

  struct Part {
    var kind = Kind.empty
    /// Whether the part is complete: what is encoded in its place from now on replaces it.
    var isWhole = false
    /// Of an object: whether a key has other characters than ASCII, so that others may be equal to it.
    var hasOtherKeys = false
    /// In an object: the key, as a place in ``FlatValue/texts``, and a hash of it.
    var key: UInt32 = 0
    var keyHash: UInt32 = 0
    /// The next part of the same container; 0 for the last one.
    var next: UInt32 = 0
    /// How many parts a container has.
    var count: UInt32 = 0
    /// The bits of a scalar, the place of a text or a value; of a container, the first and the last part.
    var content: UInt64 = 0

    var first: UInt32 {
      get { UInt32(truncatingIfNeeded: content) }
      set { content = content & 0xFFFF_FFFF_0000_0000 | UInt64(newValue) }
    }

    /// The last part of a container; where it is read, the one whose key is expected next.
    var last: UInt32 {
      get { UInt32(truncatingIfNeeded: content &>> 32) }
      set { content = content & 0xFFFF_FFFF | UInt64(newValue) &<< 32 }
    }
  }

  /// The root is the first.
  var parts = [Part()]
  var texts: [String] = []
  var values: [ArchiveValue] = []
  /// The texts to which an archive refers by number, from the first number that was given while the value was read.
  private var numbered: [NumberedText] = []
  private var firstNumber = 0
  private var keyHashes = KeyHashes()

  private struct NumberedText {
    /// Where it is.
    var place = UInt32.max
    /// What it is as a key, once it was one.
    var key: (hash: UInt32, isASCII: Bool)?
  }

  /// Nothing yet.
  ///
  /// - Parameter firstNumber: how many texts and data an archive has before the value, which are referred to by number.
  init(firstNumber: Int = 0) { self.firstNumber = firstNumber }

  /// A value that was made before.
  init(_ value: ArchiveValue) { set(0, value) }

  // MARK: Building

  /// Adds an empty part that no container has.
  mutating func addPart() -> UInt32 {
    parts.append(Part())
    return UInt32(parts.count - 1)
  }

  /// Adds an empty part to a container, or to what becomes one.
  @inline(__always)
  mutating func addPart(to parent: UInt32, _ kind: Kind) -> UInt32 {
    let place = UInt32(parts.count)
    parts.append(Part())
    link(place, to: parent, kind)
    return place
  }

  /// Adds an empty part under a key to an object, or to what becomes one.
  @inline(__always)
  mutating func addPart(to parent: UInt32, key: String) -> UInt32 {
    let place = addPart(to: parent, .object)
    setKey(key, of: place, in: parent)
    return place
  }

  @inline(__always)
  private mutating func link(_ place: UInt32, to parent: UInt32, _ kind: Kind) {
    let container = Int(parent)
    if parts[container].kind == kind, !parts[container].isWhole, parts[container].count > 0 {
      parts[Int(parts[container].last)].next = place
      parts[container].last = place
      parts[container].count += 1
    } else {
      begin(kind, at: parent)
      parts[container].content = UInt64(place) | UInt64(place) &<< 32
      parts[container].count = 1
    }
  }

  @inline(__always)
  mutating func setKey(_ key: String, of place: UInt32, in parent: UInt32) {
    setKey(UInt32(texts.count), Self.hash(key), of: place, in: parent)
    texts.append(key)
  }

  /// Gives a part a key that is there as a text.
  @inline(__always)
  mutating func setKey(_ key: UInt32, _ hash: (hash: UInt32, isASCII: Bool), of place: UInt32, in parent: UInt32) {
    parts[Int(place)].key = key
    parts[Int(place)].keyHash = hash.hash
    if !hash.isASCII { parts[Int(parent)].hasOtherKeys = true }
  }

  /// Makes a part a text that is there.
  @inline(__always)
  mutating func set(_ place: UInt32, text: UInt32) { set(place, .text, UInt64(text)) }

  /// A hash of a key's bytes, and whether they are ASCII.
  @inline(__always)
  static func hash(_ key: String) -> (hash: UInt32, isASCII: Bool) {
    ByteBuffer.withUTF8(of: key) { (ByteBuffer.hash($0, seed: 0), ByteBuffer.isASCII($0)) }
  }

  /// Makes a part a container without parts.
  @inline(__always)
  mutating func begin(_ kind: Kind, at place: UInt32) {
    parts[Int(place)].isWhole = false
    parts[Int(place)].hasOtherKeys = false
    parts[Int(place)].count = 0
    set(place, kind, 0)
  }

  @inline(__always)
  private mutating func set(_ place: UInt32, _ kind: Kind, _ content: UInt64) {
    parts[Int(place)].kind = kind
    parts[Int(place)].content = content
  }

  /// Forgets what was encoded in a place.
  mutating func setEmpty(_ place: UInt32) { set(place, .empty, 0) }
  mutating func setNull(_ place: UInt32) { set(place, .null, 0) }
  mutating func set(_ place: UInt32, _ value: Bool) { set(place, .bool, value ? 1 : 0) }
  mutating func set(_ place: UInt32, _ value: Int64) { set(place, .int, UInt64(bitPattern: value)) }
  mutating func set(_ place: UInt32, _ value: Float) { set(place, .float, UInt64(value.bitPattern)) }
  mutating func set(_ place: UInt32, _ value: Double) { set(place, .double, value.bitPattern) }
  mutating func set(_ place: UInt32, _ value: Date) {
    set(place, .date, value.timeIntervalSinceReferenceDate.bitPattern)
  }

  mutating func set(_ place: UInt32, _ value: UInt64) {
    if let small = Int64(exactly: value) { set(place, small) } else { set(place, kept: .uint(value)) }
  }

  mutating func set(_ place: UInt32, _ text: String) {
    set(place, .text, UInt64(texts.count))
    texts.append(text)
  }

  /// Puts a value of any kind into a part; what is in it becomes parts where it is opened.
  mutating func set(_ place: UInt32, _ value: ArchiveValue) {
    switch value {
    case .null: setNull(place)
    case .bool(let value): set(place, value)
    case .int(let value): set(place, value)
    case .float(let value): set(place, value)
    case .double(let value): set(place, value)
    case .date(let value): set(place, value)
    case .string(let value): set(place, value)
    default: set(place, kept: value)
    }
  }

  private mutating func set(_ place: UInt32, kept value: ArchiveValue) {
    set(place, .value, UInt64(values.count))
    values.append(value)
  }

  // MARK: Numbered texts

  /// Adds a text.
  @inline(__always)
  mutating func addText(_ text: String) -> UInt32 {
    texts.append(text)
    return UInt32(texts.count - 1)
  }

  /// Adds a text, and remembers its number.
  @inline(__always)
  mutating func addText(_ text: String, number: Int) -> UInt32 {
    let place = addText(text)
    let index = number - firstNumber
    guard index >= 0 else { return place }
    // Between two texts may be some that kept values have.
    while numbered.count <= index { numbered.append(NumberedText()) }
    numbered[index] = NumberedText(place: place)
    return place
  }

  /// The place of a text that was added with its number.
  @inline(__always)
  func text(number: Int) -> UInt32? {
    let index = number - firstNumber
    guard index >= 0, index < numbered.count, numbered[index].place != .max else { return nil }
    return numbered[index].place
  }

  /// Gives a part a text as its key that may have been one before.
  @inline(__always)
  mutating func setKey(_ key: UInt32, number: Int, of place: UInt32, in parent: UInt32) {
    let index = number - firstNumber
    guard index >= 0, index < numbered.count, numbered[index].place == key else {
      return setKey(key, Self.hash(texts[Int(key)]), of: place, in: parent)
    }
    let hash = numbered[index].key ?? Self.hash(texts[Int(key)])
    numbered[index].key = hash
    setKey(key, hash, of: place, in: parent)
  }

  /// How many parts and values there are.
  var counts: (parts: Int, values: Int) { (parts.count, values.count) }

  /// Removes the parts that were added since there were so many, which nothing before them names. Their texts stay, since
  /// what follows may refer to them.
  mutating func removeParts(after counts: (parts: Int, values: Int)) {
    parts.removeLast(parts.count - counts.parts)
    values.removeLast(values.count - counts.values)
  }

  // MARK: Keys

  /// Whether no key of an object occurs twice, by their bytes.
  mutating func keysAreUnique(in object: UInt32) -> Bool {
    if keyHashes.areUnique(in: parts[Int(object)], of: parts) { return true }
    var seen = Set<ExactKey>(minimumCapacity: Int(parts[Int(object)].count))
    return places(in: object).allSatisfy { seen.insert(ExactKey(key($0))).inserted }
  }

  /// Leaves one of the entries with the same key in each object: the last one, at the place of the first.
  ///
  /// - Parameter first: the part that is looked at with all that were added after it, among them those inside of it.
  mutating func mergeKeys(from first: UInt32 = 0) {
    for object in Int(first)..<parts.count where parts[object].kind == .object {
      if keyHashes.areUnique(in: parts[object], of: parts) { continue }
      var kept: [UInt32] = []
      var known: [ExactKey: Int] = [:]
      for place in places(in: UInt32(object)) {
        if let earlier = known[ExactKey(key(place))] {
          kept[earlier] = place
        } else {
          known[ExactKey(key(place))] = kept.count
          kept.append(place)
        }
      }
      setPlaces(kept, in: UInt32(object))
    }
  }

  /// Gives a container the parts that it has in another order, or some of them.
  mutating func setPlaces(_ places: [UInt32], in container: UInt32) {
    for (place, next) in zip(places, places.dropFirst()) { parts[Int(place)].next = next }
    if let last = places.last { parts[Int(last)].next = 0 }
    parts[Int(container)].count = UInt32(places.count)
    parts[Int(container)].first = places.first ?? 0
    parts[Int(container)].last = places.last ?? 0
  }

  // MARK: Reading

  func part(_ place: UInt32) -> Part { parts[Int(place)] }

  /// The text of a part that is one.
  @inline(__always)
  func text(_ part: Part) -> String { texts[Int(part.content)] }

  /// The key of a part of an object.
  @inline(__always)
  func key(_ place: UInt32) -> String { texts[Int(parts[Int(place)].key)] }

  /// The value of a part that is kept as one; `nil` for any other.
  func kept(_ part: Part) -> ArchiveValue? { part.kind == .value ? values[Int(part.content)] : nil }

  /// Expects the first key of an object that is complete: a type decodes its keys mostly in the order in which it encoded
  /// them.
  mutating func expectFirstKey(in object: UInt32) { parts[Int(object)].last = parts[Int(object)].first }

  /// Expects the key after one that was found.
  @inline(__always)
  mutating func expectKey(after place: UInt32, in object: UInt32) {
    let next = parts[Int(place)].next
    parts[Int(object)].last = next == 0 ? parts[Int(object)].first : next
  }

  /// The parts of a container in their order.
  func places(in container: UInt32) -> [UInt32] {
    var places: [UInt32] = []
    let part = parts[Int(container)]
    places.reserveCapacity(Int(part.count))
    var place = part.first
    for _ in 0..<part.count {
      places.append(place)
      place = parts[Int(place)].next
    }
    return places
  }

  /// What a part is called in errors.
  func kind(_ place: UInt32) -> String {
    let part = parts[Int(place)]
    return switch part.kind {
    case .array: ArchiveValue.array([]).kind
    case .empty, .object: ArchiveValue.object(ArchiveObject()).kind
    default: value(place).kind
    }
  }

  /// A part as a value. Its keys were merged.
  ///
  /// - Complexity: linear in the number of parts inside.
  func value(_ place: UInt32 = 0) -> ArchiveValue {
    let part = parts[Int(place)]
    switch part.kind {
    case .empty: return .object(ArchiveObject())
    case .null: return .null
    case .bool: return .bool(part.content != 0)
    case .int: return .int(Int64(bitPattern: part.content))
    case .float: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: part.content)))
    case .double: return .double(Double(bitPattern: part.content))
    case .date: return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: part.content)))
    case .text: return .string(text(part))
    case .value: return values[Int(part.content)]
    case .array: return .array(places(in: place).map { value($0) })
    case .object:
      let entries = places(in: place).map { ArchiveObject.Entry(key: key($0), value: value($0)) }
      return .object(ArchiveObject(uniqueEntries: entries))
    }
  }
}
