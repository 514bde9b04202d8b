extension ArchiveWriter {
  /// Writes an untyped value, whatever its kind.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if the value is nested too deeply.
  public mutating func write(_ value: ArchiveValue) throws {
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
    case .reference(let number): try writeReference(number)
    case .record, .graph, .array, .set, .object, .map:
      try begin(value)
      try writeContent(of: value)
      endValue()
    }
  }

  private mutating func writeContent(of value: ArchiveValue) throws {
    if case .record(let record) = value { return try write(record) }
    if case .graph(let graph) = value { return try write(graph) }
    try enter()
    defer { leave() }
    switch value {
    case .array(let elements):
      beginArray(count: elements.count)
      try writeAll(elements)
    case .set(let elements): try writeSet(elements)
    case .map(let entries): try writeMap(entries)
    case .object(let object):
      beginMap(count: object.count)
      // The buffer borrows the entries. A loop over the array would copy each of them.
      try object.entries.withUnsafeBufferPointer { buffer in
        let entries = buffer.span
        var index = 0
        while index < entries.count {
          write(entries[index].key)
          do { try write(entries[index].value) } catch { throw ArchiveError.at(.key(entries[index].key), error) }
          index &+= 1
        }
      }
    default: break
    }
  }

  /// Writes the elements of a set in canonical order. If several elements have the same encoding, only one of these
  /// elements is written. Elements can have the same encoding if they contain sets that differ only in their order.
  private mutating func writeSet(_ elements: [ArchiveValue]) throws {
    let outer = orders
    defer { orders = outer }
    if let known = keepsOrder ? elements : outer?.sorted(elements) {
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
    // The bytes that were encoded for sorting contain no references to strings. If the final bytes contain none either,
    // they are the same and can be appended.
    guard usesReferences else {
      orders.remember(elements, sorted.map(\.element))
      for item in sorted { append(encoded: item.bytes) }
      return
    }
    try writeAll(sorted.map(\.element))
  }

  private mutating func writeMap(_ entries: [ArchiveValue.MapEntry]) throws {
    let outer = orders
    defer { orders = outer }
    if let known = keepsOrder ? entries : outer?.sorted(entries) {
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
      throw ArchiveError(.notEncodable, "a map has a duplicate key; each key may occur only once")
    }
    if !usesReferences { orders.remember(entries, sorted.map(\.element)) }
    beginMap(count: sorted.count)
    for item in sorted {
      if usesReferences { try write(item.element.key) } else { append(encoded: item.bytes) }
      try write(item.element.value)
    }
  }

  private mutating func writeAll(_ elements: [ArchiveValue]) throws {
    try elements.withUnsafeBufferPointer { buffer in
      let elements = buffer.span
      var index = 0
      while index < elements.count {
        do { try write(elements[index]) } catch { throw ArchiveError.at(.index(index), error) }
        index &+= 1
      }
    }
  }
}
