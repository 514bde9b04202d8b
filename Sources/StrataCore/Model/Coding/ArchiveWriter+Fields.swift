extension ArchiveWriter {
  /// Writes the value of the field with this index in the schema.
  @inlinable
  public mutating func field<T: Archivable>(_ place: Int, _ value: T) throws {
    do { try value.write(to: &self) } catch {
      fail(place)
      throw error
    }
  }

  /// Writes a field of a `Codable` type.
  @_disfavoredOverload
  public mutating func field<T: Encodable>(_ place: Int, _ value: T) throws {
    do { try write(codable: value) } catch {
      fail(place)
      throw error
    }
  }

  /// Writes a field that is excluded from archives. The field is skipped unless the writer includes excluded fields, as for merges and
  /// JSON.
  @inlinable
  public mutating func excludedField<T: Archivable>(_ place: Int, _ value: T) throws {
    if writesExcludedFields { try field(place, value) }
  }

  /// Writes an excluded field of a `Codable` type. The field is skipped unless the writer includes excluded fields, as for merges and JSON.
  @_disfavoredOverload
  public mutating func excludedField<T: Encodable>(_ place: Int, _ value: T) throws {
    if writesExcludedFields { try field(place, value) }
  }

  /// Produces a compile-time error with a suggested fix for a property whose type cannot be archived.
  @available(
    *, unavailable,
    message:
      "archives cannot store values of this type; declare the type with @Model, make it Codable (or Archivable, for an enum with raw values), or exclude the field with @Field(storage: .none)"
  )
  @_disfavoredOverload
  public mutating func field<T>(_ place: Int, _ value: T) throws { fail(place) }

  /// Produces a compile-time error with a suggested fix for a property whose type cannot be archived.
  @available(
    *, unavailable,
    message:
      "archives cannot store values of this type; declare the type with @Model, make it Codable (or Archivable, for an enum with raw values), or exclude the field with @Field(storage: .none)"
  )
  @_disfavoredOverload
  public mutating func excludedField<T>(_ place: Int, _ value: T) throws { fail(place) }

  /// Produces a compile-time error with a suggested fix for a dictionary that cannot be archived.
  @available(
    *, unavailable,
    message:
      "archives cannot store this dictionary; make its key and value types both Archivable or both Codable, as in enum Key: String, Archivable, Codable"
  )
  @_disfavoredOverload
  public mutating func field<Key, Value>(_ place: Int, _ value: [Key: Value]) throws { fail(place) }

  /// Produces a compile-time error with a suggested fix for a dictionary that cannot be archived.
  @available(
    *, unavailable,
    message:
      "archives cannot store this dictionary; make its key and value types both Archivable or both Codable, as in enum Key: String, Archivable, Codable"
  )
  @_disfavoredOverload
  public mutating func field<Key, Value>(_ place: Int, _ value: [Key: Value]?) throws { fail(place) }

  @usableFromInline
  var writesExcludedFields: Bool { includesExcluded }

  @usableFromInline
  mutating func fail(_ place: Int) { failedField = place + placeOffset }
}
