/// What merging begins with: a model, or a list of models, taken apart once.
///
/// The graph has the objects of all sides, and takes the fields of each when they are asked for first, before anything
/// changes.
struct MergeSnapshot {
  let graph = MergeGraph()
  /// A reference where the model is an object, else its record; the array of a list.
  let root: ArchiveValue
  /// The number of the model where it is an object.
  let rootNumber: Int?
  /// The type of the root; of an object its own class.
  let type: any Archivable.Type
  /// The schema of the model, or of the elements of the list.
  let schema: ModelSchema
  /// The schemas of the type and of all that it holds.
  let catalog: SchemaCatalog

  /// - Parameter schema: the schema of the model or of the elements, where their type is as declared.
  init(_ model: some Archivable, _ schema: ModelSchema) throws {
    // Local objects have the first numbers.
    root = try graph.value(of: model)
    if case .reference(let number) = root {
      let own = graph.type(number)
      (rootNumber, type, self.schema) = (number, own, own.schema)
    } else {
      (rootNumber, type, self.schema) = (nil, Swift.type(of: model), schema)
    }
    var catalog = SchemaCatalog()
    type._collectSchemas(into: &catalog)
    self.catalog = catalog
  }

  init<Model: VersionedModel>(_ model: Model) throws { try self.init(model, Model.schema) }

  var isList: Bool { if case .array = root { true } else { false } }

  /// The key under which the model remembers what was merged; `nil` where it does not.
  var stateKey: String? { isList ? nil : schema.mergeStateKey }

  /// What the model remembers; `nil` where it does not.
  var state: MergeState? {
    get throws {
      guard let stateKey else { return nil }
      return try MergeState.make(from: graph.fields(of: root)?[stateKey] ?? .null, in: DecodingContext())
    }
  }

  /// Sets what the model remembers, and nothing else of it.
  func set(_ state: MergeState, of model: inout some VersionedModel) throws {
    guard let stateKey, var fields = try graph.fields(of: root) else { return }
    fields[stateKey] = state.value
    if let rootNumber { return try graph.set(fields, of: rootNumber, in: .unfinishedMerge) }
    func made<Model: VersionedModel>(_ type: Model.Type) throws -> Model {
      try graph.make(type, fields, in: .unfinishedMerge)
    }
    try model.adoptFields(of: made(Swift.type(of: model)))
  }
}

extension DecodingContext {
  /// For models that a merge makes on the way to its result: no code of theirs runs.
  static var unfinishedMerge: DecodingContext {
    DecodingContext(source: .merge, includesExcluded: true, finishing: .never)
  }

  /// For reading what came in as an archive or a record.
  static var mergedArchive: DecodingContext { DecodingContext(includesExcluded: true, finishing: .never) }
}
