extension ArchiveReader {
  /// Whether the fields are read from consecutive bytes in the order of the schema, instead of being looked up in a
  /// record or in JSON.
  @usableFromInline
  var isPositional: Bool {
    @inline(__always) get {
      if case nil = values { true } else { false }
    }
  }

  /// Reads the field with this index in the schema. The key is required unless the type is optional.
  ///
  /// The function is never inlined, because one compiled copy per type, instead of one per field, reduces the code size
  /// of models.
  @inlinable
  @inline(never)
  public mutating func field<T: Archivable>(_ place: Int) throws -> T {
    do {
      return isPositional
        ? try T.read(from: &self) : try slot(place, { try Self.absent() })
    } catch {
      return try recovered(place, error) { try Self.closesCycle() }
    }
  }

  /// Reads the field with this index in the schema, with an explicit type. The key is required unless the type is
  /// optional.
  @inlinable
  public mutating func field<T: Archivable>(_ place: Int, _ type: T.Type) throws -> T { try field(place) }

  /// Reads a field, or returns its default if the key is absent.
  @inlinable
  @inline(never)
  public mutating func field<T: Archivable>(
    _ place: Int, default makeDefault: @autoclosure () throws -> T
  ) throws -> T {
    do {
      return isPositional
        ? try T.read(from: &self) : try slot(place, makeDefault)
    } catch {
      return try recovered(place, error, makeDefault)
    }
  }

  /// Reads a field, or returns its default if the key is absent. The policy specifies how to read enum cases that this program does not
  /// know.
  @inlinable
  @inline(never)
  public mutating func field<T: Archivable>(
    _ place: Int, default makeDefault: @autoclosure () throws -> T, unknown: UnknownCasePolicy
  ) throws -> T {
    let start = here
    do {
      return isPositional
        ? try T.read(from: &self) : try slot(place, makeDefault)
    } catch let error as ArchiveError
      where unknown == .useDefault && error.isUnknownCase(within: T.typeShape.containerDepth)
    {
      guard !error.codingPath.isEmpty, let value = try wholeValue(place, from: start) else { return try makeDefault() }
      return try T.decode(from: knownCases(value, T.self), in: context)
    } catch {
      return try recovered(place, error, makeDefault)
    }
  }

  /// Reads an excluded field, which archives normally do not contain. Returns the default unless a hook or an old archive supplies a value.
  @inlinable
  public mutating func excludedField<T: Archivable>(
    _ place: Int, default makeDefault: @autoclosure () throws -> T
  ) throws -> T {
    isPositional && !readsExcludedFields ? try makeDefault() : try field(place, default: makeDefault())
  }

  /// Reads a field of a `Codable` type. The key is required unless the type is optional.
  @_disfavoredOverload
  public mutating func field<T: Decodable>(_ place: Int, _ type: T.Type = T.self) throws -> T {
    do {
      return isPositional
        ? try readCodable()
        : try codableSlot(place, { try Self.absent() })
    } catch {
      fail(place)
      throw error
    }
  }

  /// Reads a field of a `Codable` type, or returns its default if the key is absent.
  @_disfavoredOverload
  public mutating func field<T: Decodable>(
    _ place: Int, default makeDefault: @autoclosure () throws -> T, unknown: UnknownCasePolicy = .fail
  ) throws -> T {
    let start = here
    do {
      return isPositional
        ? try readCodable()
        : try codableSlot(place, makeDefault)
    } catch let error as ArchiveError
      where unknown == .useDefault && error.isUnknownCase(within: TypeShape(of: T.self).containerDepth)
    {
      guard !error.codingPath.isEmpty, let value = try wholeValue(place, from: start) else { return try makeDefault() }
      return try ValueCoding.decode(T.self, from: knownCases(value, T.self), in: context)
    } catch {
      fail(place)
      throw error
    }
  }

  /// Reads an excluded field of a `Codable` type. Returns the default unless a hook or an old archive supplies a value.
  @_disfavoredOverload
  public mutating func excludedField<T: Decodable>(
    _ place: Int, default makeDefault: @autoclosure () throws -> T
  ) throws -> T {
    isPositional && !readsExcludedFields ? try makeDefault() : try field(place, default: makeDefault())
  }

  /// Produces a compile-time error with a suggested fix for a property whose type cannot be archived.
  @available(
    *, unavailable,
    message:
      "archives cannot store values of this type; declare the type with @Model, make it Codable (or Archivable, for an enum with raw values), or exclude the field with @Field(storage: .none)"
  )
  @_disfavoredOverload
  public mutating func field<T>(_ place: Int, _ type: T.Type = T.self) throws -> T { try Self.absent() }

  /// Produces a compile-time error with a suggested fix for a property whose type cannot be archived.
  @available(
    *, unavailable,
    message:
      "archives cannot store values of this type; declare the type with @Model, make it Codable (or Archivable, for an enum with raw values), or exclude the field with @Field(storage: .none)"
  )
  @_disfavoredOverload
  public mutating func field<T>(
    _ place: Int, default makeDefault: @autoclosure () throws -> T, unknown: UnknownCasePolicy = .fail
  ) throws -> T { try makeDefault() }

  /// Produces a compile-time error with a suggested fix for a property whose type cannot be archived.
  @available(
    *, unavailable,
    message:
      "archives cannot store values of this type; declare the type with @Model, make it Codable (or Archivable, for an enum with raw values), or exclude the field with @Field(storage: .none)"
  )
  @_disfavoredOverload
  public mutating func excludedField<T>(
    _ place: Int, default makeDefault: @autoclosure () throws -> T
  ) throws -> T { try makeDefault() }

  /// Produces a compile-time error with a suggested fix for a dictionary that cannot be archived.
  @available(
    *, unavailable,
    message:
      "archives cannot store this dictionary; make its key and value types both Archivable or both Codable, as in enum Key: String, Archivable, Codable"
  )
  @_disfavoredOverload
  public mutating func field<Key, Value>(
    _ place: Int, _ type: [Key: Value].Type = [Key: Value].self
  ) throws -> [Key: Value] { try Self.absent() }

  /// Produces a compile-time error with a suggested fix for a dictionary that cannot be archived.
  @available(
    *, unavailable,
    message:
      "archives cannot store this dictionary; make its key and value types both Archivable or both Codable, as in enum Key: String, Archivable, Codable"
  )
  @_disfavoredOverload
  public mutating func field<Key, Value>(
    _ place: Int, default makeDefault: @autoclosure () throws -> [Key: Value], unknown: UnknownCasePolicy = .fail
  ) throws -> [Key: Value] { try makeDefault() }

  /// Produces a compile-time error with a suggested fix for a dictionary that cannot be archived.
  @available(
    *, unavailable,
    message:
      "archives cannot store this dictionary; make its key and value types both Archivable or both Codable, as in enum Key: String, Archivable, Codable"
  )
  @_disfavoredOverload
  public mutating func field<Key, Value>(
    _ place: Int, _ type: [Key: Value]?.Type = [Key: Value]?.self
  ) throws -> [Key: Value]? { nil }

  /// Returns the keys that the model does not declare, with their values.
  public func readUnknownFields() -> UnknownFields { unknownFields }

  @usableFromInline
  var readsExcludedFields: Bool { context.includesExcluded }

  /// Handles an error thrown while reading a field. If the field refers to an object that is not decoded yet, returns a placeholder;
  /// otherwise rethrows the error.
  @usableFromInline
  @inline(never)
  mutating func recovered<T>(_ place: Int, _ error: any Error, _ makeDefault: () throws -> T) throws -> T {
    if isObjectFrame, let empty: T = try placeholder(place, error, makeDefault) { return empty }
    fail(place)
    throw error
  }

  @usableFromInline
  mutating func fail(_ place: Int) { failedField = place + Int(placeOffset) }

  /// Reads a field from an upgraded record or from a JSON object.
  @inlinable
  @inline(never)
  mutating func slot<T: Archivable>(_ place: Int, _ makeDefault: () throws -> T) throws -> T {
    let token = jsonPlace(ofField: place)
    if token >= 0 {
      do { return try T.decode(fromJSON: jsonElement(at: token), in: context) } catch {
        throw jsonError(error, at: token)
      }
    }
    guard let value = slotValue(place) else { return try madeOrDefault(place, makeDefault) }
    return try T.decode(from: value, in: context)
  }

  /// Returns the value of a field that the record does not contain. This is a separate function, because it needs the
  /// run-time metadata of the optional `T?`, and requesting the metadata costs more than reading most values.
  @inlinable
  @inline(never)
  mutating func madeOrDefault<T>(_ place: Int, _ makeDefault: () throws -> T) throws -> T {
    try made(place) ?? makeDefault()
  }

  /// Reads a field of a `Codable` type from an upgraded record or from a JSON object.
  @usableFromInline
  mutating func codableSlot<T: Decodable>(_ place: Int, _ makeDefault: () throws -> T) throws -> T {
    let token = jsonPlace(ofField: place)
    if token >= 0 {
      do { return try ValueCoding.decode(T.self, from: jsonElement(at: token).value(), in: context) } catch {
        throw jsonError(error, at: token)
      }
    }
    guard let value = slotValue(place) else { return try made(place) ?? makeDefault() }
    return try ValueCoding.decode(T.self, from: value, in: context)
  }

  /// Reads a field again as an untyped value, after decoding it as its own type has failed. Returns `nil` if the field was decoded in
  /// advance, because no untyped value exists then.
  @usableFromInline
  @inline(never)
  mutating func wholeValue(_ place: Int, from start: ReadingPlace) throws -> ArchiveValue? {
    if isPositional {
      goBack(to: start)
      return try readValue()
    }
    let token = jsonPlace(ofField: place)
    return token >= 0 ? try jsonElement(at: token).value() : slotValue(place)
  }

  /// Returns a copy of a field's value without the elements and entries whose enum cases are unknown to this program.
  @usableFromInline
  @inline(never)
  func knownCases(_ value: ArchiveValue, _ type: Any.Type) throws -> ArchiveValue {
    try TypeShape.withoutUnknownCases(value, type) { try ValueCoding.check($1, as: $0, in: context) }
  }

  // Mutating, although it changes nothing, because the compiler would copy the whole reader to call a nonmutating method.
  @usableFromInline
  mutating func slotValue(_ place: Int) -> ArchiveValue? { values?[place + Int(placeOffset)] }

  /// Returns the value of a field that was decoded in advance, before the other fields of the model; `nil` if the field
  /// was not decoded yet.
  @usableFromInline
  func made<T>(_ place: Int) throws -> T? {
    guard let made = values?.made(place + Int(placeOffset)) else { return nil }
    guard let made = made as? T else {
      throw ArchiveError(
        .invalidSchema,
        "the schema declares a different type for the field than init(fields:) reads; use the same type in both")
    }
    return made
  }

  /// Returns nil, as the value of an absent key, if the type is optional. Throws `missingValue` for any other type.
  @usableFromInline
  static func absent<T>() throws -> T {
    if let type = T.self as? any OptionalType.Type, let none = type.absentValue as? T { return none }
    throw ArchiveError(
      .missingValue,
      "the key is missing; give the field a default, add a migration step that sets the key, or, for JSON, change the "
        + "field's JSON path"
    )
  }
}
