// These protocols compare and hash a model by its permanent fields only, which is useful if it also has transitory fields. To compare all
// properties, use the compiler's synthesized conformance, which is faster.

/// A model that is compared by its permanent fields only.
///
///     extension Issue: FieldEquatable {}
public protocol FieldEquatable: VersionedModel, Equatable {}

/// A model that is compared and hashed by its permanent fields only.
public protocol FieldHashable: FieldEquatable, Hashable {}

extension FieldEquatable {
  /// Whether all permanent fields are equal when compared with ``VersionedModel/isEqual(to:)``.
  public static func == (left: Self, right: Self) -> Bool { left.isEqual(to: right) }
}

extension FieldHashable {
  /// Hashes the permanent fields in the order of the schema, as ``VersionedModel/hashFields(into:)`` does.
  public func hash(into hasher: inout Hasher) { hashFields(into: &hasher) }
}

extension VersionedModel {
  /// Returns whether another model has the same type and equal values in all permanent fields. Nested models are compared
  /// in the same way, and transitory fields are ignored at every depth. An object is always equal to itself.
  ///
  /// Two NaN values of the same kind are equal, as in ``ArchiveValue``. A model that cannot be encoded is not equal to
  /// any other model.
  ///
  /// - Complexity: linear in the size of both models.
  public func isEqual(to other: some VersionedModel) -> Bool {
    guard let other = other as? Self, type(of: other) == type(of: self) else { return false }
    if Self.schema.isObject, identity == other.identity { return true }
    // Encoding errors are ignored: as documented, a model that cannot be encoded is not equal to any other model.
    if Self.schema.holdsObjects {
      return (try? ObjectComparison.areEqual(dynamicModel, other.dynamicModel)) ?? false
    }
    guard let own = try? permanentValues(), let others = try? other.permanentValues() else { return false }
    return own.elementsEqual(others) { $0.key == $1.key && $0.value == $1.value }
  }

  /// Hashes the values of the permanent fields in the order of the schema. Equal models have equal hashes.
  ///
  /// - Complexity: linear in the size of the model.
  public func hashFields(into hasher: inout Hasher) {
    // A model that cannot be encoded is not equal to any other model, so any hash is valid.
    for (key, value) in (try? dynamicModel.permanentValues(ReferencedObjects())) ?? [] {
      // In an enum, the key is the name of the case. Two cases with the same associated values are different, so the name is hashed, too.
      if Self.schema.isEnumeration { hasher.combine(key) }
      // Referenced objects are not hashed, because they may refer back to this object.
      hasher.combine(Self.schema.holdsObjects ? value.mapReferences { _ in .null } : value)
    }
  }

  /// Returns the values of the permanent fields in the order of the schema. For an enum, returns the associated values
  /// with the name of the case as the key.
  ///
  /// - Parameter referenced: collects the objects that this model refers to. If `nil`, the values contain these objects themselves instead
  ///   of references.
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
  /// Returns a copy of the value without transitory fields at any depth.
  func permanent(_ value: ArchiveValue) throws -> ArchiveValue {
    var value = value
    if case .record(var record) = value {
      for field in self[record.typeName]?.fields ?? [] where field.storage == .transitory { record[field.key] = nil }
      value = .record(record)
    }
    switch try value.mapInside(permanent) {
    // Sets and maps are sorted by the encoded bytes of their elements. Removing fields changes these bytes, so the elements are sorted
    // again.
    case .set(let members): return .set(try CanonicalOrder.sorted(members) { try $0.write($1) })
    case .map(let entries): return .map(try CanonicalOrder.sorted(entries) { try $0.write($1.key) })
    case let value: return value
    }
  }
}
