extension Model {
  /// Runs the rules of the objects inside and then those of this one, which may replace values.
  ///
  /// Needed only for objects that were made or changed by hand: whatever is decoded or merged is valid. Objects inside
  /// are checked and not changed.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalid`; ``ArchiveError/failures`` holds each rule that failed. The
  ///   object is then as it was. `invalidSchema` where a rule names a key that the model does not declare.
  /// - Complexity: linear in the size of the object where objects inside have rules.
  public mutating func validate() throws {
    try checkInside()
    var result = self
    try result.validateItself(keepsReplacements: true)
    self = result
  }

  /// The object with the values that its rules replaced; a class model gives a copy.
  ///
  /// - Throws: as ``validate()``.
  public func validated() throws -> Self {
    try checkInside()
    var result = try copy()
    try result.validateItself(keepsReplacements: true)
    return result
  }

  /// Whether no rule fails. Nothing is replaced.
  public var isValid: Bool {
    do {
      try checkInside()
      try checkItself()
      return true
    } catch { return false }
  }

  // MARK: Inside

  mutating func validateItself(keepsReplacements: Bool) throws {
    let context = DecodingContext(source: .update, keepsReplacements: keepsReplacements)
    try Self.run(Self.schema.validationHook, &self, context)
  }

  func checkItself() throws {
    guard Self.schema.validationHook != nil else { return }
    var copy = self
    try copy.validateItself(keepsReplacements: false)
  }

  /// Checks the objects inside, by writing them and throwing the bytes away: writing passes each of them, and knows
  /// the way to it.
  func checkInside() throws {
    guard Self.schema.holdsValidation else { return }
    var writer = ArchiveWriter(includesExcluded: true, checksModels: true, minimumCapacity: 512)
    if Self.schema.holdsObjects {
      try checkObjects()
      writer.objects = .neighbours(ObjectNeighbours())
    }
    try writer.beginRecord(Self.schema)
    do { try encodeFields(to: &writer) } catch { throw Self.located(error, writer.failedField) }
  }

  /// Checks the other objects that can be reached from this one, each once, whatever refers to it.
  private func checkObjects() throws {
    let order = try ObjectOrder(of: self, first: 0, limits: ArchiveLimits())
    for object in order.objects where !(Self.schema.isObject && object as AnyObject === self as AnyObject) {
      do { try object.checkItself() } catch {
        throw ObjectPath.find(object, from: self).reversed().reduce(ArchiveError.wrap(error)) {
          ArchiveError.at($1, $0)
        }
      }
    }
  }
}
