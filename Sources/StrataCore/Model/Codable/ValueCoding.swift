/// The bridge to `Codable`: any Codable type becomes a value, and a value any Codable type.
package enum ValueCoding {
  /// Returns the value of anything that can be encoded, with the excluded fields of the models inside.
  ///
  /// - Throws: ``ArchiveError``; an error of the type's own code is its cause.
  package static func value<T>(of value: T) throws -> ArchiveValue {
    if let value = value as? any Archivable { return try value.archivedValue(includingExcluded: true) }
    return try encoded(value, includingExcluded: true)
  }

  fileprivate static func encoded<T>(_ value: T, includingExcluded: Bool) throws -> ArchiveValue {
    guard let value = value as? any Encodable else {
      throw ArchiveError(.notEncodable, "the type \(T.self) is neither Archivable nor Encodable")
    }
    return try ValueEncoder.value(of: value, includingExcluded: includingExcluded)
  }

  /// Decodes a value as any type that can be decoded.
  ///
  /// - Throws: ``ArchiveError``; an error of the type's own code is its cause.
  package static func decode<T: Decodable>(_ type: T.Type, from value: ArchiveValue, in context: DecodingContext) throws
    -> T
  {
    if let type = TypeShape.archivable(type), let made = try type.decode(from: value, in: context) as? T { return made }
    return try decodeCodable(type, from: value, in: context)
  }

  /// Decodes a value as a type that is only `Codable`.
  static func decodeCodable<T: Decodable>(
    _ type: T.Type, from value: ArchiveValue, in context: DecodingContext
  ) throws -> T {
    do { return try ValueDecoder(value, in: context).decodeValue(type) } catch { throw ArchiveError(decoding: error) }
  }

  /// Throws the error of creating a value of a type.
  static func check(_ value: ArchiveValue, as type: Any.Type, in context: DecodingContext) throws {
    _ = try decode(any: type, from: value, in: context)
  }

  /// Creates a value of any type; `nil` for a type that is neither archivable nor `Codable`.
  static func decode(any type: Any.Type, from value: ArchiveValue, in context: DecodingContext) throws -> Any? {
    if let type = TypeShape.archivable(type) { return try type.decode(from: value, in: context) }
    return try (type as? any Decodable.Type).map { try decodeCodable($0, from: value, in: context) }
  }

  /// Decodes a value as the type of a field, and encodes it again. References refer to the objects in `referenced`.
  package static func typed(
    _ value: ArchiveValue, as type: Any.Type, _ referenced: ReferencedObjects, in context: DecodingContext,
    includingExcluded: Bool = true
  ) throws -> ArchiveValue {
    guard let type = TypeShape.archivable(type) else {
      guard let made = try decode(any: type, from: value, in: context) else { return value }
      return try encoded(made, includingExcluded: includingExcluded)
    }
    return try type.decode(from: value, in: context).archivedValue(
      includingExcluded: includingExcluded, role: .referenced(referenced))
  }
}

extension ArchiveWriter {
  /// Writes a value of a type that is only `Codable`.
  ///
  /// - Throws: ``ArchiveError``; an error of the type's own code is its cause.
  package mutating func write<T>(codable value: T) throws {
    if let value = value as? any Archivable { return try value.write(to: &self) }
    let value = try ValueCoding.encoded(value, includingExcluded: includesExcluded)
    try begin(nil)
    try write(value)
    endValue()
  }
}

extension ArchiveReader {
  /// Reads a value of a type that is only `Codable`.
  ///
  /// - Throws: ``ArchiveError``; first if the bytes are damaged. An error of the type's own code is its cause.
  package mutating func readCodable<T: Decodable>(_ type: T.Type = T.self) throws -> T {
    try ValueCoding.decode(type, from: readValue(), in: context)
  }
}

extension ArchiveError {
  /// Converts an error of a `Decodable` type to an `ArchiveError`, with its path.
  init(decoding error: any Error) {
    if let known = error as? ArchiveError {
      self = known
      return
    }
    let code: Code
    let context: DecodingError.Context?
    switch error {
    case DecodingError.typeMismatch(_, let found): (code, context) = (.typeMismatch, found)
    case DecodingError.valueNotFound(_, let found): (code, context) = (.missingValue, found)
    case DecodingError.keyNotFound(let key, let found):
      self.init(
        .missingValue, "the key \(key.stringValue) is absent", path: Self.path(found.codingPath), underlying: error)
      return
    case DecodingError.dataCorrupted(let found): (code, context) = (.rejected, found)
    default: (code, context) = (.rejected, nil)
    }
    self.init(
      code, "a Codable type refused the value", path: Self.path(context?.codingPath ?? []), underlying: error)
  }

  static func path(_ codingPath: [any CodingKey]) -> [PathComponent] {
    codingPath.map { key in key.intValue.map { .index($0) } ?? .key(key.stringValue) }
  }
}
