/// The order of sets and of keys: by the bytes of the encoding that an element has alone (RFC 8949 §4.2.1).
package enum CanonicalOrder {
  /// The elements in their order.
  ///
  /// - Parameters:
  ///   - objects: what the writer of the whole does with objects. Here their content decides, two levels deep.
  ///   - graph: the objects of a graph without types, whose numbers decide.
  package static func sorted<T>(
    _ elements: some Collection<T>, objects: ObjectRole? = nil, of graph: (first: Int, count: Int, written: Int)? = nil,
    by write: (inout ArchiveWriter, T) throws -> Void
  ) throws -> [T] {
    try encoded(elements, objects: objects, of: graph, by: write).map(\.element)
  }

  /// Makes sure that no two sorted elements are archived alike: read again, they would be one.
  ///
  /// What is not equal to itself, as NaN, stays two.
  static func checkDifferent<T, Key: Equatable>(
    _ items: [(bytes: [UInt8], element: T)], _ what: String, by key: (T) -> Key
  ) throws {
    for (item, next) in zip(items, items.dropFirst()) where item.bytes == next.bytes {
      let keys = (key(item.element), key(next.element))
      guard keys.0 == keys.0, keys.1 == keys.1 else { continue }
      throw ArchiveError(
        .notEncodable, "two \(what) are archived alike and would be read as one; they differ in what archives leave out"
      )
    }
  }

  /// Makes sure that no two elements of what keeps an order of its own are archived alike, unless their type tells that already.
  ///
  /// - Complexity: as sorting them; constant for texts and integers.
  package static func checkDifferent<T, Key: Archivable & Equatable>(
    _ elements: some Collection<T>, _ what: String, in writer: borrowing ArchiveWriter, by key: (T) -> Key
  ) throws {
    guard Key.self != String.self, !(Key.self is any FixedWidthInteger.Type), !writer.includesExcluded,
      !(Key._rootSchema?.holdsObjects ?? false)
    else { return }
    let items = try encoded(elements, objects: writer.objects, inPlace: writer.objectsInPlace) {
      try key($1).write(to: &$0)
    }
    try checkDifferent(items, what, by: key)
  }

  /// The elements in their order, each with the bytes that decide it.
  ///
  /// - Parameter inPlace: the objects that are being written in place.
  static func encoded<T>(
    _ elements: some Collection<T>, objects: ObjectRole? = nil, inPlace: ObjectsInPlace? = nil,
    of graph: (first: Int, count: Int, written: Int)? = nil, in orders: CanonicalOrders? = nil,
    by write: (inout ArchiveWriter, T) throws -> Void
  ) throws -> [(bytes: [UInt8], element: T)] {
    var writer = ArchiveWriter(usesReferences: false, minimumCapacity: 64)
    switch objects {
    case nil: break
    // A set inside of what decides the order of another one: objects may lead back here.
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

/// The orders of sets and keys inside of one that is being written: found for the order of that, and used where they are
/// written themselves, since finding them anew at each level would take the square of the depth.
package final class CanonicalOrders {
  // The arrays are kept, so that their places stay theirs.
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
