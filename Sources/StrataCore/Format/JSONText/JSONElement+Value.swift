extension JSONElement {
  /// Decodes the whole value, including all nested values.
  ///
  /// - Parameter duplicateKeys: how to handle duplicate keys in an object. By default, an error is thrown.
  /// - Throws: ``ArchiveError`` with the code `invalidJSON` and the path of the key if a duplicate key is rejected.
  /// - Complexity: linear in the size of the value. Does not use recursion.
  public func value(duplicateKeys: JSONDuplicateKeys = .refuse) throws -> ArchiveValue {
    if !token.isContainer { return scalar(at: place) }
    var builder = JSONValueBuilder(duplicateKeys: duplicateKeys)
    return try builder.value(of: self)
  }

  /// Decodes the whole value and returns whether it has duplicate keys. The last value of a duplicate key is used.
  func lastValue() throws -> (value: ArchiveValue, hasDuplicates: Bool) {
    if !token.isContainer { return (scalar(at: place), false) }
    var builder = JSONValueBuilder(duplicateKeys: .lastWins)
    return (try builder.value(of: self), builder.hasDuplicates)
  }

  /// Returns the value of the scalar whose token has this index.
  @inline(__always)
  func scalar(at place: Int) -> ArchiveValue {
    let token = tokens[place]
    switch token.kind {
    case .yes: return .bool(true)
    case .no: return .bool(false)
    case .integer: return .number(ofJSON: text(of: token), isInteger: true)
    case .fraction: return .number(ofJSON: text(of: token), isInteger: false)
    case .string, .escapedString: return .string(key(at: place))
    case .null, .array, .object: return .null
    }
  }
}

/// Builds the value of an array or an object by reading its tokens in order.
private struct JSONValueBuilder {
  /// An array or an object that is not complete yet.
  struct Frame {
    let token: Int
    let end: Int
    let isObject: Bool
    var elements: [ArchiveValue] = []
    var entries: [ArchiveObject.Entry] = []
    /// The key of the next value.
    var key = ""

    init(_ place: Int, _ token: JSONToken) {
      self.token = place
      end = token.next
      isObject = token.kind == .object
      if isObject { entries.reserveCapacity(token.count) } else { elements.reserveCapacity(token.count) }
    }

    mutating func add(_ value: ArchiveValue) {
      if isObject { entries.append(ArchiveObject.Entry(key: key, value: value)) } else { elements.append(value) }
    }
  }

  let duplicateKeys: JSONDuplicateKeys
  private(set) var hasDuplicates = false
  var keys = KeyCache()

  init(duplicateKeys: JSONDuplicateKeys) { self.duplicateKeys = duplicateKeys }

  mutating func value(of root: JSONElement) throws -> ArchiveValue {
    var outer: [Frame] = []
    var frame = Frame(root.place, root.token)
    var place = root.place + 1
    while true {
      if place == frame.end {
        let value: ArchiveValue
        if frame.isObject {
          value = .object(try object(frame, outer, root))
        } else {
          value = .array(frame.elements)
        }
        // The frame is moved out of the array. A copy would share its elements with the array, and the next append
        // would copy them all.
        if outer.isEmpty { return value }
        frame = outer.removeLast()
        frame.add(value)
        continue
      }
      if frame.isObject {
        frame.key = keys.key(at: place, of: root)
        place += 1
      }
      let token = root.tokens[place]
      if token.isContainer {
        outer.append(frame)
        frame = Frame(place, token)
      } else {
        frame.add(root.scalar(at: place))
      }
      place += 1
    }
  }

  private mutating func object(_ frame: Frame, _ outer: [Frame], _ root: JSONElement) throws -> ArchiveObject {
    let object = ArchiveObject(frame.entries)
    guard object.count < frame.entries.count else { return object }
    hasDuplicates = true
    guard duplicateKeys == .refuse else { return object }
    var path = outer.map { $0.isObject ? .key($0.key) : ArchiveError.PathComponent.index($0.elements.count) }
    let number = firstDuplicate(frame.entries)
    path.append(.key(frame.entries[number].key))
    throw ArchiveError(
      .invalidJSON, "the object has a duplicate key; each key may occur only once", path: path,
      byteOffset: root.tokens[place(ofEntry: number, frame, root)].offset)
  }

  private func firstDuplicate(_ entries: [ArchiveObject.Entry]) -> Int {
    var seen = Set<ExactKey>()
    return entries.firstIndex { !seen.insert(ExactKey($0.key)).inserted } ?? 0
  }

  /// Returns the token index of the key of an entry. `number` is the index of the entry in its object.
  private func place(ofEntry number: Int, _ frame: Frame, _ root: JSONElement) -> Int {
    var place = frame.token + 1
    for _ in 0..<number {
      let value = root.tokens[place + 1]
      place = value.isContainer ? value.next : place + 2
    }
    return place
  }
}

/// A cache of long keys. Most objects in a document have the same keys. Without the cache, each long key would need its own heap storage.
private struct KeyCache {
  private var places: [Int] = []
  private var keys: [String] = []
  private static let size = 256

  mutating func key(at place: Int, of root: JSONElement) -> String {
    let token = root.tokens[place]
    // Strings of up to 15 bytes need no heap storage, so they are not cached.
    guard token.kind == .string, token.length > 15 else { return root.key(at: place) }
    if places.isEmpty {
      places = Array(repeating: -1, count: Self.size)
      keys = Array(repeating: "", count: Self.size)
    }
    let text = root.text(of: token)
    let hash = text.sampledHash
    let slot = Int(truncatingIfNeeded: hash &>> 56)
    let known = places[slot]
    if known >= 0, root.text(of: root.tokens[known]).holdsSameBytes(as: text) { return keys[slot] }
    let key = ByteBuffer.validString(text)
    places[slot] = place
    keys[slot] = key
    return key
  }
}
