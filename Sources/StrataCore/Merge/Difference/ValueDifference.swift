/// The differences between two values, listed by key path.
///
///     let difference = ValueDifference(from: old, to: new)
///     try difference.applied(to: old) == new
///
/// Objects and records are compared key by key. Arrays are compared by key if each element has a unique key; otherwise, arrays of the same
/// length are compared index by index, and all others by their removed and added elements. Sets are compared by members, and maps by keys.
/// Any other value is compared as a whole. NaN is considered equal to itself, at any depth.
public struct ValueDifference: Sendable, Hashable {
  /// Whether a value was added, removed or changed, or the elements of an array were reordered.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Only the new version has a value at the path.
    case added
    /// Only the old version has a value at the path.
    case removed
    /// Both versions have a value at the path, and the values differ.
    case changed
    /// The elements of an array are in a different order. The old and new values are the identities of the elements in the old and the new
    /// order.
    case reordered
  }

  /// A single difference. The index of a removed element refers to the old array; any other index refers to the new array.
  public struct Change: Sendable, Hashable {
    /// The path of the value that differs.
    public let path: ValuePath
    /// Whether the value was added, removed, changed or reordered.
    public let kind: Kind
    /// The old value; `nil` if the value was added.
    public let old: ArchiveValue?
    /// The new value; `nil` if the value was removed.
    public let new: ArchiveValue?
  }

  /// The differences in the order of the old value, with additions last.
  public private(set) var changes: [Change] = []

  /// The key that identifies the elements of arrays; `nil` to compare the values as JSON. In that case, elements have no identity, and
  /// records, sets and maps are compared as a whole.
  let key: IdentityKey?
  private var path: [ValuePath.Component] = []

  /// Computes the differences between two values.
  ///
  /// - Parameters:
  ///   - old: the value before.
  ///   - new: the value after.
  ///   - key: the key that identifies the elements of arrays.
  /// - Complexity: linear in the size of both values, except for arrays of different lengths without keys. Their common prefix and suffix
  ///   take linear time. Up to 4,000 elements between them take time proportional to their number times the number of differences. More
  ///   elements take n log n, and an array that keeps less than half of its elements is treated as a single changed value.
  public init(from old: ArchiveValue, to new: ArchiveValue, elementsBy key: IdentityKey = "id") {
    self.init(from: old, to: new, key: key)
  }

  init(from old: ArchiveValue, to new: ArchiveValue, key: IdentityKey?) {
    self.key = key
    compare(old, new)
  }

  /// Whether the values are equal.
  public var isEmpty: Bool { changes.isEmpty }

  private mutating func note(
    _ kind: Kind, _ old: ArchiveValue?, _ new: ArchiveValue?, at steps: ValuePath.Component...
  ) {
    changes.append(Change(path: ValuePath(path + steps), kind: kind, old: old, new: new))
  }

  private mutating func compare(_ old: ArchiveValue, _ new: ArchiveValue, at component: ValuePath.Component) {
    path.append(component)
    compare(old, new)
    path.removeLast()
  }

  private mutating func compare(_ old: ArchiveValue, _ new: ArchiveValue) {
    switch (old, new) {
    case (.object(let before), .object(let after)): compare(before.entries, after.entries)
    case (.record(let before), .record(let after)) where key != nil && before.hasSameType(as: after):
      compare(before.object.entries, after.object.entries)
    case (.array(let before), .array(let after)): compare(before, after)
    case (.set(let before), .set(let after)) where key != nil: compareMembers(before, after)
    case (.map(let before), .map(let after)) where key != nil: compare(before, after)
    default: if old != new { note(.changed, old, new) }
    }
  }

  private mutating func compare(_ old: [ArchiveObject.Entry], _ new: [ArchiveObject.Entry]) {
    guard !old.isStored(like: new) else { return }
    let pairs = KeyPairs(old, new)
    for (entry, place) in zip(old, pairs.news) {
      if let place {
        compare(entry.value, new[place].value, at: .key(entry.key))
      } else {
        note(.removed, entry.value, nil, at: .key(entry.key))
      }
    }
    for (entry, place) in zip(new, pairs.olds) where place == nil {
      note(.added, nil, entry.value, at: .key(entry.key))
    }
  }

  private mutating func compareMembers(_ before: [ArchiveValue], _ after: [ArchiveValue]) {
    guard !before.isStored(like: after) else { return }
    let olds = Set(before), news = Set(after)
    for member in before where !news.contains(member) { note(.removed, member, nil, at: .value(member)) }
    for member in after where !olds.contains(member) { note(.added, nil, member, at: .value(member)) }
  }

  private mutating func compare(_ before: [ArchiveValue.MapEntry], _ after: [ArchiveValue.MapEntry]) {
    let olds = Set(before.map(\.key))
    let news = Dictionary(after.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
    for entry in before {
      if let value = news[entry.key] {
        compare(entry.value, value, at: .value(entry.key))
      } else {
        note(.removed, entry.value, nil, at: .value(entry.key))
      }
    }
    for entry in after where !olds.contains(entry.key) {
      note(.added, nil, entry.value, at: .value(entry.key))
    }
  }

  // MARK: Arrays

  private mutating func compare(_ before: [ArchiveValue], _ after: [ArchiveValue]) {
    guard !before.isStored(like: after) else { return }
    if let key, let olds = Self.ids(before, key), let news = Self.ids(after, key), !olds.isEmpty || !news.isEmpty {
      return compareByID(before, after, olds, news, key)
    }
    if before.count == after.count {
      for place in before.indices { compare(before[place], after[place], at: .index(place)) }
      return
    }
    guard let difference = ElementDifference(before, after) else {
      return note(.changed, .array(before), .array(after))
    }
    // Without a key, the changes become the operations of a JSON patch, which are applied one after another. Elements are removed from the
    // end, so that a removal does not shift the index of a later one.
    for place in key == nil ? difference.removed.reversed() : difference.removed {
      note(.removed, before[place], nil, at: .index(place))
    }
    for place in difference.added { note(.added, nil, after[place], at: .index(place)) }
  }

  private mutating func compareByID(
    _ before: [ArchiveValue], _ after: [ArchiveValue], _ olds: [ArchiveValue], _ news: [ArchiveValue],
    _ key: IdentityKey
  ) {
    let kept = Dictionary(uniqueKeysWithValues: zip(news, after))
    let known = Set(olds)
    for (id, element) in zip(olds, before) {
      let component = ValuePath.Component.element(key: key, id: id)
      if let value = kept[id] {
        compare(element, value, at: component)
      } else {
        note(.removed, element, nil, at: component)
      }
    }
    for (id, element) in zip(news, after) where !known.contains(id) {
      note(.added, nil, element, at: .element(key: key, id: id))
    }
    // If the new array consists of the kept elements in their old order, followed by the added elements, no `reordered` change is needed.
    let plain = olds.filter { kept[$0] != nil } + news.filter { !known.contains($0) }
    if plain != news { note(.reordered, .array(olds), .array(news)) }
  }

  /// Returns the identities of the elements; `nil` if an element has no identity, or if two elements have the same identity.
  static func ids(_ elements: [ArchiveValue], _ key: IdentityKey) -> [ArchiveValue]? {
    var seen = Set<ArchiveValue>()
    var ids: [ArchiveValue] = []
    for element in elements {
      guard let id = element[key], !id.isNull, seen.insert(id).inserted else { return nil }
      ids.append(id)
    }
    return ids
  }
}

extension ValueDifference.Change: CustomStringConvertible {
  /// The kind and the path without the values, such as `changed labels[id=2].name`.
  public var description: String { "\(kind.rawValue) \(path)".onOneLine }
}

extension ValueDifference: CustomStringConvertible {
  /// The differences on one line, without values.
  public var description: String {
    isEmpty ? "no differences" : changes.map(\.description).joined(separator: ", ")
  }
}
