import Foundation
import StrataCore
import StrataTestSupport
import StrataTesting
import Testing

enum State: String, Archivable, CaseIterable { case open, closed, draft }
enum FewerStates: String, Archivable, CaseIterable { case open, closed }
enum MoreStates: String, Archivable, CaseIterable { case open, closed, draft, lost }
enum RenamedStates: String, Archivable, CaseIterable, CaseAliasing {
  case open, closed, sketch
  static let formerRawValues: [String: RenamedStates] = ["draft": .sketch]
}
enum Priority: Int, Archivable, CaseIterable { case low, high }
enum SwappedPriority: Int, Archivable, CaseIterable { case high, low }
enum ShiftedPriority: Int, Archivable, CaseIterable { case low, normal, high }
enum OpenStates: String, Archivable, CaseIterable, UnknownCaseRepresentable {
  case open, closed, other
  static let unknownCase = OpenStates.other
}
enum OddValues: String, Archivable, CaseIterable { case less = "<", both = "=)", none = "" }
enum MoreOddValues: String, Archivable, CaseIterable { case less = "<", both = "=)", none = "", more = "[a]|?" }
struct Label: RawRepresentable, Archivable { var rawValue = "" }

enum OtherValues: String, Archivable, CaseIterable {
  case open = "o"
  case closed, draft
}

/// One kind of change to a model, as Docs/Evolving.md lists them.
struct Change: Sendable, CustomTestStringConvertible {
  enum Need: Sendable { case nothing, version, step }

  let name: String
  let need: Need
  /// A part of the message that names the change.
  var says = ""
  var before: Probe.Declaration
  var after: Probe.Declaration
  var testDescription: String { name }

  /// Fields that each declaration has.
  static let id = FieldInfo("id", Int.self)

  init(
    _ name: String, _ need: Need, says: String = "", _ before: [FieldInfo], _ after: [FieldInfo],
    _ steps: MigrationOperation..., edit: (inout Probe.Declaration) -> Void = { _ in }
  ) {
    (self.name, self.need, self.says) = (name, need, says)
    self.before = Probe.Declaration(fields: [Self.id] + before)
    self.after = Probe.Declaration(fields: [Self.id] + after)
    if !steps.isEmpty { self.after.steps = [MigrationStep(fromVersion: 1, toVersion: 2, operations: steps)] }
    edit(&self.after)
  }
}

extension Change {
  private static let title = FieldInfo("title", String.self)

  static let all: [Change] = [
    Change("fields are reordered", .nothing, [title, .init("stars", Int.self)], [.init("stars", Int.self), title]),
    Change("a merge policy is declared", .nothing, [title], [.init("title", String.self, merge: .keepLocal)]),
    Change("equality ignores a field", .nothing, [title], [.init("title", String.self, storage: .transitory)]),
    Change(
      "the type of an enum is renamed", .nothing, [.init("state", State.self)], [.init("state", Renamed.State.self)]),
    Change("an optional is added", .version, says: "note: String? was added", [], [.init("note", String?.self)]),
    Change(
      "a field with a default is added", .version, says: "stars: Int was added", [],
      [.init("stars", Int.self, default: { 3 })]),
    Change(
      "a required field is added", .step, says: "stars: Int was added", [], [.init("stars", Int.self)],
      .setDefault("stars", 0)),
    Change("a field is removed", .step, says: "title was removed", [title], [], .drop("title")),
    Change(
      "a field is renamed", .step, says: "title was removed", [title], [.init("heading", String.self)],
      .rename("title", to: "heading")),
    Change(
      "a field is renamed, and declares its former key", .version, says: "title is called heading", [title],
      [.init("heading", String.self, formerly: ["title"])]),
    Change(
      "a field moves into another model", .step, says: "title was removed", [title], [.init("text", Text?.self)],
      .move("title", to: "text.title", creating: .init("Text", version: 1))),
    Change(
      "a type changes", .step, says: "stars was Int and is String", [.init("stars", Int.self)],
      [.init("stars", String.self)],
      .convert("stars", .toString)),
    Change(
      "an integer becomes wider", .version, says: "stars was Int16 and is Int", [.init("stars", Int16.self)],
      [.init("stars", Int.self)]),
    Change(
      "an integer becomes narrower", .step, says: "stars was Int and is Int16", [.init("stars", Int.self)],
      [.init("stars", Int16.self)],
      .custom("clamp the stars") { record in
        record["stars"] = record["stars"]?.intValue.map { .integer(Int16(clamping: $0)) }
      }),
    Change(
      "a value becomes optional", .version, says: "title was String and is String?", [title],
      [.init("title", String?.self)]),
    Change(
      "an optional becomes required", .step, says: "title was String? and is String", [.init("title", String?.self)],
      [title],
      .replaceNull("title", with: "")),
    Change(
      "a value becomes a list", .step, says: "tag was String and is [String]", [.init("tag", String.self)],
      [.init("tag", [String].self)], .convert("tag", .toArray)),
    Change(
      "a default changes", .version, says: "the default of stars was 3 and is 4",
      [.init("stars", Int.self, default: { 3 })],
      [.init("stars", Int.self, default: { 4 })]),
    Change(
      "a default goes away", .version, says: "the default of stars was 3 and is none",
      [.init("stars", Int.self, default: { 3 })],
      [.init("stars", Int.self)]),
    Change(
      "a path in JSON changes", .version, says: "JSON had title at its key and has it at names.first", [title],
      [.init("title", String.self, json: "names.first")]),
    Change(
      "archives no longer have a field", .step, says: "archives had title: always", [.init("title", String?.self)],
      [.init("title", String?.self, archive: .excluded)], .drop("title")),
    Change(
      "a case with a raw value is added", .version, says: "state was String enum(closed=closed|draft=draft|open=open)",
      [.init("state", State.self)],
      [.init("state", MoreStates.self)]),
    Change(
      "a case with a raw value is removed", .step, says: "and is String enum(closed=closed|open=open)",
      [.init("state", State.self)],
      [.init("state", FewerStates.self)],
      .convert("state", .mapping(["draft": "open", "open": "open", "closed": "closed"]))),
    Change(
      "a raw value changes", .step, says: "and is String enum(closed=closed|draft=draft|o=open)",
      [.init("state", State.self)],
      [.init("state", OtherValues.self)],
      .convert("state", .mapping(["open": "o", "draft": "draft", "closed": "closed"]))),
    Change(
      "a raw value changes, and the enum lists the former one", .version,
      says: "and is String enum(closed=closed|draft=sketch|open=open|sketch=sketch)",
      [.init("state", State.self)], [.init("state", RenamedStates.self)]),
    Change(
      "two cases exchange their raw values", .step,
      says: "priority was Int enum(0=low|1=high) and is Int enum(0=high|1=low)",
      [.init("priority", Priority.self)], [.init("priority", SwappedPriority.self)],
      .convert("priority", .mapping([0: 1, 1: 0]))),
    Change(
      "a case is inserted, and others get the next raw values", .step, says: "and is Int enum(0=low|1=normal|2=high)",
      [.init("priority", Priority.self)], [.init("priority", ShiftedPriority.self)],
      .convert("priority", .mapping([0: 0, 1: 2]))),
    Change(
      "a case with a raw value is removed, and the enum has an unknown case", .step, says: "state was String enum",
      [.init("state", State.self)], [.init("state", OpenStates.self)],
      .convert("state", .mapping(["draft": "other", "open": "open", "closed": "closed"]))),
    Change(
      "text becomes a structure with a raw value", .version, says: "label was String and is String enum",
      [.init("label", String.self)],
      [.init("label", Label.self)]),
    Change(
      "an enum becomes its raw value", .version, says: "is String", [.init("state", State.self)],
      [.init("state", String.self)]),
    Change(
      "a field is renamed, declares its former key, and changes its type", .step, says: "heading was Int and is String",
      [.init("title", Int.self)], [.init("heading", String.self, formerly: ["title"])],
      .rename("title", to: "heading"), .convert("heading", .toString)),
    Change(
      "archives have a field that they excluded", .step, says: "archives had stars: excluded",
      [.init("stars", Int?.self, archive: .excluded)], [.init("stars", Int.self)], .setDefault("stars", 0)),
    Change("unknown fields are kept", .version, says: "it keeps unknown fields now", [title], [title]) {
      $0.keepsUnknownFields = true
    },
    Change(
      "the model is renamed, and declares its former name", .version, says: "it was called Issue and is called Ticket",
      [title],
      [title]
    ) {
      $0.name = "Ticket"
      $0.formerNames = ["Issue"]
    },
  ]
}

enum Renamed { enum State: String, Archivable, CaseIterable { case open, closed, draft } }

struct Text: DescribedModel {
  var title = ""

  static let fields = Fields(Text.self, version: 1, Field("title", \.title), make: { Text(title: $0) })
}

extension ProbeTests {
  @Suite("Changes of a model") struct ChangeTests {
    private func problems(_ declaration: Probe.Declaration, _ folder: URL, records: Bool = false) throws -> [String] {
      Probe.declare(declaration)
      do { try SchemaLock(Probe.self, folder: folder, records: records).check() } catch let error as SchemaLockError {
        return error.problems
      }
      return []
    }

    @Test("Each kind of change is caught, or passes, as the table in Docs/Evolving.md says", arguments: Change.all)
    func kinds(change: Change) throws {
      try withFolder { (folder: URL) throws in
        #expect(try problems(change.before, folder, records: true) == [])
        #expect(try problems(change.before, folder) == [])
        // The same version.
        var declaration = change.after
        declaration.steps = []
        let same = try problems(declaration, folder)
        #expect(same.isEmpty == (change.need == .nothing), "\(same)")
        #expect(change.need == .nothing || same.joined().contains(change.says), "\(same)")
        #expect(change.need == .nothing || same.joined().contains("version 2"), "\(same)")
        guard change.need != .nothing else { return }
        // The next version, without a step.
        declaration.version = 2
        let next = try problems(declaration, folder, records: true)
        #expect(next.isEmpty == (change.need == .version), "\(next)")
        guard change.need == .step else { return #expect(try problems(declaration, folder) == []) }
        #expect(next.joined().contains(change.says), "\(next)")
        // With the step.
        declaration.steps = change.after.steps
        #expect(try problems(declaration, folder, records: true) == [])
        #expect(try problems(declaration, folder) == [])
      }
    }
  }
}
