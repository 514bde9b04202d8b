/// The canonical order of set elements and map keys: by the bytes of their separate encodings (RFC 8949 §4.2.1).
package enum CanonicalOrder {
  /// Returns the elements in canonical order.
  package static func sorted<T>(
    _ elements: some Collection<T>, by write: (inout ArchiveWriter, T) throws -> Void
  ) throws -> [T] {
    try encoded(elements, by: write).map(\.element)
  }

  /// Throws if two elements in canonical order have the same encoding, because a reader would decode them as equal.
  ///
  /// Elements that do not equal themselves, like NaN, are allowed.
  static func checkDifferent<T, Key: Equatable>(
    _ items: [(bytes: [UInt8], element: T)], _ reason: String, by key: (T) -> Key
  ) throws {
    for (item, next) in zip(items, items.dropFirst()) where item.bytes == next.bytes {
      let keys = (key(item.element), key(next.element))
      guard keys.0 == keys.0, keys.1 == keys.1 else { continue }
      throw ArchiveError(.notEncodable, reason)
    }
  }

  /// Throws if two elements of an ordered collection have the same encoding. Types are not checked if only equal
  /// elements can have the same encoding.
  ///
  /// - Complexity: O(n log n) for *n* elements; constant for texts and integers.
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

  /// Returns the elements in canonical order, each with the bytes by which it is sorted.
  ///
  /// - Parameters:
  ///   - objects: how the outer writer writes objects. For sorting, objects are written as their content, two levels deep.
  ///   - inPlace: the objects that are being written in place.
  ///   - graph: the objects of an untyped graph, which are sorted by number.
  static func encoded<T>(
    _ elements: some Collection<T>, objects: ObjectRole? = nil, inPlace: ObjectsInPlace? = nil,
    of graph: (first: Int, count: Int, written: Int)? = nil, in orders: CanonicalOrders? = nil,
    by write: (inout ArchiveWriter, T) throws -> Void
  ) throws -> [(bytes: [UInt8], element: T)] {
    var writer = ArchiveWriter(usesReferences: false, minimumCapacity: 64)
    switch objects {
    case nil: break
    // In a set inside an element of another set, the remaining levels are kept, because objects may refer back to the
    // outer set.
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

/// A cache of the sorted elements of sets and maps inside the set or map that is being written. It is filled while the
/// outer collection is sorted, and used when the inner collections are written. Without the cache, each level would
/// sort all levels inside it again, which would take quadratic time.
package final class CanonicalOrders {
  // The source arrays are retained, so that the storage addresses used as keys stay valid.
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
