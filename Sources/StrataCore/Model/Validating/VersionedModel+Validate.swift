extension VersionedModel {
  /// Runs the rules of this object, which may replace values, and checks the rules of the objects inside without changing them.
  ///
  /// Needed only for objects that were created or changed in code: decoded and merged objects are valid.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalid`; ``ArchiveError/failures`` lists each rule that failed. The
  ///   object is then unchanged. `invalidSchema` if a rule names a key that the model does not declare.
  /// - Complexity: linear in the size of the object if objects inside have rules.
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

  /// Returns the object with the values that its rules replaced; for a class model a copy.
  ///
  /// - Throws: the same errors as ``validate()``.
  public func validated() throws -> Self {
    var result = try copy()
    try result.validate()
    return result
  }

  /// Whether no rule fails in this object and the objects inside. Nothing is replaced.
  ///
  /// Also false if the rules cannot run: objects are nested deeper than the limit of archives, or a value cannot be
  /// encoded. ``validated()`` throws the reason.
  public var isValid: Bool {
    if isOfSubclass { return dynamicModel.isValid }
    var search = FailureSearch()
    do {
      try checkItself()
      try search.visitInside(self)
      return search.failures.isEmpty
    } catch { return false }
  }

  // MARK: Inside

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
