/// The canonical order of set elements and map keys. Each element or key is encoded separately, and the encoded bytes are compared (RFC
/// 8949 §4.2.1).
package enum CanonicalOrder {
  /// Returns the elements in canonical order. The closure encodes the part of an element by which the elements are sorted.
  package static func sorted<T>(
    _ elements: some Collection<T>, by write: (inout ArchiveWriter, T) throws -> Void
  ) throws -> [T] {
    try encoded(elements, by: write).map(\.element)
  }

  /// Throws if two elements in canonical order have the same encoding, because a reader would decode them as equal.
  ///
  /// Elements that are not equal to themselves, such as NaN, are allowed.
  static func checkDifferent<T, Key: Equatable>(
    _ items: [(bytes: [UInt8], element: T)], _ reason: String, by key: (T) -> Key
  ) throws {
    for (item, next) in zip(items, items.dropFirst()) where item.bytes == next.bytes {
      let keys = (key(item.element), key(next.element))
      guard keys.0 == keys.0, keys.1 == keys.1 else { continue }
      throw ArchiveError(.notEncodable, reason)
    }
  }

  /// Throws if two different elements of an ordered set, or two different keys of an ordered dictionary, have the same encoding, because a
  /// reader would decode them as equal. Strings and integers are not checked, because different values of these types always have different
  /// encodings.
  ///
  /// - Complexity: O(n log n) for *n* elements; constant for strings and integers.
  package static func checkDifferent<T, Key: Archivable & Equatable>(
    _ elements: some Collection<T>, _ reason: String, in writer: borrowing ArchiveWriter, by key: (T) -> Key
  ) throws {
    guard Key.self != String.self, !(Key.self is any FixedWidthInteger.Type), !writer.includesExcluded,
      !(Key._rootSchema?.holdsObjects ?? false)
    else { return }
    let items = try encoded(elements, objects: writer.objects, inPlace: writer.objectsInPlace) {
      try key($1).write(to: &$0)
    }
    try checkDifferent(items, reason, by: key)
  }

  /// Returns the elements in canonical order, with the encoded bytes used for sorting.
  ///
  /// - Parameters:
  ///   - objects: how the writer of the whole collection writes objects. For sorting, objects are written with their contents, two levels
  ///     deep.
  ///   - inPlace: the objects that the writer of the collection is writing in place.
  ///   - graph: the state of the untyped graph that contains the collection; `nil` outside such a graph. The graph's objects are sorted by
  ///     number.
  static func encoded<T>(
    _ elements: some Collection<T>, objects: ObjectRole? = nil, inPlace: ObjectsInPlace? = nil,
    of graph: (first: Int, count: Int, written: Int)? = nil, in orders: CanonicalOrders? = nil,
    by write: (inout ArchiveWriter, T) throws -> Void
  ) throws -> [(bytes: [UInt8], element: T)] {
    var writer = ArchiveWriter(usesReferences: false, minimumCapacity: 64)
    switch objects {
    case nil: break
    // In a set nested in an element of another set, the number of remaining levels is not reset. Otherwise sorting would never end if an
    // object refers back to the outer set.
    case .content(let levels)?: writer.objects = .content(levels: levels)
    default: writer.objects = .content(levels: 2)
    }
    writer.orders = orders
    var keyed: [(bytes: [UInt8], element: T)] = []
    keyed.reserveCapacity(elements.count)
    for element in elements {
      writer.reset()
      writer.graphObjects = graph
      writer.objectsInPlace = inPlace
      try write(&writer, element)
      keyed.append((writer.buffer.array(), element))
    }
    keyed.sort { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    return keyed
  }
}

/// A cache of the sorted elements of sets and maps nested in the set or map being written. Sorting the outer collection
/// fills the cache, and writing the inner collections uses the cache. Without the cache, each level would sort all nested
/// levels again, which would take quadratic time.
package final class CanonicalOrders {
  // The addresses of the arrays' storage are the keys of the cache. The source arrays are retained, so that the addresses are not reused.
  private var elements: [StorageIdentity: (source: [ArchiveValue], sorted: [ArchiveValue])] = [:]
  private var entries: [StorageIdentity: (source: [ArchiveValue.MapEntry], sorted: [ArchiveValue.MapEntry])] = [:]

  func sorted(_ source: [ArchiveValue]) -> [ArchiveValue]? {
    elements.isEmpty || source.isEmpty ? nil : elements[StorageIdentity(source)]?.sorted
  }

  func sorted(_ source: [ArchiveValue.MapEntry]) -> [ArchiveValue.MapEntry]? {
    entries.isEmpty || source.isEmpty ? nil : entries[StorageIdentity(source)]?.sorted
  }

  func remember(_ source: [ArchiveValue], _ sorted: [ArchiveValue]) {
    elements[StorageIdentity(source)] = (source, sorted)
  }

  func remember(_ source: [ArchiveValue.MapEntry], _ sorted: [ArchiveValue.MapEntry]) {
    entries[StorageIdentity(source)] = (source, sorted)
  }
}
