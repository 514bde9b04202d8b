extension ArchiveWriter {
  /// Writes a value of a type that is only `Codable`.
  ///
  /// - Throws: ``ArchiveError``; what the type's own code throws is its cause.
  package mutating func write<T>(codable value: T) throws { try write(ValueCoding.parts(of: value)) }

  /// Writes a value in parts.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` where it is nested too deeply.
  private mutating func write(_ flat: FlatValue) throws { try write(0, of: flat) }

  fileprivate mutating func write(_ place: UInt32, of flat: FlatValue) throws {
    let part = flat.parts[Int(place)]
    switch part.kind {
    case .null: writeNull()
    case .bool: write(part.content != 0)
    case .int: write(Int64(bitPattern: part.content))
    case .text: write(flat.text(part))
    case .double: write(Double(bitPattern: part.content))
    case .array: try writeElements(part, of: flat)
    case .empty: try writeEntries(FlatValue.Part(), of: flat)
    case .object: try writeEntries(part, of: flat)
    case .float, .date, .value: try write(flat.value(place))
    }
  }

  private mutating func writeElements(_ part: FlatValue.Part, of flat: FlatValue) throws {
    try beginEncoded()
    try enter()
    beginArray(count: Int(part.count))
    var next = part.first
    var index = 0
    do {
      while index < part.count {
        try write(next, of: flat)
        next = flat.parts[Int(next)].next
        index &+= 1
      }
    } catch { throw ArchiveError.at(.index(index), error) }
    leave()
    endValue()
  }

  private mutating func writeEntries(_ part: FlatValue.Part, of flat: FlatValue) throws {
    try beginEncoded()
    try enter()
    beginMap(count: Int(part.count))
    var next = part.first
    do {
      for _ in 0..<part.count {
        write(flat.key(next))
        try write(next, of: flat)
        next = flat.parts[Int(next)].next
      }
    } catch { throw ArchiveError.at(.key(flat.key(next)), error) }
    leave()
    endValue()
  }
}

extension CanonicalOrder {
  /// Brings what a set or a dictionary encoded into an order of its own: keys and elements by their encoded bytes.
  ///
  /// - Parameter pairs: whether an array has keys and values in turn, as of a dictionary whose keys are no strings.
  static func sort(_ place: UInt32, of flat: inout FlatValue, pairs: Bool) throws {
    flat.mergeKeys(from: place)
    let places = flat.places(in: place)
    let sorted: [UInt32]
    switch flat.part(place).kind {
    case .object: sorted = try self.sorted(places) { $0.write(flat.key($1)) }
    case .array where pairs:
      let pairs = stride(from: 0, to: places.count - 1, by: 2).map { (places[$0], places[$0 + 1]) }
      sorted = try self.sorted(pairs) { try $0.write($1.0, of: flat) }.flatMap { [$0.0, $0.1] }
    case .array: sorted = try self.sorted(places) { try $0.write($1, of: flat) }
    default: return
    }
    flat.setPlaces(sorted, in: place)
    flat.parts[Int(place)].isWhole = true
  }
}
