/// The options for writing models as JSON: the mappings, and how nulls and unknown keys are written.
final class JSONWriting {
  /// Mappings that replace the models' own mappings, keyed by the identity of the model's schema.
  let plans: [ObjectIdentifier: JSONPlan]
  let nulls: JSONNulls
  let writesUnknownKeys: Bool
  /// Whether an object on the path of a field is written even if it contains no fields. A merge patch needs these objects, because in the
  /// document that is patched, they may have other members.
  var keepsContainers = false
  /// Whether the placeholder ``JSONLayout/mark`` is written at the fallback paths of each field that has a value.
  var marksFallbackPaths = false
  /// Whether a reference back to an enclosing object is written as null. This is necessary if an archive is converted to JSON without its
  /// model types. A model may exclude such a reference from JSON, but the archive does not record which references are excluded.
  var nullsCycles = false
  /// The number of references that were written as null because they form a cycle.
  var cycleCount = 0
  /// The schemas of the models that wrote records, keyed by the shape of the records (their type, version and keys).
  var schemas: [RecordShape: [ModelSchema]] = [:]
  private let makeCatalog: (() -> SchemaCatalog)?
  private lazy var catalog = makeCatalog?() ?? SchemaCatalog()
  /// A cache of layouts, keyed by the identity of the shape. Most records of a model share one shape, and a lookup by the shape's keys
  /// would take longer. The cache retains the shapes, because the identity of a released shape could be reused.
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

  /// Returns the JSON layout of records with the given shape; `nil` if the records do not belong to a model. Such records are written as
  /// objects with one member for each field.
  ///
  /// A record belongs to a model if it was just written by that model, or if it has the current keys of the model. For any other record,
  /// the current mapping would lose keys.
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
        .invalidSchema, "two types have the name \(shape.typeName) and the same keys; rename one of the types",
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
    if shape == schema.fullShape, !marksFallbackPaths, hierarchy == nil { return plan.layout }
    return JSONLayout(
      shape, plan, kinds: hierarchy, writesUnknownKeys: writesUnknownKeys, marksFallbackPaths: marksFallbackPaths)
  }
}
