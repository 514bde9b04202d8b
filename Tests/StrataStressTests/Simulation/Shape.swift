import StrataCore
import StrataTestSupport

/// The structure of a value in the simulation. It describes the models a second time, so that the oracle does not depend on the library.
indirect enum Shape: Sendable {
  /// A single value, with the rule for changes on both sides.
  case leaf(Rule)
  case model(ModelShape)
  /// A list of models that are matched by identity.
  case list(ModelShape)
  case dictionary(Shape)
  /// The name of an enum, and its cases with the labels of their payloads.
  case choice(String, [String: [String]])

  enum Rule: Sendable { case automatic, localWins, conflict, serverWins, max, sumOfDeltas }
}

/// A model: its fields, its identity, and the name and version of its records.
struct ModelShape: Sendable {
  struct Field: Sendable {
    let key: String
    let shape: Shape
    let initial: ArchiveValue
    var isInJSON = true

    init(_ key: String, _ shape: Shape, _ initial: ArchiveValue = .null, isInJSON: Bool = true) {
      (self.key, self.shape, self.initial, self.isInJSON) = (key, shape, initial, isInJSON)
    }
  }

  let name: String
  let version: Int
  var identity: String?
  let fields: [Field]

  func field(_ key: String) -> Field? { fields.first { $0.key == key } }

  static let geo = ModelShape(
    name: "Geo", version: 1, fields: [.init("lat", .leaf(.automatic), 0.0), .init("lon", .leaf(.automatic), 0.0)])
  static let place = ModelShape(
    name: "Place", version: 1,
    fields: [.init("city", .leaf(.automatic), ""), .init("zip", .leaf(.automatic)), .init("geo", .model(geo))])
  static let owner = ModelShape(
    name: "Owner", version: 1, identity: "id",
    fields: [.init("id", .leaf(.automatic)), .init("name", .leaf(.automatic), ""), .init("note", .leaf(.automatic))])
  static let item = ModelShape(
    name: "Item", version: 1, identity: "id",
    fields: [
      .init("id", .leaf(.automatic)), .init("name", .leaf(.automatic), ""), .init("color", .leaf(.automatic)),
      .init("place", .model(place)), .init("draft", .leaf(.automatic), "", isInJSON: false),
    ])
  static let shipment = Shape.choice("Shipment", ["none": [], "parcel": ["weight", "note"], "mail": ["address"]])
  static let document = ModelShape(
    name: "Doc", version: 2,
    fields: [
      .init("title", .leaf(.automatic), ""), .init("mine", .leaf(.localWins), ""), .init("asked", .leaf(.conflict), ""),
      .init("theirs", .leaf(.serverWins), ""), .init("best", .leaf(.max)), .init("count", .leaf(.sumOfDeltas), 0),
      .init("note", .leaf(.automatic)), .init("place", .model(place)), .init("owner", .model(owner)),
      .init("items", .list(item), []), .init("counts", .dictionary(.leaf(.automatic)), [:]),
      .init("places", .dictionary(.model(place)), [:]), .init("shipment", shipment, ["none": [:]]),
      .init("doubles", .leaf(.automatic), []), .init("tags", .leaf(.automatic), []),
      .init("draft", .leaf(.automatic), "", isInJSON: false),
    ])
}

/// A value in the simulation. Models and enums are objects without type names.
typealias Tree = ArchiveValue

extension Tree {
  /// The value as text. The order of keys is ignored, and NaN equals itself.
  var canonicalText: String {
    switch self {
    case .object(let object):
      "{" + object.entries.map { "\($0.key):\($0.value.canonicalText)" }.sorted().joined(separator: ",") + "}"
    case .array(let elements): "[" + elements.map(\.canonicalText).joined(separator: ",") + "]"
    case .double(let number): number.isNaN ? "NaN" : "\(number)"
    case .string(let text): "'\(text)'"
    case .int(let number): "\(number)"
    case .null: "null"
    case .bool(let isTrue): "\(isTrue)"
    default: "\(self)"
    }
  }

  /// The value as readable text: JSON that may contain NaN.
  var story: String {
    switch self {
    case .object(let object):
      "{" + object.entries.map { "\"\($0.key)\": \($0.value.story)" }.joined(separator: ", ") + "}"
    case .array(let elements): "[" + elements.map(\.story).joined(separator: ", ") + "]"
    case .string(let text): "\"\(text)\""
    default: canonicalText
    }
  }

  var hasNaN: Bool {
    switch self {
    case .object(let object): object.entries.contains { $0.value.hasNaN }
    case .array(let elements): elements.contains(where: \.hasNaN)
    case .double(let number): number.isNaN
    default: false
    }
  }

  /// Converts an archived value to a plain one without type names.
  init(archived value: ArchiveValue) {
    switch value {
    case .record(let record):
      self = .object(
        ArchiveObject(
          record.fields.filter { $0.key != "merging" }.map {
            .init(key: $0.key, value: ArchiveValue(archived: $0.value))
          }))
    case .object(let object):
      self = .object(ArchiveObject(object.entries.map { .init(key: $0.key, value: ArchiveValue(archived: $0.value)) }))
    case .array(let elements): self = .array(elements.map { ArchiveValue(archived: $0) })
    default: self = value
    }
  }

  /// Returns the value as an archive would contain it, with type names. Absent keys stay absent.
  func archived(_ shape: Shape) -> ArchiveValue {
    switch (shape, self) {
    case (.model(let model), .object(let object)):
      return .record(
        ModelRecord(
          typeName: model.name, modelVersion: model.version,
          fields: model.fields.compactMap { field in
            object[field.key].map { (field.key, $0.archived(field.shape)) }
          }))
    case (.list(let model), .array(let elements)): return .array(elements.map { $0.archived(.model(model)) })
    case (.dictionary(let shape), .object(let object)):
      return .object(ArchiveObject(object.entries.map { .init(key: $0.key, value: $0.value.archived(shape)) }))
    case (.choice(let name, _), .object(let object)):
      return .record(ModelRecord(typeName: name, modelVersion: 1, fields: object.entries.map { ($0.key, $0.value) }))
    default: return self
    }
  }

  /// Returns the value with defaults for absent keys, as in an object that was just created locally.
  func completed(_ shape: Shape) -> Tree {
    switch (shape, self) {
    case (.model(let model), .object(let object)):
      return .object(
        ArchiveObject(
          model.fields.map { .init(key: $0.key, value: (object[$0.key] ?? $0.initial).completed($0.shape)) }))
    case (.list(let model), .array(let elements)): return .array(elements.map { $0.completed(.model(model)) })
    case (.dictionary(let shape), .object(let object)):
      return .object(ArchiveObject(object.entries.map { .init(key: $0.key, value: $0.value.completed(shape)) }))
    case (.choice(_, let cases), .object(let object)):
      guard let entry = object.entries.first, let payload = entry.value.objectValue else { return self }
      let labels = cases[entry.key] ?? []
      let values = labels.map { ArchiveObject.Entry(key: $0, value: payload[$0] ?? .null) }
      return .object(ArchiveObject([.init(key: entry.key, value: .object(ArchiveObject(values)))]))
    default: return self
    }
  }

  /// The value without the fields that JSON never contains.
  func withoutPrivate(_ shape: Shape) -> Tree {
    switch (shape, self) {
    case (.model(let model), .object(let object)):
      return .object(
        ArchiveObject(
          model.fields.filter(\.isInJSON).compactMap { field in
            object[field.key].map { .init(key: field.key, value: $0.withoutPrivate(field.shape)) }
          }))
    case (.list(let model), .array(let elements)): return .array(elements.map { $0.withoutPrivate(.model(model)) })
    case (.dictionary(let shape), .object(let object)):
      return .object(ArchiveObject(object.entries.map { .init(key: $0.key, value: $0.value.withoutPrivate(shape)) }))
    default: return self
    }
  }
}
