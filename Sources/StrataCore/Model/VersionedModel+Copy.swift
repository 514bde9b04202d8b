extension VersionedModel {
  /// Returns a copy: for a struct or an enum the value itself, for a class a new object with the same field values.
  ///
  /// Neither ``PostDecoding/didDecode(from:)`` nor validation runs. In the copy of an object, properties that are not
  /// fields have their initial values.
  ///
  /// - Throws: ``ArchiveError`` if a class model holds a value that cannot be encoded.
  public func copy() throws -> Self {
    guard Self.self is AnyClass else { return self }
    func copied<M: VersionedModel>(_ object: M) throws -> any VersionedModel {
      let referenced = ReferencedObjects()
      let context = DecodingContext(source: .update, includesExcluded: true, finishing: .never)
      return try M.decode(shallow: object.shallowRecord(referenced), referenced, in: context)
    }
    guard let copy = try copied(dynamicModel) as? Self else {
      throw ArchiveError(.invalidSchema, "a class created an object of another class", typeName: Self.schema.name)
    }
    return copy
  }

  /// Returns a copy with new values under some keys. Hooks and validation run on the copy.
  ///
  /// In a struct with `@Model`, properties that are not fields keep their values. In other types they have their
  /// initial values.
  ///
  ///     let renamed = try issue.copy(updating: ["title": "Crash on launch"])
  ///
  /// - Parameters:
  ///   - values: values in the types of the fields, as ``init(dictionary:validates:)`` accepts them. Constants can be
  ///     replaced, too. For an enum, one case with all its associated values.
  ///   - validates: whether the copy must keep the model's rules (see ``Validating``).
  /// - Throws: the same errors as ``init(dictionary:validates:)``.
  public func copy(updating values: [String: ArchiveValue], validates: Bool = true) throws -> Self {
    if isOfSubclass, let copy = try dynamicModel.copy(updating: values, validates: validates) as? Self { return copy }
    let schema = Self.schema
    if schema.isEnumeration {
      // An enum's only key is its case, with all associated values. Without it, the copy shares the objects inside.
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
      // Objects among the new values are finished here. Objects that are kept are not finished again.
      do { record[field.key] = try ValueCoding.typed(value, as: field.type, referenced, in: context) } catch {
        throw ArchiveError.at(.key(field.key), error).inType(schema.name)
      }
    }
    let unfinished = DecodingContext(source: .update, includesExcluded: true, finishing: .never)
    var made = try Self.decode(shallow: record, referenced, in: unfinished)
    if !(Self.self is AnyClass) {
      // A value type keeps its properties that are not fields.
      var result = self
      try result.adoptFields(of: made)
      made = result
    }
    if schema.finishesModels { try Self.finish(&made, in: context) }
    try context.checkFailures(of: made)
    return made
  }

  /// Returns a copy with another value for one property. Hooks and validation run on the copy.
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
    // The closure may have changed objects inside.
    var search = FailureSearch()
    if validates { try search.visitInside(result) }
    let failures = (context.firstFailure?.failures ?? []) + search.failures
    guard failures.isEmpty else { throw ArchiveError.invalid(failures) }
    return result
  }
}
