/// What writing asks of models: by which mappings, and what becomes of nulls and of keys that no field reads.
final class JSONWriting {
  /// Mappings that differ from the models' own, by the identity of the schema.
  let plans: [ObjectIdentifier: JSONPlan]
  let nulls: JSONNulls
  let writesUnknownKeys: Bool
  /// Whether an object on the way to fields is written where none of them is: what else is in it belongs to others.
  var keepsContainers = false
  /// Whether the further paths of fields that have several have a mark while the field has a value.
  var marksPaths = false
  /// Whether a reference back to an object that is being written is null, which an archive without its types needs: it does not
  /// say which references a model leaves out.
  var nullsCycles = false
  /// How many such references were written.
  var cycleCount = 0
  /// The models whose records were written, by shape.
  var schemas: [RecordShape: [ModelSchema]] = [:]
  private let makeCatalog: (() -> SchemaCatalog)?
  private lazy var catalog = makeCatalog?() ?? SchemaCatalog()
  /// By the identity of the shape, which is kept: most records of a kind share one, and hashing its keys takes longer.
  private var layouts: [ObjectIdentifier: (shape: RecordShape, layout: JSONLayout?)] = [:]

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
    if let known = layouts[ObjectIdentifier(shape)] { return known.layout }
    let schema = try schema(of: shape)
    let layout = try schema.map { try makeLayout(shape, $0) }
    layouts[ObjectIdentifier(shape)] = (shape, layout)
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

  private func makeLayout(_ shape: RecordShape, _ schema: ModelSchema) throws -> JSONLayout {
    let plan = plans[ObjectIdentifier(schema)] ?? schema.jsonPlan
    if schema.isEnumeration {
      let kinds = try schema.jsonKinds()
      return JSONLayout(shape, nil, kinds: kinds.isPlain ? nil : kinds)
    }
    let hierarchy = try schema.jsonHierarchy()
    if shape == schema.fullShape, !marksPaths, hierarchy == nil { return plan.layout }
    return JSONLayout(shape, plan, kinds: hierarchy, writesUnknownKeys: writesUnknownKeys, marksPaths: marksPaths)
  }
}
