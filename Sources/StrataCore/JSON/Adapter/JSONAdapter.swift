import Foundation

/// Reads and writes JSON for a model, or for a type that contains models, such as an array, a dictionary or an enum.
///
///     let adapter = try JSONAdapter<Issue>()                      // what the fields declare
///     let issue = try adapter.decode(data)
///     let body = try adapter.encode(issue, fields: .only(["title", "state"]), nulls: .omit)
///
/// An adapter is a value. Create it once, and share it between any number of tasks. Nested models are read and written by their own
/// mappings, unless ``using(_:)`` supplies other mappings. A type can have several adapters, for example one for each server.
public struct JSONAdapter<Root: Archivable>: Sendable {
  /// How a nil value is written, unless a field or a call specifies otherwise. `.null` by default.
  public var nulls = JSONNulls.null
  /// The limits on a document; see ``JSONReader/limits``.
  public var limits = ArchiveLimits()
  /// Whether decoding checks the validation rules of the models (see ``Validating``). True by default.
  public var validates = true
  /// How keys that no field reads are handled, in this model and in all nested models.
  public let unknownKeys: JSONUnknownKeys
  private(set) var plans: [ObjectIdentifier: JSONPlan] = [:]
  private(set) var catalog: SchemaCatalog

  /// Creates an adapter from the declarations of the models.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidMapping` for mistakes in the mappings of the type and of all nested models.
  ///   ``ArchiveError/all`` contains all of these mistakes.
  public init(_ type: Root.Type = Root.self, unknownKeys: JSONUnknownKeys = .ignore) throws {
    self.unknownKeys = unknownKeys
    catalog = SchemaCatalog(of: type)
    try check()
  }

  /// Creates an adapter from the declarations of the models. A convention supplies the keys and transformers that a field does not declare,
  /// also in nested models.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidMapping` for mistakes in the mappings of the type and of all nested models.
  ///   ``ArchiveError/all`` contains all of these mistakes.
  public init(
    _ type: Root.Type = Root.self, convention: JSONConvention, unknownKeys: JSONUnknownKeys = .ignore
  ) throws {
    self.unknownKeys = unknownKeys
    catalog = SchemaCatalog(of: type)
    for schema in catalog.schemas where !schema.isEnumeration {
      plans[ObjectIdentifier(schema)] = JSONPlan(schema, mapping: schema.mapping(convention.json))
    }
    try check()
  }

  /// Creates an adapter from a mapping that replaces the declarations of the model. The mapping applies wherever the model occurs, even
  /// inside itself.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidMapping` for mistakes: fields that the model does not declare, conflicting paths, and
  ///   transformers of the wrong type. ``ArchiveError/all`` contains all of these mistakes.
  public init(_ mapping: JSONMapping<Root>, unknownKeys: JSONUnknownKeys = .ignore) throws where Root: VersionedModel {
    self.unknownKeys = unknownKeys
    let schema = Root.schema
    plans[ObjectIdentifier(schema)] = JSONPlan(schema, mapping: mapping.fields)
    catalog = SchemaCatalog(of: Root.self)
    try check()
  }

  /// Creates an adapter for a type from a mapping that replaces the declarations of the type.
  public init(
    _ type: Root.Type, _ mapping: JSONMapping<Root>, unknownKeys: JSONUnknownKeys = .ignore
  ) throws where Root: VersionedModel {
    try self.init(mapping, unknownKeys: unknownKeys)
  }

  /// Returns a copy of this adapter that uses the mapping of `nested` wherever the nested model occurs.
  public func using<Nested>(_ nested: JSONAdapter<Nested>) -> JSONAdapter {
    var adapter = self
    adapter.plans.merge(nested.plans) { _, new in new }
    for schema in nested.catalog.schemas { _ = adapter.catalog.add(schema) }
    return adapter
  }

  private func check() throws {
    var errors: [ArchiveError] = []
    for schema in catalog.schemas.sorted(by: { $0.name < $1.name }) {
      try schema.check()
      if let problem = catalog.problem(ofName: schema.name) { throw problem }
      if let problem = plan(of: schema).problem { errors.append(problem) }
      errors += JSONPlanCheck.substituteProblems(of: plan(of: schema), in: context(.first, finishesModels: false))
      if case .failure(let problem) = schema.notes(JSONNotes.self).kinds { errors.append(problem) }
    }
    if unknownKeys == .capture, let root = Root._rootSchema, root.cases.isEmpty, !root.keepsUnknownFields {
      errors.append(
        ArchiveError(
          .invalidMapping, "the model has no property for unknown keys; add a property of type UnknownFields",
          typeName: root.name))
    }
    if let error = ArchiveError.combined(errors) { throw error }
  }

  func plan(of schema: ModelSchema) -> JSONPlan { plans[ObjectIdentifier(schema)] ?? schema.jsonPlan }

  // MARK: Inside

  func context(_ errors: JSONErrors, finishesModels: Bool = true) -> DecodingContext {
    let context = DecodingContext(
      limits: limits, source: .json, finishing: finishesModels ? .gathering(validates: validates) : .never)
    context.json = JSONReading(plans: plans, unknownKeys: unknownKeys, limits: limits)
    context.collectsErrors = errors == .collectAll
    context.triesRules = validates
    return context
  }

  var reader: JSONReader { .refusingDuplicates(limits: limits) }

  // MARK: Writing

  func writer(isPretty: Bool, sortsKeys: Bool) -> JSONWriter {
    var writer = JSONWriter(isPretty: isPretty, sortsKeys: sortsKeys)
    writer.limits = limits
    return writer
  }

  func writing(_ nulls: JSONNulls?) -> JSONWriting {
    JSONWriting(plans: plans, nulls: nulls ?? self.nulls, writesUnknownKeys: unknownKeys == .capture) { catalog }
  }

  /// Converts a value to an ``ArchiveValue`` and returns it together with the options for writing it as JSON.
  ///
  /// - Parameter isInside: whether the JSON of the value becomes part of a larger document.
  func archived(_ root: Root, _ nulls: JSONNulls?, isInside: Bool = false) throws -> (ArchiveValue, JSONWriting) {
    let writing = writing(nulls)
    var writer = ArchiveWriter(includesExcluded: true, notesSchemas: true, minimumCapacity: 512)
    writer.classCheck = { try JSONKinds.check($0, as: $1, isInside: $2 || isInside) }
    try root.write(to: &writer)
    writing.schemas = writer.schemasOfShapes ?? [:]
    return (try writer.value(), writing)
  }

  /// Returns the JSON of a value as an ``ArchiveValue``.
  ///
  /// - Parameters:
  ///   - keepsContainers: whether an object on the path of a field is written even if it contains no fields.
  ///   - marksFallbackPaths: whether the placeholder ``JSONLayout/mark`` is written at the fallback paths of each field that has a value.
  ///   - isInside: whether the JSON of the value becomes part of a larger document.
  func value(
    of root: Root, _ nulls: JSONNulls?, fields: Set<String>? = nil, keepsContainers: Bool = false,
    marksFallbackPaths: Bool = false, isInside: Bool = false
  ) throws -> ArchiveValue {
    let (value, writing) = try archived(root, nulls, isInside: isInside)
    writing.keepsContainers = keepsContainers
    writing.marksFallbackPaths = marksFallbackPaths
    var writer = JSONValueWriter(writing, limits: limits, fields: fields)
    return try writer.value(of: value)
  }
}

/// Whether reading stops at the first error.
public enum JSONErrors: String, Sendable, Hashable {
  /// Reading throws the first error.
  case first
  /// Reading continues after an error. At the end, it throws one error whose ``ArchiveError/all`` contains every error, in the order
  /// of the schema.
  case collectAll
}
