/// What differs between two values, key path by key path.
///
///     let difference = ValueDifference(from: old, to: new)
///     try difference.applied(to: old) == new
///
/// Objects and records are compared key by key. Arrays whose elements all have a key that tells them apart are compared
/// by it; those of equal length place by place; others by what was taken out and put in. Sets and maps are compared by
/// members and keys. Everything else is one value.
public struct ValueDifference: Sendable, Hashable {
  /// What became of a value.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    case added, removed, changed
    /// The elements of an array stand in another order; old and new are what tells them apart, in their orders.
    case reordered
  }

  /// One difference. A place in an array that something was removed from is one in the old array; any other is one in
  /// the new one.
  public struct Change: Sendable, Hashable {
    public let path: MergePath
    public let kind: Kind
    /// The value before; `nil` where there was none.
    public let old: Value?
    /// The value after; `nil` where there is none.
    public let new: Value?
  }

  /// The differences, in the order of the old value, with what was added behind.
  public private(set) var changes: [Change] = []

  /// The key that tells the elements of arrays apart.
  let key: String
  private var path: [MergePath.Component] = []

  /// - Parameters:
  ///   - old: the value before.
  ///   - new: the value after.
  ///   - key: the key that tells the elements of arrays apart.
  /// - Complexity: linear in the size of both, but for arrays of different lengths without keys, which take the product
  ///   of their length and the number of their differences; beyond 4,000 elements that differ they are one value.
  public init(from old: Value, to new: Value, elementsBy key: String = "id") {
    self.key = key
    compare(old, new)
  }

  /// Whether the values are the same.
  public var isEmpty: Bool { changes.isEmpty }

  private mutating func note(_ kind: Kind, _ old: Value?, _ new: Value?) {
    changes.append(Change(path: MergePath(path), kind: kind, old: old, new: new))
  }

  private mutating func inside(_ component: MergePath.Component, _ body: (inout ValueDifference) -> Void) {
    path.append(component)
    body(&self)
    path.removeLast()
  }

  private mutating func compare(_ old: Value, _ new: Value) {
    guard old != new, !(old.isNaN && new.isNaN) else { return }
    switch (old, new) {
    case (.object(let old), .object(let new)): compare(old.entries, new.entries)
    case (.record(let before), .record(let after))
    where before.typeName == after.typeName && before.modelVersion == after.modelVersion:
      compare(before.object.entries, after.object.entries)
    case (.array(let before), .array(let after)): compare(before, after, old, new)
    case (.set(let before), .set(let after)):
      let (olds, news) = (Set(before), Set(after))
      for member in before where !news.contains(member) { inside(.value(member)) { $0.note(.removed, member, nil) } }
      for member in after where !olds.contains(member) { inside(.value(member)) { $0.note(.added, nil, member) } }
    case (.map(let before), .map(let after)):
      let olds = Dictionary(before.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
      let news = Dictionary(after.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
      for entry in before {
        inside(.value(entry.key)) {
          if let value = news[entry.key] { $0.compare(entry.value, value) } else { $0.note(.removed, entry.value, nil) }
        }
      }
      for entry in after where olds[entry.key] == nil {
        inside(.value(entry.key)) { $0.note(.added, nil, entry.value) }
      }
    default: note(.changed, old, new)
    }
  }

  private mutating func compare(_ old: [Object.Entry], _ new: [Object.Entry]) {
    let olds = Set(old.map { ExactKey($0.key) })
    let news = Dictionary(new.map { (ExactKey($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
    for entry in old {
      inside(.key(entry.key)) {
        if let value = news[ExactKey(entry.key)] {
          $0.compare(entry.value, value)
        } else {
          $0.note(.removed, entry.value, nil)
        }
      }
    }
    for entry in new where !olds.contains(ExactKey(entry.key)) {
      inside(.key(entry.key)) { $0.note(.added, nil, entry.value) }
    }
  }

  // MARK: Arrays

  private mutating func compare(_ before: [Value], _ after: [Value], _ old: Value, _ new: Value) {
    if let olds = Self.ids(before, key), let news = Self.ids(after, key), !olds.isEmpty || !news.isEmpty {
      return compareByID(before, after, olds, news)
    }
    if before.count == after.count {
      for (place, (old, new)) in zip(before, after).enumerated() { inside(.index(place)) { $0.compare(old, new) } }
      return
    }
    let start = zip(before, after).prefix { $0 == $1 }.count
    let end = zip(before.dropFirst(start).reversed(), after.dropFirst(start).reversed()).prefix { $0 == $1 }.count
    let (olds, news) = (before[start..<before.count - end], after[start..<after.count - end])
    guard olds.count + news.count <= 4000 else { return note(.changed, old, new) }
    let difference = Array(news).difference(from: Array(olds))
    for case .remove(let place, let value, _) in difference.removals {
      inside(.index(start + place)) { $0.note(.removed, value, nil) }
    }
    for case .insert(let place, let value, _) in difference.insertions {
      inside(.index(start + place)) { $0.note(.added, nil, value) }
    }
  }

  private mutating func compareByID(_ before: [Value], _ after: [Value], _ olds: [Value], _ news: [Value]) {
    let kept = Dictionary(uniqueKeysWithValues: zip(news, after))
    let known = Set(olds)
    for (id, element) in zip(olds, before) {
      inside(.element(key: key, id: id)) {
        if let value = kept[id] { $0.compare(element, value) } else { $0.note(.removed, element, nil) }
      }
    }
    for (id, element) in zip(news, after) where !known.contains(id) {
      inside(.element(key: key, id: id)) { $0.note(.added, nil, element) }
    }
    // What was added stands behind what stayed, unless this says otherwise.
    let plain = olds.filter { kept[$0] != nil } + news.filter { !known.contains($0) }
    if plain != news { note(.reordered, .array(olds), .array(news)) }
  }

  /// What tells the elements apart; `nil` where one has no key, or two the same.
  static func ids(_ elements: [Value], _ key: String) -> [Value]? {
    var seen = Set<Value>()
    var ids: [Value] = []
    for element in elements {
      guard let id = element[key], !id.isNull, seen.insert(id).inserted else { return nil }
      ids.append(id)
    }
    return ids
  }
}
