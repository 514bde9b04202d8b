/// How the fields of records with one shape are written: those whose paths begin alike share an object, at the index of the
/// first.
final class JSONLayout: Sendable {
  /// A value that is written at a path.
  struct Leaf: Sendable {
    /// The index of the field in the record.
    let index: Int
    /// The key of the field.
    let key: String
    /// How the mapping writes it; `nil` for a key that no mapping knows, which is written as it is.
    let entry: JSONPlan.Entry?
    let path: JSONPath
  }

  let leaves: [Leaf]
  /// The members of the object.
  let nodes: [JSONPathTree]
  /// The fields that make the whole object.
  let whole: [Leaf]
  /// Whether the members are the values of the record, one after the other.
  let isFlat: Bool
  /// Whether values are written as they are archived, at paths of keys.
  let isPlain: Bool
  /// How the cases of an enum are identified; `nil` for a record that is written as the object of its fields.
  let tagging: JSONTagging?
  /// Why no JSON can be written.
  let problem: ArchiveError?
  let typeName: String
  /// How many fields the record has.
  let fieldCount: Int

  /// - Parameters:
  ///   - plan: the mapping; `nil` where none is known, so that every key is a member.
  ///   - writesUnknownKeys: whether keys that no mapping knows are written, after the others.
  init(_ shape: RecordShape, _ plan: JSONPlan?, tagging: JSONTagging? = nil, writesUnknownKeys: Bool = true) {
    let entries = plan?.entries ?? []
    var leaves: [Leaf] = []
    var whole: [Leaf] = []
    for entry in entries where entry.json.isWritten {
      guard let index = shape.index(of: entry) else { continue }
      if case .whole = entry.source {
        whole.append(Leaf(index: index, key: entry.field.key, entry: entry, path: JSONPath([])))
      }
      for path in entry.writtenPaths where !path.readsEach {
        leaves.append(Leaf(index: index, key: entry.field.key, entry: entry, path: path))
      }
    }
    if writesUnknownKeys, shape.keys.count > entries.count || plan == nil {
      let known = Set(entries.map { ExactKey($0.field.key) })
      for (index, key) in shape.keys.enumerated() where !known.contains(ExactKey(key)) {
        leaves.append(Leaf(index: index, key: key, entry: nil, path: JSONPath(key: key)))
      }
    }
    nodes = JSONPathTree.nodes(leaves.enumerated().map { ($0, $1.path.steps[...]) })
    isPlain =
      whole.isEmpty && tagging == nil
      && leaves.allSatisfy { leaf in
        (leaf.entry.map { $0.json.transform == nil && $0.json.nulls != .omit } ?? true)
          && leaf.path.steps.allSatisfy { if case .key = $0 { true } else { false } }
      }
    isFlat =
      isPlain && nodes.count == shape.keys.count
      && zip(nodes, nodes.indices).allSatisfy { $0.leaves == [$1] && leaves[$1].index == $1 && $0.children.isEmpty }
    typeName = shape.typeName
    fieldCount = shape.keys.count
    problem = plan?.problem ?? Self.problem(leaves, nodes, shape.typeName)
    self.tagging = tagging
    self.leaves = leaves
    self.whole = whole
  }

  private static func problem(_ leaves: [Leaf], _ nodes: [JSONPathTree], _ typeName: String) -> ArchiveError? {
    JSONPathTree.conflicts(in: nodes).min { $0.number < $1.number }.map { number, other in
      ArchiveError(
        .invalidMapping,
        "JSON has one place for \(leaves[number].key) and \(leaves[other].key); give one of them another path",
        path: [.key(leaves[number].key)], typeName: typeName)
    }
  }

  /// The error with a field before its path.
  func located(_ error: any Error, _ leaf: Leaf) -> ArchiveError {
    ArchiveError.wrap(error).prefixed(by: .key(leaf.key), json: leaf.entry?.components).inType(typeName)
  }
}

extension RecordShape {
  /// Where a record has the value of a field. Its keys are in the order of the schema unless a model writes its record itself.
  fileprivate func index(of entry: JSONPlan.Entry) -> Int? {
    entry.place < keys.count && keys[entry.place] == entry.field.key ? entry.place : place(of: entry.field.key)
  }
}

/// What writing asks of models: by which mappings, and what becomes of nulls and of keys that no field reads.
final class JSONWriting {
  /// Mappings that differ from the models' own, by the identity of the schema.
  let plans: [ObjectIdentifier: JSONPlan]
  let nulls: JSONNulls
  let writesUnknownKeys: Bool
  /// The models whose records were written, by shape.
  var schemas: [RecordShape: [ModelSchema]] = [:]
  private let makeCatalog: (() -> SchemaCatalog)?
  private lazy var catalog = makeCatalog?() ?? SchemaCatalog()
  private var layouts: [RecordShape: JSONLayout?] = [:]

  init(
    plans: [ObjectIdentifier: JSONPlan] = [:], nulls: JSONNulls = .null, writesUnknownKeys: Bool = true,
    catalog: (() -> SchemaCatalog)? = nil
  ) {
    self.plans = plans
    self.nulls = nulls
    self.writesUnknownKeys = writesUnknownKeys
    makeCatalog = catalog
  }

  /// How records of a shape are written; `nil` for those of no model, which are the objects of their fields.
  ///
  /// A record is a model's where its model was just written, or where it has the keys that the model has today. The
  /// mapping of today would lose keys of any other.
  func layout(of shape: RecordShape) throws -> JSONLayout? {
    if makeCatalog == nil, schemas.isEmpty { return nil }
    if let known = layouts[shape] { return known }
    let schema = try schema(of: shape)
    let layout = schema.map { makeLayout(shape, $0) }
    layouts[shape] = .some(layout)
    return layout
  }

  private func schema(of shape: RecordShape) throws -> ModelSchema? {
    let written = schemas[shape] ?? []
    guard written.count < 2 else {
      throw ArchiveError(
        .invalidSchema, "two types have the name \(shape.typeName) and the same keys; give one of them another name",
        typeName: shape.typeName)
    }
    if let schema = written.first { return schema }
    guard let schema = try catalog.schema(named: shape.typeName),
      shape == schema.fullShape || shape == schema.archivedShape || schema.caseShapes.values.contains(shape)
    else { return nil }
    return schema
  }

  private func makeLayout(_ shape: RecordShape, _ schema: ModelSchema) -> JSONLayout {
    let plan = plans[ObjectIdentifier(schema)]
    if plan == nil, shape == schema.fullShape { return schema.jsonLayout }
    if schema.isEnumeration { return JSONLayout(shape, nil, tagging: schema.jsonTagging.ifNotPlain) }
    return JSONLayout(shape, plan ?? schema.jsonPlan, writesUnknownKeys: writesUnknownKeys)
  }
}
