/// A lookup table that finds a model's fields by their JSON paths. It has one hash table of keys for each object on these paths.
///
/// A lookup usually compares one or two keys, regardless of the order of the keys in the document.
struct JSONKeys: Sendable {
  /// A key of a JSON object that is part of the path of one or more fields.
  private struct Entry {
    let path: [ValuePath.Component]
    let keyStart: Int
    let keyLength: Int
    /// The index in `tables` of the table for the object under this key; -1 if no path continues below the key.
    var table = -1
    /// The index in `entries` after the last entry that is nested below this entry.
    var end = 0
    /// The lowest index of a field whose path continues below this key.
    var firstField = Int.max
  }

  private struct Table {
    let start: Int
    /// The number of bits by which a hash is shifted to the right to get the index of its slot in the table.
    let shift: Int
    let mask: Int
  }

  private let entryOfField: [Int]
  /// Whether each entry has the same index as its field. If so, the token indices found for the entries can be returned for the fields as
  /// they are.
  private let isOneToOne: Bool
  private let entries: [Entry]
  private let tables: [Table]
  /// The slots of all hash tables. A slot contains an index in `entries`, or -1 if the slot is empty.
  private let slots: [Int]
  private let keyBytes: [UInt8]

  /// Creates a table for the paths of a model's fields.
  ///
  /// - Parameter paths: the paths of the fields; `nil` for a field that is not in the table.
  init(_ paths: [ValuePath?]) {
    var builder = Builder(entryOfField: Array(repeating: -1, count: paths.count))
    let nodes = JSONPathTree.nodes(paths.map { $0 ?? ValuePath() })
    _ = builder.addTable(nodes, [])
    entryOfField = builder.entryOfField
    isOneToOne = builder.entryOfField == Array(builder.entries.indices)
    entries = builder.entries
    tables = builder.tables
    slots = builder.slots
    keyBytes = builder.keyBytes
  }

  /// Returns the token index of each field's value in a JSON object; -1 if the value is absent.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON` for a duplicate key, and `typeMismatch` if a value along a
  ///   path is not an object.
  func places(in object: JSONElement, of plan: JSONPlan) throws -> [Int] {
    var places = Array(repeating: -1, count: entries.count)
    var failure: (entry: Int, place: Int)?
    var twice: (entry: Int, place: Int)?
    match(object, 0, &places, &failure, &twice)
    if let twice {
      throw error(
        .invalidJSON,
        "the object has a duplicate key that a field reads; each key may occur only once", twice, object, plan)
    }
    if let failure {
      let found = object.element(at: failure.place).kindName
      throw error(.typeMismatch, "the value must be an object; found \(found)", failure, object, plan)
        .about(object.element(at: failure.place).refused)
    }
    if isOneToOne { return places }
    return entryOfField.map { $0 < 0 ? -1 : places[$0] }
  }

  private func match(
    _ object: JSONElement, _ table: Int, _ places: inout [Int], _ failure: inout (entry: Int, place: Int)?,
    _ twice: inout (entry: Int, place: Int)?
  ) {
    let table = tables[table]
    var place = object.place &+ 1
    let end = object.token.next
    while place < end {
      let token = object.tokens[place]
      let entry = token.isPlainString ? find(object.text(of: token), table) : findUnescaped(object, token, table)
      place &+= 1
      if entry >= 0 {
        if places[entry] >= 0, twice == nil { twice = (entry, place &- 1) }
        places[entry] = place
        if entries[entry].table >= 0 { descend(object.element(at: place), entry, &places, &failure, &twice) }
      }
      place = object.place(after: place)
    }
  }

  /// Finds the values of the fields whose paths continue inside `element`, the value under the key of `entry`.
  private func descend(
    _ element: JSONElement, _ entry: Int, _ places: inout [Int], _ failure: inout (entry: Int, place: Int)?,
    _ twice: inout (entry: Int, place: Int)?
  ) {
    switch element.token.kind {
    case .object: match(element, entries[entry].table, &places, &failure, &twice)
    // A null under this key is the value of every field whose path continues below the key.
    case .null: for below in entry + 1..<entries[entry].end { places[below] = element.place }
    default:
      // If several values have the wrong type, the error of the field with the lowest index is reported.
      if failure.map({ entries[entry].firstField < entries[$0.entry].firstField }) ?? true {
        failure = (entry, element.place)
      }
    }
  }

  @inline(__always)
  private func find(_ key: RawSpan, _ table: Table) -> Int {
    var slot = Int(truncatingIfNeeded: key.sampledHash &>> UInt64(table.shift)) & table.mask
    while true {
      let entry = slots[table.start &+ slot]
      if entry < 0 { return -1 }
      let start = entries[entry].keyStart
      if key.byteCount == entries[entry].keyLength, key.occurs(at: start, in: keyBytes.bytes) { return entry }
      slot = (slot &+ 1) & table.mask
    }
  }

  @inline(never)
  private func findUnescaped(_ object: JSONElement, _ token: JSONToken, _ table: Table) -> Int {
    let key = JSONEscape.unescaped(object.text(of: token))
    return key.withBytes { find($0, table) }
  }

  /// Creates an error for the first field whose path begins with the path of the entry.
  private func error(
    _ code: ArchiveError.Code, _ reason: String, _ place: (entry: Int, place: Int), _ object: JSONElement,
    _ plan: JSONPlan
  ) -> ArchiveError {
    let path = entries[place.entry].path
    let entry = plan.entries.first { $0.keyPath?.components.starts(with: path) ?? false }
    return ArchiveError(
      code, reason, path: entry.map { [.key($0.field.key)] } ?? [], typeName: plan.typeName,
      byteOffset: object.tokens[place.place].offset, jsonPath: ValuePath(path).errorPath)
  }

  private struct Builder {
    var entryOfField: [Int]
    var entries: [Entry] = []
    var tables: [Table] = []
    var slots: [Int] = []
    var keyBytes: [UInt8] = []

    /// Adds the hash table for the keys of one object and returns the index of the table.
    mutating func addTable(_ nodes: [JSONPathTree], _ path: [ValuePath.Component]) -> Int {
      // At most half of the slots are used, which keeps searches short.
      var size = 2
      var bits = 1
      while size < nodes.count * 2 { (size, bits) = (size * 2, bits + 1) }
      let table = tables.count
      tables.append(Table(start: slots.count, shift: 64 - bits, mask: size - 1))
      slots.append(contentsOf: Array(repeating: -1, count: size))
      for node in nodes { if case .key(let key) = node.step { addEntry(node, key, path + [node.step], table) } }
      return table
    }

    private mutating func addEntry(_ node: JSONPathTree, _ key: String, _ path: [ValuePath.Component], _ table: Int) {
      let place = entries.count
      let bytes = Array(key.utf8)
      entries.append(Entry(path: path, keyStart: keyBytes.count, keyLength: bytes.count))
      keyBytes.append(contentsOf: bytes)
      var slot = Int(truncatingIfNeeded: bytes.bytes.sampledHash &>> UInt64(tables[table].shift)) & tables[table].mask
      while slots[tables[table].start + slot] >= 0 { slot = (slot + 1) & tables[table].mask }
      slots[tables[table].start + slot] = place

      for field in node.leaves { entryOfField[field] = place }
      if !node.children.isEmpty {
        entries[place].firstField = node.children.lazy.map(\.firstLeaf).min() ?? .max
        entries[place].table = addTable(node.children, path)
      }
      entries[place].end = entries.count
    }
  }
}

extension ArchiveReader {
  /// Returns the token index of a field's value in a JSON document; -1 if the value is absent, or if the reader does not read JSON.
  @inlinable
  func jsonPlace(ofField field: Int) -> Int {
    let field = field + Int(placeOffset)
    return field >= 0 && field < jsonPlaces.count ? jsonPlaces[field] : -1
  }

  @usableFromInline
  @_lifetime(copy self)
  func jsonElement(at place: Int) -> JSONElement { JSONElement(bytes, jsonTokens, at: place) }

  /// Adds the position of the token at `place` in the JSON text to an error.
  @usableFromInline
  func jsonError(_ error: any Error, at place: Int) -> any Error { jsonElement(at: place).located(error) }
}
