extension VersionedModel {
  /// A copy: of a struct or an enum the value itself, of a class a new object with the same values in its fields.
  ///
  /// Neither ``PostDecoding/didDecode(from:)`` nor validation runs. In the copy of an object, properties that are no
  /// fields have their initial values.
  ///
  /// - Throws: ``ArchiveError`` where a class model holds a value that cannot be encoded.
  public func copy() throws -> Self {
    guard Self.self is AnyClass else { return self }
    func copied<M: VersionedModel>(_ object: M) throws -> any VersionedModel {
      let referenced = ReferencedObjects()
      let context = DecodingContext(source: .update, includesExcluded: true, finishing: .never)
      return try M.make(ofShallow: object.shallowRecord(referenced), referenced, in: context)
    }
    guard let copy = try copied(dynamicModel) as? Self else {
      throw ArchiveError(.invalidSchema, "a class made an object of another class", typeName: Self.schema.name)
    }
    return copy
  }

  /// A copy with other values under some keys, finished and validated.
  ///
  /// Properties that are no fields stay in a struct with `@Model`; else they have their initial values.
  ///
  ///     let renamed = try issue.copy(updating: ["title": "Crash on launch"])
  ///
  /// - Parameters:
  ///   - values: values in the types of the fields, as ``init(dictionary:validates:)`` takes them. Constants can have
  ///     other values in the copy, too. Of an enum, a case with all its associated values.
  ///   - validates: whether the copy must keep the model's rules (see ``Validating``).
  /// - Throws: as ``init(dictionary:validates:)``.
  public func copy(updating values: [String: ArchiveValue], validates: Bool = true) throws -> Self {
    if isOfSubclass, let copy = try dynamicModel.copy(updating: values, validates: validates) as? Self { return copy }
    let schema = Self.schema
    if schema.isEnumeration {
      // The only key is the case, which has all the values. Without it, objects inside stay the same ones.
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
      // Objects among the new values are finished here, and those that stay are not finished again.
      do { record[field.key] = try ValueCoding.typed(value, as: field.type, referenced, in: context) } catch {
        throw ArchiveError.at(.key(field.key), error).inType(schema.name)
      }
    }
    let unfinished = DecodingContext(source: .update, includesExcluded: true, finishing: .never)
    var made = try Self.make(ofShallow: record, referenced, in: unfinished)
    if !(Self.self is AnyClass) {
      // A value keeps what is no field.
      var result = self
      try result.adoptFields(of: made)
      made = result
    }
    if schema.finishesModels { try Self.finish(&made, in: context) }
    try context.checkFailures(of: made)
    return made
  }

  /// A copy with another value for one property, finished and validated.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalid` where the copy breaks a rule, unless `validates` is false.
  public func copy<V>(updating path: WritableKeyPath<Self, V>, to value: V, validates: Bool = true) throws -> Self {
    try copy(validates: validates) { $0[keyPath: path] = value }
  }

  /// A copy that was changed, finished and validated.
  ///
  ///     let closed = try issue.copy { $0.state = .closed }
  ///
  /// - Throws: ``ArchiveError`` with the code `invalid` where the copy breaks a rule, unless `validates` is false, and
  ///   what the change throws.
  public func copy(validates: Bool = true, _ change: (inout Self) throws -> Void) throws -> Self {
    var result = try copy()
    try change(&result)
    let context = DecodingContext(source: .update, finishing: .gathering(validates: validates))
    if Self.schema.finishesModels { try Self.finish(&result, in: context) }
    // Objects inside were changed by hand.
    var search = FailureSearch()
    if validates { try search.visitInside(result) }
    let failures = (context.firstFailure?.failures ?? []) + search.failures
    guard failures.isEmpty else { throw ArchiveError.invalid(failures) }
    return result
  }
}
