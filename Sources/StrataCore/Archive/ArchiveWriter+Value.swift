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
      try enter()
      beginArray(count: elements.count)
      try writeAll(elements)
      leave()
    case .set(let elements):
      try enter()
      beginSet(count: elements.count)
      try writeAll(CanonicalOrder.sorted(elements, of: graphObjects) { try $0.write($1) })
      leave()
    case .object(let object):
      try enter()
      beginMap(count: object.count)
      for entry in object.entries {
        write(entry.key)
        do { try write(entry.value) } catch { throw ArchiveError.at(.key(entry.key), error) }
      }
      leave()
    case .map(let entries):
      try enter()
      beginMap(count: entries.count)
      for entry in try CanonicalOrder.sorted(entries, of: graphObjects, by: { try $0.write($1.key) }) {
        try write(entry.key)
        try write(entry.value)
      }
      leave()
    case .record(let record): try write(record)
    case .reference(let number): try writeReference(number)
    case .graph(let graph): try write(graph)
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
  ///
  /// - Parameters:
  ///   - objects: what the writer of the whole does with objects. Here their content decides, two levels deep.
  ///   - graph: the objects of a graph without types, whose numbers decide.
  package static func sorted<T>(
    _ elements: some Collection<T>, objects: ObjectRole? = nil, of graph: (first: Int, count: Int, written: Int)? = nil,
    by write: (inout ArchiveWriter, T) throws -> Void
  ) throws -> [T] {
    var writer = ArchiveWriter(usesReferences: false, minimumCapacity: 64)
    if objects != nil { writer.objects = .content(levels: 2) }
    var keyed: [(bytes: [UInt8], element: T)] = []
    keyed.reserveCapacity(elements.count)
    for element in elements {
      writer.reset()
      writer.graphObjects = graph
      try write(&writer, element)
      keyed.append((writer.buffer.array(), element))
    }
    keyed.sort { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    return keyed.map(\.element)
  }
}
