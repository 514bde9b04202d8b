import Foundation
import GRDB
import Strata
import StrataStore

// The rows of these models form a tree. Folders contain folders, and their names are unique within the parent. Leaves have a primary key
// with two columns. Every kind of relation, removal rule and order is used.

@Model(version: 1)
class Folder: ModelHierarchy {
  let id: Int
  var name = ""
  var made = Date(timeIntervalSince1970: 0)
  var stamp: String?
  var parts: [Part] = []
  weak var parent: Folder?
  var children: [Folder] = []
  var leaves: [Leaf] = []
  var notes: [Note] = []
  var marks: [Mark] = []
  required init(id: Int) { self.id = id }
  class var subclasses: [any VersionedModel.Type] { [Drawer.self] }
  class var entityMapping: EntityMapping { mapping }
  fileprivate static let mapping = EntityMapping(
    table: "folder",
    columns: ["stamp": .readOnly("stamp"), "made": .date("made", .millisecondsSince1970), "parts": .json("parts")],
    keys: ["path": ["parent", "name"]],
    relations: [
      "parent": .toOne("parentID"),
      "children": .toMany(foreignKey: "parentID", order: .column("position"), removed: .delete),
      "leaves": .toMany(foreignKey: "folderID", order: .by("number"), removed: .delete),
      "notes": .toMany(foreignKey: "folderID", order: .byDescending("id"), removed: .nullify),
      "marks": .through("folderMark", from: "folderID", to: "markID", order: .column("position")),
    ],
    subclass: { try $0.value(Int?.self, in: "drawer") == nil ? Folder.self : Drawer.self })
}

@Model(version: 1, superclass: Folder.self)
final class Drawer: Folder {
  var drawer = 1
  required init(id: Int) { super.init(id: id) }
}

extension Folder: Entity {}

@Model(version: 1)
final class Leaf {
  weak var folder: Folder?
  let number: Int
  var text = ""
  init(number: Int, text: String, in folder: Folder) { (self.number, self.text, self.folder) = (number, text, folder) }
}
extension Leaf: Entity {
  static let entityMapping = EntityMapping(
    table: "leaf", keys: ["place": ["folder", "number"]], relations: ["folder": .toOne("folderID")])
}

@Model(version: 1)
struct Note: Hashable { let id: Int, text: String }
extension Note: Entity { static let entityMapping = EntityMapping(table: "note") }

@Model(version: 1)
struct Mark: Hashable { let id: Int, name: String }
extension Mark: Entity { static let entityMapping = EntityMapping(table: "mark", keys: ["name": ["name"]]) }

/// A folder as a plain value.
struct FolderPlan: Equatable, CustomStringConvertible {
  var id: Int, name: String, drawer: Int?, made: Int, parts: [String]
  var children: [FolderPlan] = [], leaves: [Int: String] = [:], notes: [Int: String] = [:], marks: [Int] = []

  static let tables = """
    CREATE TABLE folder (
      id INTEGER PRIMARY KEY, parentID INTEGER REFERENCES folder(id), name TEXT NOT NULL, position INTEGER, drawer INTEGER,
      made INTEGER NOT NULL, parts TEXT NOT NULL, stamp TEXT DEFAULT 'stamped', UNIQUE (parentID, name));
    CREATE TABLE leaf (
      folderID INTEGER NOT NULL REFERENCES folder(id), number INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (folderID, number));
    CREATE TABLE note (id INTEGER PRIMARY KEY, folderID INTEGER REFERENCES folder(id), text TEXT NOT NULL);
    CREATE TABLE mark (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE folderMark (
      folderID INTEGER NOT NULL REFERENCES folder(id), markID INTEGER NOT NULL REFERENCES mark(id), position INTEGER NOT NULL,
      PRIMARY KEY (folderID, markID));
    """

  /// Returns a tree with folder 1 as its root. No folder, drawer or note occurs twice, and each identifier always belongs to the same
  /// class.
  static func sample(_ random: inout SeededRandom) -> FolderPlan {
    var ids = (2...6).filter { _ in random.below(4) > 0 }.shuffled(using: &random)
    var notes = (1...6).shuffled(using: &random)
    func folder(_ id: Int, _ depth: Int, _ name: String) -> FolderPlan {
      var plan = FolderPlan(
        id: id, name: name, drawer: id % 3 == 0 ? random.below(4) : nil, made: random.below(1000),
        parts: (0..<random.below(3)).map { "p\($0)" })
      for number in 0..<3 where random.below(2) == 0 { plan.leaves[number] = "l\(random.below(3))" }
      while !notes.isEmpty, random.below(3) == 0 { plan.notes[notes.removeLast()] = "n\(random.below(3))" }
      plan.marks = (1...4).filter { _ in random.below(3) == 0 }.shuffled(using: &random)
      guard depth < 3 else { return plan }
      let names = ["a", "b", "c"].shuffled(using: &random)
      for name in names where random.below(3) > 0 {
        guard let id = ids.popLast() else { break }
        plan.children.append(folder(id, depth + 1, name))
      }
      return plan
    }
    return folder(1, 0, "root")
  }

  func object() -> Folder {
    let folder =
      drawer.map { (count) -> Folder in
        let drawer = Drawer(id: id)
        drawer.drawer = count
        return drawer
      } ?? Folder(id: id)
    (folder.name, folder.made) = (name, Date(timeIntervalSince1970: Double(made) / 8))
    folder.parts = parts.map { Part(name: $0) }
    folder.children = children.map { plan in
      let child = plan.object()
      child.parent = folder
      return child
    }
    folder.leaves = leaves.sorted { $0.key < $1.key }.map { Leaf(number: $0.key, text: $0.value, in: folder) }
    folder.notes = notes.sorted { $0.key > $1.key }.map { Note(id: $0.key, text: $0.value) }
    folder.marks = marks.map { Mark(id: $0, name: "m\($0)") }
    return folder
  }

  init(_ folder: Folder) {
    (id, name, drawer) = (folder.id, folder.name, (folder as? Drawer)?.drawer)
    made = Int((folder.made.timeIntervalSince1970 * 8).rounded())
    parts = folder.parts.map(\.name)
    children = folder.children.map { FolderPlan($0) }
    leaves = Dictionary(folder.leaves.map { ($0.number, $0.text) }) { first, _ in first }
    notes = Dictionary(folder.notes.map { ($0.id, $0.text) }) { first, _ in first }
    marks = folder.marks.map(\.id)
  }

  init(id: Int, name: String, drawer: Int?, made: Int, parts: [String]) {
    (self.id, self.name, self.drawer, self.made, self.parts) = (id, name, drawer, made, parts)
  }

  var json: JSONTree {
    func list(_ elements: [JSONTree]) -> JSONTree { .array(elements) }
    func pair(_ id: Int, _ key: String, _ text: String, _ idKey: String = "id") -> JSONTree {
      .object([.init(key: idKey, value: .number("\(id)")), .init(key: key, value: .text(text))])
    }
    var members: [JSONTree.Member] = [
      .init(key: "id", value: .number("\(id)")), .init(key: "name", value: .text(name)),
      .init(key: "parts", value: list(parts.map { .object([.init(key: "name", value: .text($0))]) })),
      .init(key: "children", value: list(children.map(\.json))),
      .init(
        key: "leaves", value: list(leaves.sorted { $0.key < $1.key }.map { pair($0.key, "text", $0.value, "number") })),
      .init(key: "notes", value: list(notes.map { pair($0.key, "text", $0.value) })),
      .init(key: "marks", value: list(marks.map { pair($0, "name", "m\($0)") })),
    ]
    if let drawer { members.append(.init(key: "drawer", value: .number("\(drawer)"))) }
    return .object(members)
  }

  var all: [FolderPlan] { [self] + children.flatMap(\.all) }

  var description: String {
    "\(id)\(name)\(drawer.map { "d\($0)" } ?? "")@\(made)\(parts)\(leaves.sorted { $0.key < $1.key }.map { "\($0.key)\($0.value)" })"
      + "\(notes.sorted { $0.key < $1.key }.map { "\($0.key)\($0.value)" })\(marks)\(children)"
  }
}

extension DeclaredLaws {
  /// Checks that saving a tree over another one stores the new tree, wherever its parts were before. The removal rules apply to the rest
  /// of the old tree.
  mutating func folders() {
    let plans = (0..<3).map { _ in FolderPlan.sample(&random) }
    do {
      let queue = try DatabaseQueue()
      try queue.write { try $0.execute(sql: FolderPlan.tables) }
      let store = try EntityStore(queue, Folder.self, Drawer.self, Leaf.self, Note.self, Mark.self)
      try queue.write { db in
        var notes: [Int: String] = [:]
        func check(_ what: String, _ expected: FolderPlan) throws {
          guard let root = try store.fetchOne(Folder.filter(Column("id") == 1), in: db) else {
            return add(.folders, "Folder", "\(what): the root is gone")
          }
          let found = FolderPlan(root)
          add(.folders, "Folder", found == expected ? nil : "\(what): \(found), expected \(expected)")
          let stamps = Set(try String?.fetchAll(db, sql: "SELECT stamp FROM folder"))
          add(.folders, "Folder", stamps == ["stamped"] ? nil : "\(what): stamps \(stamps)")
          let ids = try Int.fetchAll(db, sql: "SELECT id FROM folder ORDER BY id")
          let wanted = expected.all.map(\.id).sorted()
          add(.folders, "Folder", ids == wanted ? nil : "\(what): rows \(ids), expected \(wanted)")
          let leaves = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM leaf") ?? 0
          let count = expected.all.map(\.leaves.count).reduce(0, +)
          add(.folders, "Folder", leaves == count ? nil : "\(what): \(leaves) leaves, expected \(count)")
          notes.merge(expected.all.flatMap(\.notes)) { $1 }
          let rows = try Row.fetchAll(db, sql: "SELECT id, text FROM note")
          let kept = Dictionary(uniqueKeysWithValues: rows.map { ($0["id"] as Int, $0["text"] as String) })
          add(.folders, "Folder", kept == notes ? nil : "\(what): notes \(kept), expected \(notes)")
        }
        for (place, plan) in plans.enumerated() {
          let report = try store.save(plan.object(), in: db)
          try check("save \(place) of \(plans[...place])", plan)
          if place > 0, plan == plans[place - 1], !report.isEmpty { add(.folders, "Folder", "saved again: \(report)") }
          let again = try store.save(plan.object(), in: db)
          add(.folders, "Folder", again.isEmpty ? nil : "saved again: \(again)")
        }
        // A document contains all lists but no dates. If it adds an object, the object has the class that the relation names.
        var expected = FolderPlan.sample(&random)
        try store.apply(.json(Data(expected.json.text.utf8)), to: Folder.self, in: db)
        let rows = Dictionary(uniqueKeysWithValues: plans[2].all.map { ($0.id, $0) })
        var sent: [Int: Int] = [:]
        func dated(_ plan: FolderPlan) -> FolderPlan {
          var plan = plan
          plan.made = rows[plan.id]?.made ?? 0
          sent[plan.id] = rows[plan.id]?.drawer == nil ? nil : plan.drawer
          plan.drawer = rows[plan.id]?.drawer.map { plan.drawer ?? $0 }
          plan.children = plan.children.map(dated)
          return plan
        }
        expected = dated(expected)
        try check("document over \(plans[2])", expected)
        // The row decides which class the object has. If the document has a value for the field that only this class has, the value is
        // stored.
        for (id, drawer) in sent.sorted(by: { $0.key < $1.key }) {
          let found = try Int.fetchOne(db, sql: "SELECT drawer FROM folder WHERE id = ?", arguments: [id])
          add(.folders, "Drawer", found == drawer ? nil : "a document with \(drawer as Any) left \(found as Any)")
        }
      }
    } catch { add(.folders, "Folder", "\(error), from \(plans)") }
  }
}
