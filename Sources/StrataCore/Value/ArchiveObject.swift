/// An ordered collection of unique keys and their values, without the name of a model type.
///
/// Two objects are equal if they contain equal values under the same keys. The order does not matter.
public struct ArchiveObject: Sendable {
  /// A key and its value.
  public struct Entry: Sendable, Hashable {
    /// The key.
    public var key: String
    /// The value. An explicit null is `.null`.
    public var value: ArchiveValue

    /// Creates an entry from a key and its value.
    public init(key: String, value: ArchiveValue) {
      self.key = key
      self.value = value
    }
  }

  /// The entries in the order in which they were written. All keys are different.
  public private(set) var entries: [Entry]

  /// Creates an object without entries.
  public init() { entries = [] }

  /// Creates an object with the entries in the given order. If a key occurs more than once, its last value is kept at
  /// the position of its first occurrence.
  ///
  /// - Complexity: linear in the number of entries.
  public init(_ entries: [Entry]) {
    if Self.keysAreUnique(entries) {
      self.entries = entries
      return
    }
    var kept: [Entry] = []
    var places: [ExactKey: Int] = [:]
    for entry in entries {
      if let place = places[ExactKey(entry.key)] {
        kept[place].value = entry.value
      } else {
        places[ExactKey(entry.key)] = kept.count
        kept.append(entry)
      }
    }
    self.entries = kept
  }

  /// Creates an object from entries whose keys are known to be unique.
  package init(uniqueEntries: [Entry]) { entries = uniqueEntries }

  /// The keys in the order in which they were written.
  public var keys: [String] { entries.map(\.key) }

  /// The value under a key; `nil` if the key is absent. Setting `nil` removes the key.
  ///
  /// - Complexity: linear in the number of entries.
  public subscript(key: String) -> ArchiveValue? {
    get { entries.first { ExactKey.isSame($0.key, key) }?.value }
    set {
      guard let place = entries.firstIndex(where: { ExactKey.isSame($0.key, key) }) else {
        if let newValue { entries.append(Entry(key: key, value: newValue)) }
        return
      }
      if let newValue { entries[place].value = newValue } else { entries.remove(at: place) }
    }
  }

  package static func keysAreUnique(_ entries: [Entry]) -> Bool {
    guard entries.count > 4 else {
      for later in entries.indices {
        for earlier in 0..<later where ExactKey.isSame(entries[earlier].key, entries[later].key) { return false }
      }
      return true
    }
    if entries.count <= mostHashed, hashesAreUnique(entries) { return true }
    var seen = Set<ExactKey>(minimumCapacity: entries.count)
    return entries.allSatisfy { seen.insert(ExactKey($0.key)).inserted }
  }

  private static let mostHashed = 4096
  private static let mostProbes = 16

  /// Returns whether all keys have different hashes, which shows that the keys are unique. The result can also be `false` for unique keys,
  /// if two hashes are equal or if the hash table has too many collisions.
  private static func hashesAreUnique(_ entries: [Entry]) -> Bool {
    let mask = (4 &<< (Int.bitWidth &- 1 &- entries.count.leadingZeroBitCount)) &- 1
    // The hash table. A slot contains the hash of a key, or 0 if it is empty.
    var slots = [UInt32](repeating: 0, count: mask &+ 1)
    for entry in entries {
      let hash = ByteBuffer.withUTF8(of: entry.key) { ByteBuffer.hash($0, seed: 0) } | 1
      var slot = Int(hash &>> 1) & mask
      var probes = 0
      while slots[slot] != 0 {
        if slots[slot] == hash || probes == mostProbes { return false }
        slot = (slot &+ 1) & mask
        probes &+= 1
      }
      slots[slot] = hash
    }
    return true
  }
}

extension ArchiveObject: Hashable {
  /// - Complexity: the same as for comparing two ``ArchiveValue``s.
  public static func == (left: ArchiveObject, right: ArchiveObject) -> Bool {
    ArchiveValue.object(left) == .object(right)
  }

  public func hash(into hasher: inout Hasher) { ArchiveValue.object(self).hash(into: &hasher) }
}

extension ArchiveObject: RandomAccessCollection {
  public var startIndex: Int { 0 }
  public var endIndex: Int { entries.count }
  public subscript(position: Int) -> Entry { entries[position] }
}

extension ArchiveObject: ExpressibleByDictionaryLiteral {
  /// Creates an object with the entries in the given order. If a key occurs more than once, its last value is kept at
  /// the position of its first occurrence.
  public init(dictionaryLiteral elements: (String, ArchiveValue)...) {
    self.init(elements.map { Entry(key: $0, value: $1) })
  }
}
