import Foundation

/// A 128-bit hash of a value's complete encoding, for finding duplicates. Values with different encodings have different digests. Digests
/// differ from run to run, so they must not be stored.
package struct ValueDigest: Hashable {
  fileprivate var first: Int
  fileprivate var second: Int
  /// Whether the value contains NaN. Values with NaN are never duplicates of each other, so a set may contain several of them.
  fileprivate(set) var hasNaN: Bool
}

/// Computes digests of values. The digests of nested sets and maps are cached, because the content of a deeply nested set would
/// otherwise be hashed again at each level.
package final class ValueDigests {
  /// An incremental 128-bit hash. It consists of two 64-bit hashers that start with different bytes and then receive the same input.
  private struct State {
    var first = Hasher()
    var second = Hasher()
    var hasNaN = false

    init(_ kind: ValueKind) {
      first.combine(UInt8(0))
      second.combine(UInt8(1))
      combine(kind.rawValue)
    }

    init(_ kind: ValueKind, _ content: some Hashable & BitwiseCopyable) {
      self.init(kind)
      combine(content)
    }

    mutating func combine<T: Hashable>(_ value: T) {
      first.combine(value)
      second.combine(value)
    }

    mutating func combine(_ bytes: UnsafeRawBufferPointer) {
      combine(bytes.count)
      first.combine(bytes: bytes)
      second.combine(bytes: bytes)
    }

    mutating func combine(_ text: String) { ByteBuffer.withUTF8(of: text) { combine($0) } }

    mutating func combine(_ digest: ValueDigest) {
      combine(digest.first)
      combine(digest.second)
      hasNaN = hasNaN || digest.hasNaN
    }

    consuming func finish() -> ValueDigest {
      ValueDigest(first: first.finalize(), second: second.finalize(), hasNaN: hasNaN)
    }
  }

  private let budget: WorkBudget
  /// The cached digests of sets. Each set is retained, because the address of its storage is the cache key.
  private var elements: [StorageIdentity: (elements: [ArchiveValue], digest: ValueDigest)] = [:]
  /// The cached digests of maps. Each map is retained, because the address of its storage is the cache key.
  private var entries: [StorageIdentity: (entries: [ArchiveValue.MapEntry], digest: ValueDigest)] = [:]
  /// The nesting depth of the sets and map keys that are being read. Digests are cached while the depth is greater than 1.
  private var depth = 0
  private var steps = 0

  /// - Parameter remembersAll: whether the digests of all sets and maps are cached, instead of only those of nested ones. This saves time
  ///   if larger values are then built from the same sets and maps.
  package init(_ budget: WorkBudget, remembersAll: Bool = false) {
    self.budget = budget
    if remembersAll { depth = 2 }
  }

  /// Whether a set or the keys of a map are being read.
  var isOpen: Bool { depth > 0 }

  /// Whether the set or the map keys being read are nested in a set or in a map key.
  var isNested: Bool { depth > 1 }

  /// Begins a set or the keys of a map. Until the matching call of ``leave()``, the digests of nested sets and maps are cached.
  func enter() { depth += 1 }

  /// Ends the set or the map keys that the latest call of ``enter()`` began. The cache is cleared when the outermost set or map ends.
  func leave() {
    depth -= 1
    guard depth <= 0 else { return }
    depth = 0
    elements.removeAll()
    entries.removeAll()
  }

  /// Returns whether all elements have different encodings. An element that contains NaN is never a duplicate.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if the step budget is used up.
  /// - Complexity: linear in the size of the elements, not counting cached nested sets and maps.
  func areUnique(_ elements: [ArchiveValue]) throws -> Bool {
    guard let digests = try uniqueDigests(of: elements) else { return false }
    remember(elements, digests)
    return true
  }

  /// Returns whether all keys have different encodings. The rules are the same as for ``areUnique(_:)-([ArchiveValue])``.
  func areUnique(_ entries: [ArchiveValue.MapEntry]) throws -> Bool {
    guard let keys = try uniqueDigests(of: entries.lazy.map(\.key)) else { return false }
    try remember(entries, keys)
    return true
  }

  // Only nested sets and maps are cached, because the digest of an outermost set or map is not needed again.

  private func remember(_ elements: [ArchiveValue], _ digests: [ValueDigest]) {
    guard depth > 1, !elements.isEmpty else { return }
    self.elements[StorageIdentity(elements)] = (elements, digest(ofSet: digests))
  }

  private func remember(_ entries: [ArchiveValue.MapEntry], _ keys: [ValueDigest]) throws {
    guard depth > 1, !entries.isEmpty else { return }
    let values = try entries.map { try digest(of: $0.value) }
    self.entries[StorageIdentity(entries)] = (entries, digest(ofMap: zip(keys, values)))
  }

  /// Returns the elements without duplicates. An element is a duplicate if an earlier element has the same encoding.
  package func unique(_ elements: [ArchiveValue]) throws -> [ArchiveValue] {
    var seen = Set<ValueDigest>(minimumCapacity: elements.count)
    var result: [ArchiveValue] = []
    var digests: [ValueDigest] = []
    for element in elements {
      let digest = try digest(of: element)
      guard digest.hasNaN || seen.insert(digest).inserted else { continue }
      result.append(element)
      digests.append(digest)
    }
    remember(result, digests)
    return result
  }

  /// Returns the entries without duplicate keys. If a key is repeated, its entry stays at the position of the key's first occurrence.
  ///
  /// - Parameter keepsFirst: whether the first value of a repeated key is kept instead of its last value.
  package func unique(_ entries: [ArchiveValue.MapEntry], keepsFirst: Bool = false) throws -> [ArchiveValue.MapEntry] {
    var places: [ValueDigest: Int] = [:]
    var result: [ArchiveValue.MapEntry] = []
    var keys: [ValueDigest] = []
    for entry in entries {
      let digest = try digest(of: entry.key)
      if !digest.hasNaN {
        if let place = places[digest] {
          if !keepsFirst { result[place].value = entry.value }
          continue
        }
        places[digest] = result.count
      }
      result.append(entry)
      keys.append(digest)
    }
    try remember(result, keys)
    return result
  }

  /// Returns the digests of the values, or `nil` if there are duplicates. Stops at the first duplicate, because a small file can contain
  /// millions of duplicates.
  private func uniqueDigests(of values: some Collection<ArchiveValue>) throws -> [ValueDigest]? {
    var seen = Set<ValueDigest>()
    if values.count > 8 { seen.reserveCapacity(min(values.count, 1 << 16)) }
    var digests: [ValueDigest] = []
    for value in values {
      let digest = try digest(of: value)
      let isNew =
        values.count > 8 ? digest.hasNaN || seen.insert(digest).inserted : digest.hasNaN || !digests.contains(digest)
      guard isNew else { return nil }
      digests.append(digest)
    }
    return digests
  }

  /// Returns the digest of a value. The steps of the computation are charged to the budget.
  package func digest(of value: ArchiveValue) throws -> ValueDigest {
    let digest = uncountedDigest(of: value)
    try budget.spend(steps: steps)
    steps = 0
    return digest
  }

  private func uncountedDigest(of value: ArchiveValue) -> ValueDigest {
    steps += 1
    var state: State
    switch value {
    case .null: state = State(.null)
    case .bool(let bool): state = State(.bool, bool)
    case .int, .uint, .wideInteger:
      if let integer = value.integer(as: Int64.self) {
        state = State(.int, integer)
      } else {
        let integer = value.wideInteger ?? 0
        state = State(.wideInteger, integer.isNegative)
        state.combine(integer.magnitude)
      }
    case .float(let number):
      state = State(.float, number.bitPattern)
      state.hasNaN = number.isNaN
    case .double(let number):
      state = State(.double, number.bitPattern)
      state.hasNaN = number.isNaN
    case .decimal(let number):
      state = State(.decimal)
      if let parts = DecimalParts(number) {
        state.combine(parts.isNegative)
        state.combine(parts.mantissa)
        state.combine(parts.exponent)
      }
      state.hasNaN = number.isNaN
    case .number(let number):
      state = State(.number)
      state.combine(number.text)
    case .string(let text):
      state = State(.string)
      state.combine(text)
      steps += text.utf8.count / 16
    case .data(let data):
      state = State(.data)
      data.withUnsafeBytes { state.combine($0) }
      steps += data.count / 16
    case .date(let date):
      state = State(.date, date.timeIntervalSinceReferenceDate.bitPattern)
      state.hasNaN = date.timeIntervalSinceReferenceDate.isNaN
    case .url(let url):
      state = State(.url)
      let base = url.baseURL?.absoluteString
      let text = base == nil ? url.absoluteString : url.relativeString
      state.combine(text)
      if let base { state.combine(base) }
      steps += (text.utf8.count + (base?.utf8.count ?? 0)) / 16
    case .uuid(let uuid):
      state = State(.uuid)
      state.combine(uuid)
    case .reference(let number): state = State(.reference, number)
    case .array(let elements):
      state = State(.array, elements.count)
      for element in elements { state.combine(uncountedDigest(of: element)) }
    case .object(let object):
      state = State(.object, object.count)
      for entry in object.entries {
        state.combine(entry.key)
        state.combine(uncountedDigest(of: entry.value))
      }
    case .record(let record):
      state = State(.record)
      state.combine(record.shape.mark)
      for (key, value) in zip(record.keys, record.values) {
        state.combine(key)
        state.combine(uncountedDigest(of: value))
      }
      steps += record.shape.keyBytes / 16
    case .set(let members):
      if let known = elements[StorageIdentity(members)] { return known.digest }
      return digest(ofSet: members.map { uncountedDigest(of: $0) })
    case .map(let pairs):
      if let known = entries[StorageIdentity(pairs)] { return known.digest }
      return digest(ofMap: zip(pairs.map { uncountedDigest(of: $0.key) }, pairs.map { uncountedDigest(of: $0.value) }))
    case .graph(let graph):
      state = State(.graph, graph.objects.count)
      for object in graph.objects { state.combine(uncountedDigest(of: object)) }
      state.combine(uncountedDigest(of: graph.root))
    }
    return state.finish()
  }

  // Members of sets and entries of maps are sorted by digest before they are hashed, because their order in the value does not matter.

  private func digest(ofSet members: [ValueDigest]) -> ValueDigest {
    var state = State(.set, members.count)
    for member in members.sorted(by: Self.areInOrder) { state.combine(member) }
    return state.finish()
  }

  private func digest(ofMap pairs: some Sequence<(ValueDigest, ValueDigest)>) -> ValueDigest {
    var state = State(.map)
    for (key, value) in pairs.sorted(by: { Self.areInOrder($0.0, $1.0) }) {
      state.combine(key)
      state.combine(value)
    }
    return state.finish()
  }

  private static func areInOrder(_ left: ValueDigest, _ right: ValueDigest) -> Bool {
    (left.first, left.second) < (right.first, right.second)
  }
}
