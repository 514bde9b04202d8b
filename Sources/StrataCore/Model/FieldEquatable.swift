// Equality, hash and description made of fields: what a model opts into that has transitory ones. Where all properties
// count, what the compiler makes is faster.

/// A model whose equality is that of its permanent fields.
///
///     extension Issue: FieldEquatable {}
public protocol FieldEquatable: VersionedModel, Equatable {}

/// A model whose equality and hash are those of its permanent fields.
public protocol FieldHashable: FieldEquatable, Hashable {}

extension FieldEquatable {
  /// Whether every permanent field is equal: see ``VersionedModel/isEqual(to:)``.
  public static func == (left: Self, right: Self) -> Bool { left.isEqual(to: right) }
}

extension FieldHashable {
  /// Combines the permanent fields in the order of the schema.
  public func hash(into hasher: inout Hasher) { hashFields(into: &hasher) }
}

extension VersionedModel {
  /// Whether another model has the same type and equal values in every permanent field; those of objects inside count
  /// likewise. Transitory fields count nowhere. An object is equal to itself.
  ///
  /// A floating-point number that is not a number is equal to nothing, nor is an object that cannot be encoded.
  ///
  /// - Complexity: linear in the size of both.
  public func isEqual(to other: some VersionedModel) -> Bool {
    guard let other = other as? Self, type(of: other) == type(of: self) else { return false }
    if Self.schema.isObject, identity == other.identity { return true }
    // What cannot be encoded is equal to nothing, as documented.
    if Self.schema.holdsObjects {
      return (try? ObjectComparison.areEqual(dynamicModel, other.dynamicModel)) ?? false
    }
    guard let own = try? permanentValues(), let others = try? other.permanentValues() else { return false }
    return own.elementsEqual(others) { $0.key == $1.key && $0.value == $1.value }
  }

  /// Combines the values of the permanent fields in the order of the schema. Equal models have equal hashes.
  ///
  /// - Complexity: linear in the size of the object.
  public func hashFields(into hasher: inout Hasher) {
    // What cannot be encoded is equal to nothing else, so any hash is right.
    for (key, value) in (try? dynamicModel.permanentValues(ReferencedObjects())) ?? [] {
      // The case of an enum, which is no field.
      if Self.schema.isEnumeration { hasher.combine(key) }
      // Objects that it refers to do not count: the way to them might lead back here.
      hasher.combine(Self.schema.holdsObjects ? value.mapReferences { _ in .null } : value)
    }
  }

  /// The values of the permanent fields in the order of the schema. Of an enum, the associated values under the name of
  /// their case.
  ///
  /// - Parameter referenced: takes the objects that this one refers to; else they stand in place.
  func permanentValues(_ referenced: ReferencedObjects? = nil) throws -> [(key: String, value: ArchiveValue)] {
    let schema = Self.schema
    let record = try record(includingExcluded: true, role: referenced.map { .referenced($0) })
    let inside = schema.inside
    let permanent =
      schema.isEnumeration
      ? record.fields.map { (key: $0.key, value: $0.value) }
      : schema.fields.filter { $0.storage == .permanent }.map { (key: $0.key, value: record[$0.key] ?? .null) }
    guard inside.hasTransitoryFields else { return permanent }
    return try permanent.map { ($0.key, try inside.permanent($0.value)) }
  }
}

extension SchemaCatalog {
  /// A value without the transitory fields of the objects inside.
  func permanent(_ value: ArchiveValue) throws -> ArchiveValue {
    var value = value
    if case .record(var record) = value {
      for field in self[record.typeName]?.fields ?? [] where field.storage == .transitory { record[field.key] = nil }
      value = .record(record)
    }
    switch try value.mapInside(permanent) {
    // Members and keys are in the order of their bytes, to which the fields taken out contributed.
    case .set(let members): return .set(try CanonicalOrder.sorted(members) { try $0.write($1) })
    case .map(let entries): return .map(try CanonicalOrder.sorted(entries) { try $0.write($1.key) })
    case let value: return value
    }
  }
}
