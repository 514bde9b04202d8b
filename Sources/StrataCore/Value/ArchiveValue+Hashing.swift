import Foundation

extension ArchiveValue {
  /// Hashes everything that equality compares. Foundation's hashes are not used alone, because Foundation hashes only
  /// the first bytes of data, hashes decimals as doubles, and ignores the base of a URL. Many different values could
  /// then have the same hash.
  ///
  /// - Complexity: linear in the size of the value, with parts that share storage counted once.
  public func hash(into hasher: inout Hasher) {
    var hashing = ValueHashing()
    hashing.add(self, to: &hasher)
  }
}

/// The kind of a value. Hashes and digests contain the raw value of the kind, so that values of different kinds have
/// different hashes.
enum ValueKind: UInt8 {
  case null, bool, int, uint, wideInteger, float, double, decimal, number, string, data, date, url, uuid, array, set,
    object, map, record, reference, graph
}

extension Hasher {
  /// Adds the kind of a value and the value's content to the hash.
  @inline(__always)
  fileprivate mutating func combine(_ kind: ValueKind, _ content: some Hashable) {
    combine(kind.rawValue)
    combine(content)
  }
}

/// The state of the hash computation for one value.
private struct ValueHashing {
  /// The number of nested values after which hashes of collections are cached. In smaller values, looking up the hashes
  /// costs more than it saves.
  private static let remembers = 256

  /// From this depth on, only the number of elements of a collection is hashed, because hashing is recursive and a greater depth could
  /// overflow the stack. This constant equals the default depth limit of archives.
  private static let deepest = 512

  /// Identifies a collection whose hash is cached: its storage and, for a record, the shape that contains the keys.
  private struct CollectionIdentity: Hashable {
    let storage: StorageIdentity
    let shape: ObjectIdentifier?
  }

  private var count = 0
  private var depth = 0
  private var known: [CollectionIdentity: Int] = [:]

  mutating func add(_ value: ArchiveValue, to hasher: inout Hasher) {
    count += 1
    switch value {
    case .null: hasher.combine(ValueKind.null.rawValue)
    // All NaN values of one kind are equal, so they must have the same hash, even if their bits differ.
    case .float(let number) where number.isNaN: hasher.combine(.float, Float.nan)
    case .double(let number) where number.isNaN: hasher.combine(.double, Double.nan)
    case .date where value.isNotANumber: hasher.combine(.date, Double.nan)
    case .bool(let bool): hasher.combine(.bool, bool)
    case .int(let integer): hasher.combine(.int, integer)
    case .uint(let integer): hasher.combine(.uint, integer)
    case .wideInteger(let integer): hasher.combine(.wideInteger, integer)
    case .float(let number): hasher.combine(.float, number)
    case .double(let number): hasher.combine(.double, number)
    case .decimal(let number):
      hasher.combine(.decimal, number)
      // Foundation hashes a decimal as a double, so the digits are hashed, too. Equal decimals may differ in the
      // trailing zeros of their mantissas, which `DecimalParts` removes.
      if let parts = DecimalParts(number) {
        hasher.combine(parts.mantissa)
        hasher.combine(parts.exponent)
      }
    case .number(let number): hasher.combine(.number, number)
    case .string(let text): hasher.combine(.string, text)
    case .data(let data):
      hasher.combine(.data, data.count)
      data.withUnsafeBytes { hasher.combine(bytes: $0) }
    case .date(let date): hasher.combine(.date, date)
    case .url(let url):
      hasher.combine(.url, url)
      hasher.combine(url.baseURL?.absoluteString)
    case .uuid(let uuid): hasher.combine(.uuid, uuid)
    case .reference(let number): hasher.combine(.reference, number)
    case .array(let elements): hasher.combine(.array, hash(elements) { $0.add($1, to: &$2) })
    case .set(let elements): hasher.combine(.set, hash(elements) { $0.add($1, to: &$2) })
    case .map(let entries):
      let entries = hash(entries) {
        $0.add($1.key, to: &$2)
        $0.add($1.value, to: &$2)
      }
      hasher.combine(.map, entries)
    case .object(let object):
      hasher.combine(.object, object.count)
      hasher.combine(known(object.entries) { $0.sum(object.entries) { ($0.key, $0.value) } })
    case .record(let record):
      hasher.combine(.record, record.typeName)
      hasher.combine(record.modelVersion)
      hasher.combine(record.values.count)
      let keys = record.keys
      hasher.combine(
        known(record.values, record.shape) { $0.sum(zip(keys, record.values)) { ($0.0, $0.1) } })
    case .graph(let graph):
      hasher.combine(.graph, hash(graph.objects) { $0.add($1, to: &$2) })
      add(graph.root, to: &hasher)
    }
  }

  private mutating func hash<T>(_ elements: [T], _ add: (inout ValueHashing, T, inout Hasher) -> Void) -> Int {
    known(elements) { hashing in
      var hasher = Hasher()
      hasher.combine(elements.count)
      for element in elements { add(&hashing, element, &hasher) }
      return hasher.finalize()
    }
  }

  /// Returns the sum of the entries' hashes, which does not depend on the order of the entries.
  private mutating func sum<T: Sequence>(_ entries: T, _ entry: (T.Element) -> (String, ArchiveValue)) -> Int {
    var sum = 0
    for element in entries {
      let (key, value) = entry(element)
      var hasher = Hasher()
      hasher.combine(key)
      add(value, to: &hasher)
      sum &+= hasher.finalize()
    }
    return sum
  }

  private mutating func known<T>(
    _ elements: [T], _ shape: RecordShape? = nil, _ make: (inout ValueHashing) -> Int
  ) -> Int {
    guard depth < Self.deepest else { return elements.count }
    depth += 1
    defer { depth -= 1 }
    guard count > Self.remembers, !elements.isEmpty else { return make(&self) }
    let identity = CollectionIdentity(storage: StorageIdentity(elements), shape: shape.map { ObjectIdentifier($0) })
    if let hash = known[identity] { return hash }
    let hash = make(&self)
    known[identity] = hash
    return hash
  }
}
