public import Foundation

extension VersionedModel {
  /// Makes the model of a JSON object: each field is read at its JSON path, dates in ISO 8601, URLs and UUIDs as text.
  ///
  /// A path that leads nowhere counts as absent: the field takes its default. Numbers are exact, `true` is not 1, and
  /// nothing is converted between text and number.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON` where the text is no JSON, `typeMismatch` where a value is
  ///   not what the field holds, and `missingValue` where a field without a default is absent;
  ///   `invalid` where it breaks a rule of the model (see ``Validating``), unless `validates` is false.
  ///   A duplicate of a key that a field reads is `invalidJSON`. Errors carry the path in the model and the place
  ///   in the text.
  public init(fromJSON json: Data, validates: Bool = true) throws {
    self = try JSONReader().read(Self.self, from: json, validates: validates)
  }

  /// Makes the model of a JSON object that was read before.
  public init(fromJSON json: ArchiveValue, validates: Bool = true) throws {
    let context = DecodingContext(source: .json, finishing: .gathering(validates: validates))
    self = try context.checked { try Self.make(fromJSON: json, in: context) }
  }

  /// The model as a JSON object, as ``JSONWriter`` writes it.
  ///
  /// - Throws: ``ArchiveError`` as ``JSONWriter``, such as `notEncodable` for a number that is not finite.
  public func jsonData(isPretty: Bool = false, sortsKeys: Bool = false) throws -> Data {
    try JSONWriter(isPretty: isPretty, sortsKeys: sortsKeys).write(self)
  }

  package static func make(fromJSON json: ArchiveValue, in context: DecodingContext) throws -> Self {
    let schema = schema
    if schema.isEnumeration { return try makeCase(of: json, in: context) }
    guard case .object(let object) = json, let hierarchy = try schema.jsonHierarchy() else {
      return try make(ofOwn: json, in: context)
    }
    let (type, rest) = try inType {
      guard let found = try hierarchy.tagged(object, in: context.json) else {
        throw hierarchy.discriminator.absent("a class")
      }
      return found
    }
    guard let made = try type.make(ofOwn: .object(rest), in: context) as? Self else {
      throw ArchiveError.mismatch(expected: "an object of \(schema.name)", found: "an object of \(type.schema.name)")
    }
    return made
  }

  private static func inType<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch { throw ArchiveError.wrap(error).inType(schema.name) }
  }

  /// Makes an object of this class itself.
  private static func make(ofOwn json: ArchiveValue, in context: DecodingContext) throws -> Self {
    let schema = schema
    try schema.check()
    let plan = context.json.plan(of: schema)
    let slots = try plan.read(json, in: context)
    guard context.collectsErrors else { return try make(of: slots, plan, in: context) }
    // Each field is made first, to find all errors, and then the model.
    if let error = schema.errors(of: slots, plan, in: context) { throw error }
    // What was found to be right is made once more, but not level by level again.
    context.collectsErrors = false
    defer { context.collectsErrors = true }
    return try make(of: slots, plan, in: context)
  }

  private static func make(of slots: JSONSlots, _ plan: JSONPlan, in context: DecodingContext) throws -> Self {
    var reader = ArchiveReader(slots.fieldValues, unknownFields: slots.unknownFields, context: context)
    var model: Self
    do { model = try Self(fields: &reader) } catch {
      let place = reader.failedField
      throw plan.locate(error, place, input: slots.values.indices.contains(place) ? slots.values[place] : nil)
    }
    if schema.finishesModels { try finish(&model, in: context) }
    return model
  }
}
