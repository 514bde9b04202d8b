extension ArchiveWriter {
  /// Writes a value of any kind.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` where it is nested too deeply.
  public mutating func write(_ value: Value) throws {
    switch value {
    case .null: writeNull()
    case .bool(let value): write(value)
    case .int(let value): write(value)
    case .uint(let value): write(value)
    case .wideInteger(let value): write(value)
    case .float(let value): write(value)
    case .double(let value): write(value)
    case .decimal(let value): write(value)
    case .number(let value): write(value)
    case .string(let value): write(value)
    case .data(let value): write(value)
    case .date(let value): write(value)
    case .url(let value): write(value)
    case .uuid(let value): write(value)
    case .array(let elements):
      try begin(value)
      try enter()
      beginArray(count: elements.count)
      try writeAll(elements)
      leave()
      endValue()
    case .set(let elements):
      try begin(value)
      try enter()
      try writeSet(elements)
      leave()
      endValue()
    case .object(let object):
      try begin(value)
      try enter()
      beginMap(count: object.count)
      for entry in object.entries {
        write(entry.key)
        do { try write(entry.value) } catch { throw ArchiveError.at(.key(entry.key), error) }
      }
      leave()
      endValue()
    case .map(let entries):
      try begin(value)
      try enter()
      try writeMap(entries)
      leave()
      endValue()
    case .record(let record):
      try begin(value)
      try write(record)
      endValue()
    case .reference(let number): try writeReference(number)
    case .graph(let graph):
      try begin(value)
      try write(graph)
      endValue()
    }
  }

  /// Writes elements in the order of sets, those that are equal once: sets inside them may differ in their order alone.
  private mutating func writeSet(_ elements: [Value]) throws {
    let outer = orders
    defer { orders = outer }
    if let known = outer?.sorted(elements) {
      beginSet(count: known.count)
      return try writeAll(known)
    }
    let orders = outer ?? CanonicalOrders()
    self.orders = orders
    var sorted = try CanonicalOrder.encoded(elements, of: graphObjects, in: orders) { try $0.write($1) }
    var last: [UInt8]?
    sorted.removeAll { item in
      defer { last = item.bytes }
      return item.bytes == last && !item.element.hasNaN
    }
    beginSet(count: sorted.count)
    // What is only written for its order shares nothing, so it needs not be written once more at every level.
    guard usesReferences else {
      orders.remember(elements, sorted.map(\.element))
      for item in sorted { append(encoded: item.bytes) }
      return
    }
    try writeAll(sorted.map(\.element))
  }

  private mutating func writeMap(_ entries: [Value.MapEntry]) throws {
    let outer = orders
    defer { orders = outer }
    if let known = outer?.sorted(entries) {
      beginMap(count: known.count)
      for entry in known {
        try write(entry.key)
        try write(entry.value)
      }
      return
    }
    let orders = outer ?? CanonicalOrders()
    self.orders = orders
    let sorted = try CanonicalOrder.encoded(entries, of: graphObjects, in: orders) { try $0.write($1.key) }
    for (earlier, later) in zip(sorted, sorted.dropFirst())
    where earlier.bytes == later.bytes && !later.element.key.hasNaN {
      throw ArchiveError(.notEncodable, "a duplicate key of a map; each may be there once")
    }
    if !usesReferences { orders.remember(entries, sorted.map(\.element)) }
    beginMap(count: sorted.count)
    for item in sorted {
      if usesReferences { try write(item.element.key) } else { append(encoded: item.bytes) }
      try write(item.element.value)
    }
  }

  private mutating func writeAll(_ elements: [Value]) throws {
    for (index, element) in elements.enumerated() {
      do { try write(element) } catch { throw ArchiveError.at(.index(index), error) }
    }
  }
}

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

  /// The elements in their order, each with the bytes that decide it.
  ///
  /// - Parameter open: the objects that are being written in place, which must not be met again.
  package static func encoded<T>(
    _ elements: some Collection<T>, objects: ObjectRole? = nil, open: [ObjectIdentifier] = [],
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
      writer.openObjects = open
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
  private var elements: [StorageIdentity: (source: [Value], sorted: [Value])] = [:]
  private var entries: [StorageIdentity: (source: [Value.MapEntry], sorted: [Value.MapEntry])] = [:]

  func sorted(_ source: [Value]) -> [Value]? {
    elements.isEmpty || source.isEmpty ? nil : elements[StorageIdentity(source)]?.sorted
  }

  func sorted(_ source: [Value.MapEntry]) -> [Value.MapEntry]? {
    entries.isEmpty || source.isEmpty ? nil : entries[StorageIdentity(source)]?.sorted
  }

  func remember(_ source: [Value], _ sorted: [Value]) { elements[StorageIdentity(source)] = (source, sorted) }

  func remember(_ source: [Value.MapEntry], _ sorted: [Value.MapEntry]) {
    entries[StorageIdentity(source)] = (source, sorted)
  }
}
