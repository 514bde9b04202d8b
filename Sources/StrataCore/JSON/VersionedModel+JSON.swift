public import Foundation

extension VersionedModel {
  /// Creates the model from the text of a JSON object. Each field is read at its JSON path. Dates are strings in ISO 8601, and URLs and
  /// UUIDs are also strings.
  ///
  /// If there is no value at the path, the field gets its default. Numbers are exact, `true` is not read as 1, and strings and numbers are
  /// not converted into each other.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON` if the text is not JSON, or if a key that a field reads occurs more than once;
  ///   `typeMismatch` if a value has the wrong type for its field; `missingValue` if a field without a default is absent; and `invalid` if
  ///   the model breaks one of its rules (see ``Validating``), unless `validates` is false. Errors have the path in the model and the
  ///   position in the text.
  public init(fromJSON json: Data, validates: Bool = true) throws {
    self = try JSONReader().read(Self.self, from: json, validates: validates)
  }

  /// Creates the model from a JSON object that is already parsed.
  public init(fromJSON json: ArchiveValue, validates: Bool = true) throws {
    let context = DecodingContext(source: .json, finishing: .gathering(validates: validates))
    self = try context.checked { try Self.decode(fromJSON: json, in: context) }
  }

  /// Returns the text of a JSON object that represents the model. ``JSONWriter`` describes the format.
  ///
  /// - Throws: the same errors as ``JSONWriter``, such as `notEncodable` for a number that is not finite.
  public func jsonData(isPretty: Bool = false, sortsKeys: Bool = false) throws -> Data {
    try JSONWriter(isPretty: isPretty, sortsKeys: sortsKeys).write(self)
  }

  package static func decode(fromJSON json: ArchiveValue, in context: DecodingContext) throws -> Self {
    let schema = schema
    if schema.isEnumeration { return try makeCase(of: json, in: context) }
    guard case .object(let object) = json, let hierarchy = try schema.jsonHierarchy() else {
      return try decode(ofOwnClass: json, in: context)
    }
    let (type, rest) = try inType {
      guard let found = try hierarchy.tagged(object, in: context.json) else {
        throw hierarchy.discriminator.absent("a class")
      }
      return found
    }
    guard let made = try type.decode(ofOwnClass: .object(rest), in: context) as? Self else {
      throw ArchiveError.mismatch(expected: "an object of \(schema.name)", found: "an object of \(type.schema.name)")
    }
    return made
  }

  private static func inType<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch { throw ArchiveError.wrap(error).inType(schema.name) }
  }

  /// Decodes an instance of this class itself, not of a subclass.
  private static func decode(ofOwnClass json: ArchiveValue, in context: DecodingContext) throws -> Self {
    let schema = schema
    try schema.check()
    let plan = context.json.plan(of: schema)
    let slots = try plan.read(json, in: context)
    guard context.collectsErrors else { return try decode(from: slots, plan, in: context) }
    // To find all errors, each field is first decoded separately. Then the model is decoded as a whole.
    if let error = schema.errors(of: slots, plan, in: context) { throw error }
    // All fields are valid, so decoding them a second time as part of the model need not collect errors in nested models.
    context.collectsErrors = false
    defer { context.collectsErrors = true }
    return try decode(from: slots, plan, in: context)
  }

  private static func decode(from slots: JSONSlots, _ plan: JSONPlan, in context: DecodingContext) throws -> Self {
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
