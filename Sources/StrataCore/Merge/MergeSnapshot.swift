/// The local model or list of models at the start of a merge, encoded once.
///
/// The graph contains the objects of the base, the local model and the server. It reads the fields of each object on first use, which is
/// always before the merge changes anything.
struct MergeSnapshot {
  let graph = MergeGraph()
  /// The root value: a reference for an object, a record for any other model, or an array for a list.
  let root: ArchiveValue
  /// The object number of the root; `nil` if the root is a struct, an enum or a list.
  let rootNumber: Int?
  /// The type of the root. For a class instance, this is its dynamic type, which may be a subclass of the declared type.
  let type: any Archivable.Type
  /// The schema of the model or of the list's elements.
  let schema: ModelSchema
  /// The schemas of the root's type and of all models that the type can contain.
  let catalog: SchemaCatalog

  /// Encodes a model or a list of models.
  ///
  /// - Parameter schema: the schema of the declared type of the model or of the elements.
  init(_ model: some Archivable, _ schema: ModelSchema) throws {
    // Objects are numbered in the order in which they are encoded. The local model is encoded first, so the numbers of its objects begin at
    // 0.
    root = try graph.value(of: model)
    if case .reference(let number) = root {
      let own = graph.type(number)
      (rootNumber, type, self.schema) = (number, own, own.schema)
    } else {
      (rootNumber, type, self.schema) = (nil, Swift.type(of: model), schema)
    }
    catalog = SchemaCatalog(of: type)
  }

  init<Model: VersionedModel>(_ model: Model) throws { try self.init(model, Model.schema) }

  var isList: Bool { if case .array = root { true } else { false } }

  /// The key of the field that holds the model's ``MergeState``; `nil` for a list or for a model without such a field.
  var stateKey: String? { isList ? nil : schema.mergeStateKey }

  /// The model's ``MergeState``; `nil` for a list or for a model without a merge state.
  var state: MergeState? {
    get throws {
      guard let stateKey else { return nil }
      return try MergeState.decode(from: graph.fields(of: root)?[stateKey] ?? .null, in: DecodingContext())
    }
  }

  /// Stores a new ``MergeState`` in the model without changing any other field.
  func set(_ state: MergeState, of model: inout some VersionedModel) throws {
    guard let stateKey, var fields = try graph.fields(of: root) else { return }
    fields[stateKey] = state.value
    if let rootNumber { return try graph.set(fields, of: rootNumber, in: .unfinishedMerge) }
    func made<Model: VersionedModel>(_ type: Model.Type) throws -> Model {
      try graph.decode(type, from: fields, in: .unfinishedMerge)
    }
    try model.adoptFields(of: made(Swift.type(of: model)))
  }
}

extension DecodingContext {
  /// The context for decoding intermediate models during a merge. Their hooks and rules do not run.
  static var unfinishedMerge: DecodingContext {
    DecodingContext(source: .merge, includesExcluded: true, finishing: .never)
  }

  /// The context for reading archives and records as the source or the base of a merge.
  static var mergedArchive: DecodingContext { DecodingContext(includesExcluded: true, finishing: .never) }
}
