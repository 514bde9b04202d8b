extension VersionedModel {
  /// Runs the rules of this object and checks the rules of nested objects. The rules may replace values of this object,
  /// but not values of nested objects.
  ///
  /// Call this method only for objects that were created or changed in code, because decoded and merged objects have
  /// already been validated.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalid` if a rule fails. The object is then unchanged, and
  ///   ``ArchiveError/failures`` lists each failed rule. The code is `invalidSchema` if a rule names a key that the
  ///   model does not declare.
  /// - Complexity: linear in the size of the object if nested objects have rules.
  public mutating func validate() throws {
    if isOfSubclass {
      var object = dynamicModel
      return try object.validate()
    }
    var search = FailureSearch()
    try search.visitInside(self)
    var failures: [ValidationFailure] = []
    var result = self
    do { try result.validateItself(keepsReplacements: search.failures.isEmpty) } catch let error as ArchiveError
      where error.code == .invalid
    { failures = error.failures }
    failures += search.failures
    guard failures.isEmpty else { throw ArchiveError.invalid(failures) }
    self = result
  }

  /// Returns a validated copy. Rules may have replaced values in the copy. For a class, the copy is a new object.
  ///
  /// - Throws: the same errors as ``validate()``.
  public func validated() throws -> Self {
    var result = try copy()
    try result.validate()
    return result
  }

  /// Whether this object and all nested objects satisfy their rules. No values are replaced.
  ///
  /// The result is also false if the rules cannot run, because objects are nested more deeply than archives allow or
  /// because a value cannot be encoded. To get the reason as an error, call ``validated()``.
  public var isValid: Bool {
    if isOfSubclass { return dynamicModel.isValid }
    var search = FailureSearch()
    do {
      try checkItself()
      try search.visitInside(self)
      return search.failures.isEmpty
    } catch { return false }
  }

  // MARK: Validating one object

  func checkItself() throws {
    guard Self.schema.validationHook != nil else { return }
    var copy = self
    try copy.validateItself(keepsReplacements: false)
  }

  private mutating func validateItself(keepsReplacements: Bool) throws {
    let context = DecodingContext(source: .update, finishing: .atOnce(keepsReplacements: keepsReplacements))
    try Self.run(Self.schema.validationHook, &self, context)
  }
}
