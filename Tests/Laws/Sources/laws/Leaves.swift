import Foundation
import Strata
import StrataStore

// The leaf types under test. `Tests/Scripts/laws` wraps them in containers.

/// A model whose fields the suite knows.
protocol LawfulModel: Lawful, VersionedModel {
  static var kind: PlainModel.Kind { get }
  var plainFields: [String: Plain] { get }
}

extension LawfulModel {
  var plain: Plain { .model(PlainModel(kind: Self.kind, fields: plainFields)) }
}

enum Color: String, Archivable, CaseIterable, Lawful {
  case red, green, blue
  static func sample(_ source: inout Source) -> Color { source.oneOf(allCases) }
  var plain: Plain { .text(rawValue) }
}

enum Level: Int, Archivable, UnknownCaseRepresentable, Lawful {
  case low = 1
  case high = 9
  case unknown = -1
  static var unknownCase: Level { .unknown }
  static func sample(_ source: inout Source) -> Level { source.oneOf([.low, .high]) }
  var plain: Plain { .integer(rawValue) }
}

enum Mood: String, Codable, Lawful {
  case good, bad
  static func sample(_ source: inout Source) -> Mood { source.oneOf([.good, .bad]) }
  var plain: Plain { .opaque(.text(rawValue), isCodable: true) }
}

@Model(version: 1)
struct Part: Hashable {
  var name = ""
  var note: String?
  var count = 7
}

extension Part: LawfulModel {
  static let kind = PlainModel.Kind("Part", ["name", "note", "count"]) { Part().plainFields }
  static func sample(_ source: inout Source) -> Part {
    Part(name: .sample(&source), note: .sample(&source), count: source.below(4))
  }
  var plainFields: [String: Plain] { ["name": name.plain, "note": note.plain, "count": count.plain] }
}

/// A model with identity that contains other models.
@Model(version: 2)
struct Item: Hashable, Codable, Migratable {
  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("title", to: "name")))
  let id: Int
  var name = "new"
  var note: String?
  var part = Part()
}

extension Part: Codable {}

extension Item: LawfulModel {
  static let kind = PlainModel.Kind("Item", ["id", "name", "note", "part"], oldKeys: ["name": "title"]) {
    Item(id: 0).plainFields.filter { $0.key != "id" }
  }
  static func sample(_ source: inout Source) -> Item {
    Item(id: source.identity(), name: .sample(&source), note: .sample(&source), part: .sample(&source))
  }
  var plainFields: [String: Plain] { ["id": id.plain, "name": name.plain, "note": note.plain, "part": part.plain] }
}

@Model(version: 1)
final class Bare {
  var name = ""
  var note: String?
  init() {}
}

extension Bare: LawfulModel {
  static let kind = PlainModel.Kind("Bare", ["name", "note"], isObject: true) { Bare().plainFields }
  static func sample(_ source: inout Source) -> Bare {
    let bare = Bare()
    (bare.name, bare.note) = (.sample(&source), .sample(&source))
    return bare
  }
  var plainFields: [String: Plain] { ["name": name.plain, "note": note.plain] }
}

@Model(version: 2)
final class Thing: Hashable, Migratable {
  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("remark", to: "note")))
  let id: Int
  var name = ""
  var note: String?
  init(id: Int) { self.id = id }
  static func == (left: Thing, right: Thing) -> Bool { left.id == right.id }
  func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

extension Thing: LawfulModel {
  static let kind = PlainModel.Kind("Thing", ["id", "name", "note"], isObject: true, oldKeys: ["note": "remark"]) {
    Thing(id: 0).plainFields.filter { $0.key != "id" }
  }
  static func sample(_ source: inout Source) -> Thing {
    let thing = Thing(id: source.identity())
    (thing.name, thing.note) = (.sample(&source), .sample(&source))
    return thing
  }
  var plainFields: [String: Plain] { ["id": id.plain, "name": name.plain, "note": note.plain] }
}

/// A superclass. Its random values are often instances of a subclass.
@Model(version: 1)
class Being: Hashable, JSONTagged, ModelHierarchy {
  let id: Int
  var name = ""
  var note: String?
  init(id: Int) { self.id = id }
  static var jsonTagging: JSONTagging { .internal("kind") }
  static var subclasses: [any VersionedModel.Type] { [Puppy.self] }
  static func == (left: Being, right: Being) -> Bool { left.id == right.id }
  func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

@Model(version: 1, superclass: Being.self)
final class Puppy: Being {
  var age = 3
  override init(id: Int) { super.init(id: id) }
}

extension Being: Lawful {
  static let plainKind = PlainModel.Kind("Being", ["id", "name", "note"], tag: ("kind", "Being"), isObject: true) {
    ["name": "".plain, "note": .null]
  }
  static let puppyKind = PlainModel.Kind(
    "Puppy", ["id", "name", "note", "age"], tag: ("kind", "Puppy"), isObject: true
  ) {
    ["name": "".plain, "note": .null, "age": 3.plain]
  }
  static func sample(_ source: inout Source) -> Self {
    let id = source.identity()
    let being = source.below(2) == 0 ? Puppy(id: id) : Being(id: id)
    (being.name, being.note) = (.sample(&source), .sample(&source))
    if let puppy = being as? Puppy { puppy.age = source.below(4) }
    return unsafeDowncast(being, to: Self.self)
  }
  var plain: Plain {
    var fields: [String: Plain] = ["id": id.plain, "name": name.plain, "note": note.plain]
    guard let puppy = self as? Puppy else { return .model(PlainModel(kind: Being.plainKind, fields: fields)) }
    fields["age"] = puppy.age.plain
    return .model(PlainModel(kind: Being.puppyKind, fields: fields))
  }
}

/// An enum with optionals, models and lists of models as associated values.
@Model(version: 1)
enum Figure: Hashable {
  case empty
  case circle(radius: Int, note: String?)
  case part(Part)
  case items([Item], count: Int)
}

extension Figure: Lawful {
  static let labels = ["empty": [], "circle": ["radius", "note"], "part": ["_0"], "items": ["_0", "count"]]
  static let optionalLabels: Set<String> = ["note"]
  static func sample(_ source: inout Source) -> Figure {
    switch source.below(4) {
    case 0: .empty
    case 1: .circle(radius: source.below(4), note: .sample(&source))
    case 2: .part(.sample(&source))
    default: .items(.sample(&source), count: source.below(4))
    }
  }
  var plain: Plain {
    let (name, values): (String, [String: Plain]) =
      switch self {
      case .empty: ("empty", [:])
      case .circle(let radius, let note): ("circle", ["radius": radius.plain, "note": note.plain])
      case .part(let part): ("part", ["_0": part.plain])
      case .items(let items, let count): ("items", ["_0": items.plain, "count": count.plain])
      }
    return .choice(Choice(type: "Figure", name: name, values: values))
  }
}

struct Size: Codable, Hashable, Lawful {
  var width = 0
  var note: String?
  static func sample(_ source: inout Source) -> Size { Size(width: source.below(4), note: .sample(&source)) }
  var plain: Plain {
    var fields: [Plain: Plain] = [.text("width"): width.plain]
    if let note { fields[.text("note")] = note.plain }
    return .opaque(.dictionary(fields), isCodable: true)
  }
}

/// A type that is only Codable and contains a model.
struct Crate: Codable, Hashable, Lawful {
  var label = ""
  var item = Item(id: 0)
  static func sample(_ source: inout Source) -> Crate { Crate(label: .sample(&source), item: .sample(&source)) }
  var plain: Plain { .opaque(.dictionary([.text("label"): label.plain, .text("item"): item.plain]), isCodable: true) }
}

@Model(version: 1)
struct Box<T: Archivable> {
  var content: T
  var tag = "box"
}

extension Box: Equatable where T: Equatable {}
extension Box: Hashable where T: Hashable {}

extension Box: Lawful, LawfulModel where T: Lawful {
  static var kind: PlainModel.Kind {
    PlainModel.Kind(schema.name, ["content", "tag"]) { ["tag": "box".plain] }
  }
  static func sample(_ source: inout Source) -> Box<T> { Box(content: .sample(&source), tag: .sample(&source)) }
  var plainFields: [String: Plain] { ["content": content.plain, "tag": tag.plain] }
}

/// A model that `Tests/Scripts/laws` generates. Each of its fields has a leaf type or a container of leaf types.
protocol Holder: LawfulModel, Entity, Migratable {
  var id: Int { get set }
  /// The fields under test, and their types.
  static var types: [(key: String, type: String)] { get }
  /// The merge base, if the model has one.
  var memory: MergeState { get set }
}

extension Holder {
  var memory: MergeState {
    get { MergeState() }
    set {}
  }
  static var remembers: Bool { schema.fields.contains { $0.key == "memory" } }
}
