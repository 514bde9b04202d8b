// Equality and hashing by fields, for models with transitory fields. If all properties count, the compiler's synthesis
// is faster.

/// A model that is compared by its permanent fields.
///
///     extension Issue: FieldEquatable {}
public protocol FieldEquatable: VersionedModel, Equatable {}

/// A model that is compared and hashed by its permanent fields.
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
  /// Whether another model has the same type and equal values in every permanent field. Objects inside are compared by
  /// their permanent fields too, and transitory fields are ignored everywhere. An object is equal to itself.
  ///
  /// NaN equals NaN of the same kind, as in ``ArchiveValue``. A model that cannot be encoded equals no other model.
  ///
  /// - Complexity: linear in the size of both.
  public func isEqual(to other: some VersionedModel) -> Bool {
    guard let other = other as? Self, type(of: other) == type(of: self) else { return false }
    if Self.schema.isObject, identity == other.identity { return true }
    // A model that cannot be encoded equals no other, as documented.
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
    // A model that cannot be encoded equals no other, so any hash is valid.
    for (key, value) in (try? dynamicModel.permanentValues(ReferencedObjects())) ?? [] {
      // The case of an enum, which is not a field.
      if Self.schema.isEnumeration { hasher.combine(key) }
      // Referenced objects are left out, because they may refer back to this one.
      hasher.combine(Self.schema.holdsObjects ? value.mapReferences { _ in .null } : value)
    }
  }

  /// The values of the permanent fields in the order of the schema. For an enum, the associated values under the name
  /// of its case.
  ///
  /// - Parameter referenced: collects the objects that this one refers to. If `nil`, they are written in place.
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
  /// Returns the value without the transitory fields of its records, at every depth.
  func permanent(_ value: ArchiveValue) throws -> ArchiveValue {
    var value = value
    if case .record(var record) = value {
      for field in self[record.typeName]?.fields ?? [] where field.storage == .transitory { record[field.key] = nil }
      value = .record(record)
    }
    switch try value.mapInside(permanent) {
    // Members and keys are sorted by their encoded bytes, which included the removed fields.
    case .set(let members): return .set(try CanonicalOrder.sorted(members) { try $0.write($1) })
    case .map(let entries): return .map(try CanonicalOrder.sorted(entries) { try $0.write($1.key) })
    case let value: return value
    }
  }
}
