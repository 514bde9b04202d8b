/// The bridge to `Codable`. Encodes any `Encodable` value as an archive value and decodes an archive value as any `Decodable` type.
package enum ValueCoding {
  /// Converts an archivable or `Encodable` value to an archive value, including the excluded fields of nested models.
  ///
  /// - Throws: ``ArchiveError``. An error thrown by the type's own code is the underlying error.
  package static func value<T>(of value: T) throws -> ArchiveValue {
    if let value = value as? any Archivable { return try value.archivedValue(includingExcluded: true) }
    return try encoded(value, includingExcluded: true)
  }

  fileprivate static func encoded<T>(_ value: T, includingExcluded: Bool) throws -> ArchiveValue {
    guard let value = value as? any Encodable else {
      throw ArchiveError(.notEncodable, "the type \(T.self) is neither Archivable nor Encodable; make the type Codable")
    }
    return try ValueEncoder.value(of: value, includingExcluded: includingExcluded)
  }

  /// Decodes a value as the given archivable or `Decodable` type.
  ///
  /// - Throws: ``ArchiveError``. An error thrown by the type's own code is the underlying error.
  package static func decode<T: Decodable>(_ type: T.Type, from value: ArchiveValue, in context: DecodingContext) throws
    -> T
  {
    if let type = TypeShape.archivable(type), let made = try type.decode(from: value, in: context) as? T { return made }
    return try decodeCodable(type, from: value, in: context)
  }

  /// Decodes a value with the `Decodable` conformance of a type, even if the type is also archivable.
  static func decodeCodable<T: Decodable>(
    _ type: T.Type, from value: ArchiveValue, in context: DecodingContext
  ) throws -> T {
    do { return try ValueDecoder(value, in: context).decodeValue(type) } catch { throw ArchiveError(decoding: error) }
  }

  /// Throws if a value cannot be decoded as the given type.
  static func check(_ value: ArchiveValue, as type: Any.Type, in context: DecodingContext) throws {
    _ = try decode(any: type, from: value, in: context)
  }

  /// Decodes a value as any type. Returns `nil` if the type is neither archivable nor `Decodable`.
  static func decode(any type: Any.Type, from value: ArchiveValue, in context: DecodingContext) throws -> Any? {
    if let type = TypeShape.archivable(type) { return try type.decode(from: value, in: context) }
    return try (type as? any Decodable.Type).map { try decodeCodable($0, from: value, in: context) }
  }

  /// Decodes a value as the given type and encodes it again, so that it has the form in which a field of that type is archived. Objects in
  /// the decoded value are added to `referenced` and replaced with references.
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
  /// Writes a value of a type that is `Codable` but not `Archivable`.
  ///
  /// - Throws: ``ArchiveError``. An error thrown by the type's own code is the underlying error.
  package mutating func write<T>(codable value: T) throws {
    if let value = value as? any Archivable { return try value.write(to: &self) }
    let value = try ValueCoding.encoded(value, includingExcluded: includesExcluded)
    try begin(nil)
    try write(value)
    endValue()
  }
}

extension ArchiveReader {
  /// Reads a value of a type that is `Codable` but not `Archivable`.
  ///
  /// - Throws: ``ArchiveError``. If the bytes are damaged, the damage is reported instead of any error that the type throws. An error
  ///   thrown by the type's own code is the underlying error.
  package mutating func readCodable<T: Decodable>(_ type: T.Type = T.self) throws -> T {
    try ValueCoding.decode(type, from: readValue(), in: context)
  }
}

extension ArchiveError {
  /// Converts an error thrown by a `Decodable` type to an `ArchiveError` with the same coding path.
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
        .missingValue, "the key \(key.stringValue) is missing", path: Self.path(found.codingPath), underlying: error)
      return
    case DecodingError.dataCorrupted(let found): (code, context) = (.rejected, found)
    default: (code, context) = (.rejected, nil)
    }
    self.init(
      code, "a Codable type rejected the value", path: Self.path(context?.codingPath ?? []), underlying: error)
  }

  static func path(_ codingPath: [any CodingKey]) -> [PathComponent] {
    codingPath.map { key in key.intValue.map { .index($0) } ?? .key(key.stringValue) }
  }
}
