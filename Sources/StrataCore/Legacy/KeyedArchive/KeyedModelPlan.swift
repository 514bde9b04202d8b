/// How objects of a keyed archive become records of a model in the body of an archive: found out once for each model.
struct KeyedModelPlan {
  /// What an entry of an object is to a model.
  enum Part {
    /// The field at a place among those that archives hold.
    case field(Int)
    case version, type
    /// What no field takes.
    case other
    /// What the slow path must see.
    case unavailable
  }

  /// The numbers that a field takes: keyed archives hold equal numbers once, so others may stand for them. Sets are told
  /// apart too: where any value may stand, the slow path makes lists of them.
  enum Number { case boolean, integer, double, set, other }

  struct Field {
    let number: Number
    /// The number of the model that the field holds, directly or in a collection; -1 where it is none.
    let model: Int
    /// Whether nil may stand in the field, and not only leave it at its default.
    let takesNull: Bool
  }

  let schema: ModelSchema
  let fields: [Field]
  private let keys: [String]
  /// What keys are, by their numbers.
  private(set) var parts: [Part] = []
  private var shapes: [UInt64: RecordShape] = [:]
  /// Whether an object without a version was met, and the place of the last kind of upgrade.
  var misses = false
  var upgrade: (version: Int, place: Int)?

  /// - Parameter number: the number of a model among all.
  init(_ schema: ModelSchema, number: (ModelSchema) -> Int) {
    self.schema = schema
    let archived = schema.fields.filter { $0.archive == .always }
    keys = archived.map(\.key)
    fields = archived.map { field in
      let optional = field.type as? any OptionalType.Type
      return Field(
        number: Self.number(optional?.wrappedType ?? field.type),
        model: (field.type as? any Archivable.Type)?.rootSchema.map(number) ?? -1,
        takesNull: optional != nil && field.makeDefault == nil)
    }
  }

  /// Whether records of a model can be written as they stand in a keyed archive: nothing in the model looks at them.
  static func reads(_ schema: ModelSchema) -> Bool {
    // What is wrong with a declaration is told by the other way of reading.
    !schema.isObject && schema.hook == nil && !schema.keepsUnknownFields && !schema.finishesModels
      && schema.superclasses.isEmpty && schema.fields.count <= 64
      && !schema.fields.contains { $0.archive == .conditional } && (try? schema.check()) != nil
  }

  private static func number(_ type: Any.Type) -> Number {
    if type == Bool.self { return .boolean }
    if type == Int.self || type is any FixedWidthInteger.Type { return .integer }
    if type == Double.self { return .double }
    let name = (type as? any Archivable.Type)?.archiveTypeName ?? ""
    return name.hasPrefix("Set<") ? .set : .other
  }

  /// Finds out what the keys are that were met since.
  mutating func addParts(_ keys: borrowing KeyedKeys) {
    while parts.count < keys.texts.count { parts.append(part(keys.texts[parts.count])) }
  }

  private func part(_ key: String) -> Part {
    func isKey(_ other: String) -> Bool { ExactKey.isSame(key, other) }
    if isKey("$class") { return .type }
    if isKey(KeyedLayout.versionKey) { return .version }
    if key.hasPrefix("$") { return .unavailable }
    if let place = keys.firstIndex(where: isKey) { return .field(place) }
    guard let field = schema.fields.first(where: { isKey($0.key) || $0.formerly.contains(where: isKey) }) else {
      return isKey(KeyedModels.representationKey) ? .unavailable : .other
    }
    return keys.firstIndex(of: field.key).map { .field($0) } ?? .unavailable
  }

  /// The shape of records that have only some of the fields, given by the bits of their places.
  mutating func shape(_ places: UInt64) -> RecordShape {
    if let known = shapes[places] { return known }
    let keys = keys.indices.filter { places >> UInt64($0) & 1 == 1 }.map { self.keys[$0] }
    let shape = RecordShape(typeName: schema.name, modelVersion: schema.modelVersion, keys: keys)
    // Data can hold shapes without end.
    if shapes.count < 1024 { shapes[places] = shape }
    return shape
  }
}
