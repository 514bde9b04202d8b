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

/// One of the kinds of model changes that Docs/Evolving.md lists.
struct Change: Sendable, CustomTestStringConvertible {
  enum Need: Sendable { case nothing, version, step }

  let name: String
  let need: Need
  /// A part of the message that reports the change.
  var says = ""
  /// A part of the migration step that the schema lock proposes.
  var draft = ""
  var before: Probe.Declaration
  var after: Probe.Declaration
  var testDescription: String { name }

  /// A field that every declaration has.
  static let id = FieldInfo("id", Int.self)

  init(
    _ name: String, _ need: Need, says: String = "", draft: String = "", _ before: [FieldInfo], _ after: [FieldInfo],
    _ steps: MigrationOperation..., edit: (inout Probe.Declaration) -> Void = { _ in }
  ) {
    (self.name, self.need, self.says, self.draft) = (name, need, says, draft)
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
    Change(
      "an optional is added", .version, says: "the field note of the type String? was added", [],
      [.init("note", String?.self)]),
    Change(
      "a field with a default is added", .version, says: "the field stars of the type Int was added", [],
      [.init("stars", Int.self, default: { 3 })]),
    Change(
      "a required field is added", .step, says: "the field stars of the type Int was added", [],
      [.init("stars", Int.self)],
      .setDefault("stars", 0)),
    Change("a field is removed", .step, says: "the field title was removed", [title], [], .drop("title")),
    Change(
      "a field is renamed", .step, says: "the field title was removed", [title], [.init("heading", String.self)],
      .rename("title", to: "heading")),
    Change(
      "a field is renamed, and declares its former key", .version, says: "the field title was renamed to heading",
      [title],
      [.init("heading", String.self, formerly: ["title"])]),
    Change(
      "a field moves into another model", .step, says: "the field title was removed",
      draft: #".move("title", to: "text.title", creating: .init("Text", version: 1)),"#, [title],
      [.init("text", Text?.self)],
      .move("title", to: "text.title", creating: .init("Text", version: 1))),
    Change(
      "a type changes", .step, says: "the type of the field stars changed from Int to String",
      [.init("stars", Int.self)],
      [.init("stars", String.self)],
      .convert("stars", .toString)),
    Change(
      "an integer becomes wider", .version, says: "the type of the field stars changed from Int16 to Int",
      [.init("stars", Int16.self)],
      [.init("stars", Int.self)]),
    Change(
      "an integer becomes narrower", .step, says: "the type of the field stars changed from Int to Int16",
      [.init("stars", Int.self)],
      [.init("stars", Int16.self)],
      .custom("clamp the stars") { record in
        record["stars"] = record["stars"]?.intValue.map { .integer(Int16(clamping: $0)) }
      }),
    Change(
      "a value becomes optional", .version, says: "the type of the field title changed from String to String?", [title],
      [.init("title", String?.self)]),
    Change(
      "an optional becomes required", .step, says: "the type of the field title changed from String? to String",
      [.init("title", String?.self)],
      [title],
      .replaceNull("title", with: "")),
    Change(
      "a value becomes a list", .step, says: "the type of the field tag changed from String to [String]",
      [.init("tag", String.self)],
      [.init("tag", [String].self)], .convert("tag", .toArray)),
    Change(
      "a default changes", .version, says: "the default of the field stars changed from 3 to 4",
      [.init("stars", Int.self, default: { 3 })],
      [.init("stars", Int.self, default: { 4 })]),
    Change(
      "a default goes away", .version, says: "the default of the field stars changed from 3 to none",
      [.init("stars", Int.self, default: { 3 })],
      [.init("stars", Int.self)]),
    Change(
      "a path in JSON changes", .version,
      says: "the JSON mapping of the field title changed from “title” to “names.first”", [title],
      [.init("title", String.self, json: "names.first")]),
    Change(
      "archives no longer have a field", .step,
      says: "the archive behavior of the field title changed from always to excluded", [.init("title", String?.self)],
      [.init("title", String?.self, archive: .excluded)], .drop("title")),
    Change(
      "a case with a raw value is added", .version,
      says: "the type of the field state changed from String enum(closed=closed|draft=draft|open=open)",
      [.init("state", State.self)],
      [.init("state", MoreStates.self)]),
    Change(
      "a case with a raw value is removed", .step, says: " to String enum(closed=closed|open=open)",
      [.init("state", State.self)],
      [.init("state", FewerStates.self)],
      .convert("state", .mapping(["draft": "open", "open": "open", "closed": "closed"]))),
    Change(
      "a raw value changes", .step, says: " to String enum(closed=closed|draft=draft|o=open)",
      [.init("state", State.self)],
      [.init("state", OtherValues.self)],
      .convert("state", .mapping(["open": "o", "draft": "draft", "closed": "closed"]))),
    Change(
      "a raw value changes, and the enum lists the former raw value", .version,
      says: " to String enum(closed=closed|draft=sketch|open=open|sketch=sketch)",
      [.init("state", State.self)], [.init("state", RenamedStates.self)]),
    Change(
      "two cases exchange their raw values", .step,
      says: "the type of the field priority changed from Int enum(0=low|1=high) to Int enum(0=high|1=low)",
      [.init("priority", Priority.self)], [.init("priority", SwappedPriority.self)],
      .convert("priority", .mapping([0: 1, 1: 0]))),
    Change(
      "a case is inserted, and other cases get the next raw values", .step, says: " to Int enum(0=low|1=normal|2=high)",
      [.init("priority", Priority.self)], [.init("priority", ShiftedPriority.self)],
      .convert("priority", .mapping([0: 0, 1: 2]))),
    Change(
      "a case with a raw value is removed, and the enum has an unknown case", .step,
      says: "the type of the field state changed from String enum",
      [.init("state", State.self)], [.init("state", OpenStates.self)],
      .convert("state", .mapping(["draft": "other", "open": "open", "closed": "closed"]))),
    Change(
      "text becomes a structure with a raw value", .version,
      says: "the type of the field label changed from String to String enum",
      [.init("label", String.self)],
      [.init("label", Label.self)]),
    Change(
      "an enum becomes its raw value", .version, says: " to String", [.init("state", State.self)],
      [.init("state", String.self)]),
    Change(
      "a field is renamed, declares its former key, and changes its type", .step,
      says: "the type of the field heading changed from Int to String",
      [.init("title", Int.self)], [.init("heading", String.self, formerly: ["title"])],
      .rename("title", to: "heading"), .convert("heading", .toString)),
    Change(
      "archives contain a field that was previously excluded", .step,
      says: "the archive behavior of the field stars changed from excluded to always",
      [.init("stars", Int?.self, archive: .excluded)], [.init("stars", Int.self)], .setDefault("stars", 0)),
    Change("unknown fields are kept", .version, says: "the model now keeps unknown fields", [title], [title]) {
      $0.keepsUnknownFields = true
    },
    Change(
      "the model is renamed, and declares its former name", .version,
      says: "the model was renamed from Issue to Ticket",
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

struct Hint: DescribedModel {
  var title: String?

  static let fields = Fields(Hint.self, version: 1, Field("title", \.title), make: { Hint(title: $0) })
}

extension ProbeTests {
  @Suite("Model changes") struct ChangeTests {
    private func problems(_ declaration: Probe.Declaration, _ folder: URL, records: Bool = false) throws -> [String] {
      Probe.declare(declaration)
      do { try SchemaLock(Probe.self, folder: folder, records: records).check() } catch let error as SchemaLockError {
        return error.problems
      }
      return []
    }

    @Test("The schema lock treats each kind of change as the table in Docs/Evolving.md states", arguments: Change.all)
    func kinds(change: Change) throws {
      try withFolder { (folder: URL) throws in
        #expect(try problems(change.before, folder, records: true) == [])
        #expect(try problems(change.before, folder) == [])
        // The model changes, but its version stays the same.
        var declaration = change.after
        declaration.steps = []
        let same = try problems(declaration, folder)
        #expect(same.isEmpty == (change.need == .nothing), "\(same)")
        #expect(change.need == .nothing || same.joined().contains(change.says), "\(same)")
        #expect(change.need == .nothing || same.joined().contains("version to 2"), "\(same)")
        guard change.need != .nothing else { return }
        // The version is raised, but there is no migration step.
        declaration.version = 2
        let next = try problems(declaration, folder, records: true)
        #expect(next.isEmpty == (change.need == .version), "\(next)")
        #expect(change.draft.isEmpty || next.joined().contains(change.draft), "\(next)")
        guard change.need == .step else { return #expect(try problems(declaration, folder) == []) }
        #expect(next.joined().contains(change.says), "\(next)")
        // The migration step is declared.
        declaration.steps = change.after.steps
        #expect(try problems(declaration, folder, records: true) == [])
        #expect(try problems(declaration, folder) == [])
      }
    }
  }
}
