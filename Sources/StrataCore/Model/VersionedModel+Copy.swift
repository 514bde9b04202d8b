extension VersionedModel {
  /// Returns a copy. The copy of a struct or an enum is the value itself. The copy of a class instance is a new object
  /// with the same field values.
  ///
  /// Neither ``PostDecoding/didDecode(from:)`` nor validation runs. In the copy of an object, properties that are not
  /// fields have their initial values.
  ///
  /// - Throws: ``ArchiveError`` if an object contains a value that cannot be encoded.
  public func copy() throws -> Self {
    guard Self.self is AnyClass else { return self }
    func copied<M: VersionedModel>(_ object: M) throws -> any VersionedModel {
      let referenced = ReferencedObjects()
      let context = DecodingContext(source: .update, includesExcluded: true, finishing: .never)
      return try M.decode(shallow: object.shallowRecord(referenced), referenced, in: context)
    }
    guard let copy = try copied(dynamicModel) as? Self else {
      throw ArchiveError(
        .invalidSchema, "copying the object created an object of a different class", typeName: Self.schema.name)
    }
    return copy
  }

  /// Returns a copy in which the given fields have new values. Hooks and validation run on the copy.
  ///
  /// In a struct with `@Model`, properties that are not fields keep their values. In all other types, such properties
  /// have their initial values.
  ///
  ///     let renamed = try issue.copy(updating: ["title": "Crash on launch"])
  ///
  /// - Parameters:
  ///   - values: the new values by key, in the form that ``init(dictionary:validates:)`` accepts. Constants can also be replaced. For an
  ///     enum, the dictionary contains a single case with all its associated values.
  ///   - validates: whether the copy must satisfy the model's rules (see ``Validating``).
  /// - Throws: the same errors as ``init(dictionary:validates:)``.
  public func copy(updating values: [String: ArchiveValue], validates: Bool = true) throws -> Self {
    if isOfSubclass, let copy = try dynamicModel.copy(updating: values, validates: validates) as? Self { return copy }
    let schema = Self.schema
    if schema.isEnumeration {
      // The dictionary of an enum has the name of the case as its only key. If `values` is empty, the copy keeps the case and refers to the
      // same nested objects.
      return values.isEmpty
        ? try copy(validates: validates) { _ in } : try Self(dictionary: values, validates: validates)
    }
    let referenced = ReferencedObjects()
    try schema.checkKeys(values.keys)
    let context = DecodingContext(
      source: .update, includesExcluded: true, finishing: .gathering(validates: validates))
    var record = try shallowRecord(referenced)
    for field in schema.fields {
      guard let value = values[field.key] else { continue }
      // Hooks and validation run on the models in new values. The models in unchanged values are not validated again.
      do { record[field.key] = try ValueCoding.typed(value, as: field.type, referenced, in: context) } catch {
        throw ArchiveError.at(.key(field.key), error).inType(schema.name)
      }
    }
    let unfinished = DecodingContext(source: .update, includesExcluded: true, finishing: .never)
    var made = try Self.decode(shallow: record, referenced, in: unfinished)
    if !(Self.self is AnyClass) {
      // In a struct, properties that are not fields must keep their values, but `made` contains their initial values. The fields of `made`
      // are therefore copied into a copy of the original.
      var result = self
      try result.adoptFields(of: made)
      made = result
    }
    if schema.finishesModels { try Self.finish(&made, in: context) }
    try context.checkFailures(of: made)
    return made
  }

  /// Returns a copy in which one property has a new value. Hooks and validation run on the copy.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalid` if the copy breaks a rule, unless `validates` is false.
  public func copy<V>(updating path: WritableKeyPath<Self, V>, to value: V, validates: Bool = true) throws -> Self {
    try copy(validates: validates) { $0[keyPath: path] = value }
  }

  /// Returns a copy that a closure has changed. Hooks and validation run on the copy.
  ///
  ///     let closed = try issue.copy { $0.state = .closed }
  ///
  /// - Throws: ``ArchiveError`` with the code `invalid` if the copy breaks a rule, unless `validates` is false, and any
  ///   error that `change` throws.
  public func copy(validates: Bool = true, _ change: (inout Self) throws -> Void) throws -> Self {
    var result = try copy()
    try change(&result)
    let context = DecodingContext(source: .update, finishing: .gathering(validates: validates))
    if Self.schema.finishesModels { try Self.finish(&result, in: context) }
    // Nested models are also validated, because the closure may have changed them.
    var search = FailureSearch()
    if validates { try search.visitInside(result) }
    let failures = (context.firstFailure?.failures ?? []) + search.failures
    guard failures.isEmpty else { throw ArchiveError.invalid(failures) }
    return result
  }
}
