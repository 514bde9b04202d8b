import Foundation
import StrataCore
import StrataTestSupport
import StrataTesting
import Testing

private final class Owner: DescribedModel {
  var name = ""
  var friend: Owner?

  static let fields = Fields(
    Owner.self, version: 2, Field("name", \.name), Field("friend", \.friend),
    make: {
      let owner = Owner()
      (owner.name, owner.friend) = ($0, $1)
      return owner
    })
}

/// A model with each kind of field.
private struct Wide: DescribedModel {
  var number: Int8 = 1
  var owner: Owner?
  var states: [State] = []
  var byName: [String: Text] = [:]
  var byNumber: [Int: Date] = [:]
  var names: Set<String> = []
  var created = Date()
  var key = UUID()
  var any: ArchiveValue = .null
  var price: Decimal?

  static let fields = Fields(
    Wide.self, version: 1, Field("number", \.number), Field("owner", \.owner), Field("states", \.states),
    Field("byName", \.byName), Field("byNumber", \.byNumber), Field("names", \.names),
    Field("created", \.created, default: Date()), Field("key", \.key, default: UUID()), Field("any", \.any),
    Field("price", \.price),
    make: {
      Wide(
        number: $0, owner: $1, states: $2, byName: $3, byNumber: $4, names: $5, created: $6, key: $7, any: $8, price: $9
      )
    })
}

/// Two classes that require each other, so the lock cannot construct a value of either.
private final class Parent: DescribedModel {
  let child: Youngster
  init(_ child: Youngster) { self.child = child }
  static let fields = Fields(Parent.self, version: 1, Field("child", \.child), make: { Parent($0) })
}
private final class Youngster: DescribedModel {
  let parent: Parent
  init(_ parent: Parent) { self.parent = parent }
  static let fields = Fields(Youngster.self, version: 1, Field("parent", \.parent), make: { Youngster($0) })
}

/// The model ``Text`` under another name.
private struct Note: DescribedModel {
  var title = ""
  static let fields = Fields(
    Note.self, name: "Note", formerNames: ["Text"], version: 1, Field("title", \.title), make: { Note(title: $0) })
}

/// A model whose hook changes it each time it is decoded.
private struct Counted: DescribedModel, PostDecoding {
  var opened = 0
  static let fields = Fields(Counted.self, version: 1, Field("opened", \.opened), make: { Counted(opened: $0) })
  mutating func didDecode(from source: DecodingSource) throws { opened += 1 }
}

/// An enum with payloads, one of which contains the enum itself.
private enum Tree: EnumModel {
  case leaf(Text)
  indirect case node(Tree, Tree?)

  static let schema = ModelSchema(
    Tree.self, name: "Tree", version: 1,
    cases: [.init("leaf", payload: [Text.self]), .init("node", payload: [Tree.self, Tree?.self])])

  func encodeCase(to writer: inout ArchiveWriter) throws {
    switch self {
    case .leaf(let text):
      try writer.beginCase(Self.schema, "leaf", count: 1)
      try writer.payload("_0", text)
    case .node(let left, let right):
      try writer.beginCase(Self.schema, "node", count: 2)
      try writer.payload("_0", left)
      try writer.payload("_1", right)
    }
    writer.endCase()
  }

  static func make(case name: String, payload: CasePayload) throws -> Tree? {
    switch name {
    case "leaf": .leaf(try payload.value("_0"))
    case "node": .node(try payload.value("_0"), try payload.value("_1"))
    default: nil
    }
  }
}

extension ProbeTests {
  @Suite("Schema locks") struct LockTests {
    private func problems(_ models: any VersionedModel.Type..., in folder: URL, records: Bool = false) throws
      -> [String]
    {
      do {
        for model in models { try SchemaLock(model, folder: folder, records: records).check() }
      } catch let error as SchemaLockError { return error.problems }
      return []
    }

    private func declare(
      _ version: Int, name: String = "Issue", _ fields: FieldInfo..., steps: [MigrationStep] = []
    ) {
      Probe.declare(.init(version: version, name: name, fields: fields, steps: steps))
    }

    private let title = FieldInfo("title", String.self)

    @Test("An unrecorded version is a problem until it is recorded")
    func recording() throws {
      try withFolder { (folder: URL) throws in
        declare(1, title)
        let missing = try problems(Probe.self, in: folder)
        #expect(missing.count == 1 && missing[0].contains("version 1 of Issue is not recorded"), "\(missing)")
        #expect(missing[0].contains("STRATA_RECORD=1"))
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        #expect(
          try FileManager.default.contentsOfDirectory(atPath: folder.path + "/Issue").sorted() == [
            "1.json", "1.strata",
          ])
        #expect(try problems(Probe.self, in: folder) == [])
        // The lock never changes a recorded file.
        declare(1, title, FieldInfo("note", String?.self))
        let before = try Data(contentsOf: folder.appendingPathComponent("Issue/1.json"))
        #expect(try problems(Probe.self, in: folder, records: true).count == 1)
        #expect(try Data(contentsOf: folder.appendingPathComponent("Issue/1.json")) == before)
      }
    }

    @Test("Nested models are also recorded, with fields of any type")
    func inside() throws {
      try withFolder { (folder: URL) throws in
        #expect(try problems(Wide.self, in: folder, records: true) == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["Owner", "Text", "Wide"])
        // The check runs twice, because dates and UUIDs differ each time.
        for _ in 0..<2 { #expect(try problems(Wide.self, in: folder) == []) }
        let wides = try ArchiveDecoder().decode(
          [Wide].self, from: Data(contentsOf: folder.appendingPathComponent("Wide/1.strata")))
        #expect(wides.first?.owner == nil && wides.first?.states == [])
        #expect(wides.contains { $0.owner?.friend?.name.isEmpty == false && !$0.byName.isEmpty && $0.price != nil })
        #expect(Set(wides.flatMap(\.states)) == Set(State.allCases))
      }
    }

    @Test("A recorded file that was edited is a problem", arguments: ["json", "strata"])
    func edited(kind: String) throws {
      try withFolder { (folder: URL) throws in
        declare(1, title)
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        let url = folder.appendingPathComponent("Issue/1.\(kind)")
        var bytes = try Data(contentsOf: url)
        let text = Data("title".utf8)
        let place = try kind == "json" ? #require(bytes.range(of: text)).lowerBound : bytes.count - 5
        bytes[place] ^= 1
        try bytes.write(to: url)
        let found = try problems(Probe.self, in: folder)
        #expect(found.count == 1 && found[0].contains("Issue/1.\(kind)") && found[0].contains("; restore "), "\(found)")
        try Data().write(to: url)
        #expect(try problems(Probe.self, in: folder).count == 1)
      }
    }

    @Test("A recorded version that is older than the first step is a problem")
    func unreachable() throws {
      try withFolder { (folder: URL) throws in
        declare(1, title)
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(3, title, steps: [.init(fromVersion: 2, toVersion: 3, operations: [])])
        let found = try problems(Probe.self, in: folder)
        #expect(
          found.contains {
            $0.contains("version 1 of Issue can no longer be opened because the model's steps begin at version 2")
          }, "\(found)"
        )
      }
    }

    @Test("A model version lower than a recorded one is a problem")
    func lowered() throws {
      try withFolder { (folder: URL) throws in
        declare(4, title)
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(3, title)
        let found = try problems(Probe.self, in: folder, records: true)
        #expect(
          found.count == 1 && found[0].contains("Issue/4.json is recorded, but the current version of Issue is only 3"),
          "\(found)")
      }
    }

    @Test("A recorded model name that no model has anymore is a problem")
    func lost() throws {
      try withFolder { (folder: URL) throws in
        declare(1, title)
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(1, name: "Ticket", title)
        let found = try problems(Probe.self, in: folder, records: true)
        #expect(found.count == 1 && found[0].contains("formerNames: [\"Issue\"]"), "\(found)")
      }
    }

    @Test("Changing the step to a recorded version is a problem")
    func step() throws {
      try withFolder { (folder: URL) throws in
        func steps(_ operation: MigrationOperation) -> [MigrationStep] {
          [MigrationStep(fromVersion: 1, toVersion: 2, operations: [operation])]
        }
        let stars = FieldInfo("stars", Int.self)
        declare(1, title)
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(2, title, stars, steps: steps(.setDefault("stars", 1)))
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(2, title, stars, steps: steps(.setDefault("stars", 2)))
        let found = try problems(Probe.self, in: folder)
        #expect(
          found.count == 1
            && found[0].contains(
              "(recorded operations: set the default of stars: 1; current operations: set the default of stars: 2)"
            ), "\(found)")
      }
    }

    @Test("The lock drafts the next step and guesses renamed fields by type and name")
    func draft() throws {
      try withFolder { (folder: URL) throws in
        declare(
          1, title, FieldInfo("summary", String.self), FieldInfo("goal", Int?.self), FieldInfo("note", String?.self))
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(
          2, FieldInfo("shortSummary", String.self), FieldInfo("goal", Int.self, default: { 10 }),
          FieldInfo("stars", Double.self),
          FieldInfo("note", String?.self))
        let found = try problems(Probe.self, in: folder)
        let draft = try #require(found.first)
        for line in [
          ".step(from: 1, to: 2,", ".rename(\"summary\", to: \"shortSummary\"),", ".drop(\"title\"),",
          ".replaceNull(\"goal\", with: 10),", ".setDefault(\"stars\", <#Double#>),",
        ] { #expect(draft.contains(line), "\(draft)") }
        // An optional field that did not change keeps its `nil` values, so the draft doesn't mention it.
        #expect(!draft.contains("note"), "\(draft)")
      }
    }

    @Test("A golden archive that a step cannot upgrade is a problem")
    func golden() throws {
      try withFolder { (folder: URL) throws in
        declare(1, FieldInfo("stars", String.self))
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        // The recorded strings are not numbers, so the conversion fails.
        declare(
          2, FieldInfo("stars", Int.self),
          steps: [.init(fromVersion: 1, toVersion: 2, operations: [.convert("stars", .toInteger)])])
        let found = try problems(Probe.self, in: folder, records: true)
        #expect(
          found.count == 1 && found[0].contains("1.strata of version 1 of Issue can no longer be opened"),
          "\(found)")
      }
    }

    @Test("Changing a step to an older version is a problem")
    func olderStep() throws {
      try withFolder { (folder: URL) throws in
        let stars = FieldInfo("stars", Int.self)
        func steps(_ value: ArchiveValue) -> [MigrationStep] {
          [
            .init(fromVersion: 1, toVersion: 2, operations: [.setDefault("stars", value)]),
            .init(fromVersion: 2, toVersion: 3, operations: []),
          ]
        }
        declare(1, title)
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(2, title, stars, steps: Array(steps(1).prefix(1)))
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(3, title, stars, steps: steps(1))
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(3, title, stars, steps: steps(2))
        let found = try problems(Probe.self, in: folder)
        #expect(found.count == 1 && found[0].contains("the step of Issue to version 2 was changed"), "\(found)")
      }
    }

    @Test("A field that is renamed twice and declares its former keys needs no step")
    func renamedTwice() throws {
      try withFolder { (folder: URL) throws in
        declare(1, title)
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(2, FieldInfo("heading", String.self, formerly: ["title"]))
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(3, FieldInfo("headline", String.self, formerly: ["heading", "title"]))
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        #expect(try problems(Probe.self, in: folder) == [])
      }
    }

    @Test("Renaming a nested model that declares its former name is a problem of that model only")
    func renamedInside() throws {
      try withFolder { (folder: URL) throws in
        declare(1, FieldInfo("text", Text.self))
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(1, FieldInfo("text", Note.self))
        let found = try problems(Probe.self, in: folder)
        #expect(found.count == 1 && found[0].contains("the model was renamed from Text to Note"), "\(found)")
      }
    }

    @Test("The recorded file of a model without possible values states why it has no golden archive")
    func impossible() throws {
      try withFolder { (folder: URL) throws in
        for _ in 0..<2 { #expect(try problems(Parent.self, in: folder, records: true) == []) }
        let file = try String(contentsOf: folder.appendingPathComponent("Parent/1.json"), encoding: .utf8)
        #expect(
          file.contains("\"withoutArchive\"") && file.contains("a required field contains the model itself"),
          "\(file)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/Parent") == ["1.json"])
      }
    }

    @Test("A model whose hook changes it can be recorded and checked")
    func hook() throws {
      try withFolder { (folder: URL) throws in
        #expect(try problems(Counted.self, in: folder, records: true) == [])
        #expect(try problems(Counted.self, in: folder) == [])
        #expect(FileManager.default.fileExists(atPath: folder.path + "/Counted/1.strata"))
      }
    }

    @Test("Removing a former key is a problem, because older values would not be read")
    func formerKeyRemoved() throws {
      try withFolder { (folder: URL) throws in
        declare(1, title)
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(2, FieldInfo("heading", String?.self, formerly: ["title"]))
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(3, FieldInfo("heading", String?.self))
        let found = try problems(Probe.self, in: folder, records: true)
        #expect(
          found.count == 1 && found[0].contains("from version 1 to 2")
            && found[0].contains("the field title was removed"),
          "\(found)")
      }
    }

    @Test("A step that sets the default of a field with a former key is a problem")
    func defaultForRenamed() throws {
      try withFolder { (folder: URL) throws in
        declare(1, title)
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(
          2, FieldInfo("heading", String.self, formerly: ["title"]),
          steps: [.init(fromVersion: 1, toVersion: 2, operations: [.setDefault("heading", "")])])
        let found = try problems(Probe.self, in: folder, records: true)
        #expect(found.count == 1 && found[0].contains("the former key title is not read"), "\(found)")
      }
    }

    @Test("Removing a recorded step is a problem")
    func stepsRemoved() throws {
      try withFolder { (folder: URL) throws in
        let stars = FieldInfo("stars", Int.self, default: { 0 })
        declare(1, title)
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        let step = MigrationStep(fromVersion: 1, toVersion: 2, operations: [.setDefault("stars", 5)])
        declare(2, title, stars, steps: [step])
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(2, title, stars)
        let found = try problems(Probe.self, in: folder)
        #expect(
          found.count == 1
            && found[0].contains("recorded operations: set the default of stars: 5; current operations: none"),
          "\(found)")
      }
    }

    @Test("A missing step in a chain is a problem with a draft of the step")
    func chainTooShort() throws {
      try withFolder { (folder: URL) throws in
        let first = MigrationStep(fromVersion: 1, toVersion: 2, operations: [.setDefault("stars", 5)])
        let stars = FieldInfo("stars", Int.self)
        declare(1, title)
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(2, title, stars, steps: [first])
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(3, stars, steps: [first])
        let found = try problems(Probe.self, in: folder, records: true).joined(separator: "\n")
        #expect(
          found.contains("the step from version 2 to 3 is missing") && found.contains(".drop(\"title\"),"), "\(found)")
      }
    }

    @Test("A step that renames a field to a narrower type without converting it is a problem")
    func narrowed() throws {
      try withFolder { (folder: URL) throws in
        declare(1, FieldInfo("count", Int.self))
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(
          2, FieldInfo("total", Int32.self),
          steps: [.init(fromVersion: 1, toVersion: 2, operations: [.rename("count", to: "total")])])
        let found = try problems(Probe.self, in: folder, records: true)
        #expect(
          found.count == 1
            && found[0].contains("a step renames count to total without converting its value from Int to Int32"),
          "\(found)")
      }
    }

    @Test("An oldest reader that would misread newer data is a problem")
    func floors() throws {
      try withFolder { (folder: URL) throws in
        func problems(_ version: Int, _ fields: [FieldInfo], reader: Int? = nil, records: Bool = true) throws
          -> [String]
        {
          Probe.declare(
            .init(version: version, fields: [title] + fields, keepsUnknownFields: version > 1, oldestReader: reader))
          return try self.problems(Probe.self, in: folder, records: records)
        }
        let stars = FieldInfo("stars", Int.self, default: { 0 })
        #expect(try problems(1, []) == [])
        #expect(try problems(2, []) == [])
        #expect(try problems(3, [stars], reader: 2, records: false).filter { !$0.contains("is not recorded") } == [])
        let unknown = try problems(3, [stars], reader: 1, records: false)
        #expect(
          unknown.contains {
            $0.contains("that version 1 can read") && $0.contains("no property of the type UnknownFields")
          },
          "\(unknown)")
        #expect(try problems(3, [stars], reader: 2) == [])
        let wide = FieldInfo("stars", Int?.self)
        let changed = try problems(4, [wide], reader: 2, records: false)
        #expect(
          changed.contains {
            $0.contains("that version 3 can read")
              && $0.contains("- the type of the field stars changed from Int to Int?")
          },
          "\(changed)")
        #expect(try problems(4, [wide]) == [])
      }
    }

    @Test("A folder that was renamed by hand is a problem")
    func moved() throws {
      try withFolder { (folder: URL) throws in
        declare(1, title)
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        try FileManager.default.moveItem(atPath: folder.path + "/Issue", toPath: folder.path + "/Ticket")
        declare(1, name: "Ticket", title)
        let found = try problems(Probe.self, in: folder, records: true)
        #expect(found.count == 1 && found[0].contains("Ticket/1.json was edited or moved"), "\(found)")
      }
    }

    @Test("A recursive enum is recorded with its cases")
    func tree() throws {
      try withFolder { (folder: URL) throws in
        #expect(try problems(Tree.self, in: folder, records: true) == [])
        #expect(try problems(Tree.self, in: folder) == [])
        #expect(FileManager.default.fileExists(atPath: folder.path + "/Tree/1.strata"))
        let json = try String(contentsOf: folder.appendingPathComponent("Tree/1.json"), encoding: .utf8)
        #expect(json.contains("\"_1\": \"Tree?\""), "\(json)")
      }
    }

    @Test("Enums whose raw values contain any characters are recorded")
    func oddRawValues() throws {
      try withFolder { (folder: URL) throws in
        declare(1, FieldInfo("odd", [OddValues].self))
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(2, FieldInfo("odd", [MoreOddValues].self))
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        declare(3, FieldInfo("odd", [OddValues].self))
        let found = try problems(Probe.self, in: folder)
        #expect(found.contains { $0.contains("the type of the field odd changed from [String enum(") }, "\(found)")
      }
    }

    @Test("No version is recorded while a nested model has a problem")
    func recordingTogether() throws {
      try withFolder { (folder: URL) throws in
        declare(1, FieldInfo("text", Text?.self))
        #expect(try problems(Probe.self, in: folder, records: true) == [])
        let url = folder.appendingPathComponent("Text/1.json")
        let json = try String(contentsOf: url, encoding: .utf8)
        try Data(json.replacingOccurrences(of: "title", with: "heading").utf8).write(to: url)
        declare(2, FieldInfo("text", Text?.self), title, steps: [])
        #expect(try !problems(Probe.self, in: folder, records: true).isEmpty)
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/Issue/2.json"))
      }
    }

    @Test("Model names that are not valid file names are escaped")
    func names() throws {
      try withFolder { (folder: URL) throws in
        for name in ["../up", ".", "Space.Podcast", "Page<Issue>", "a/b"] {
          declare(1, name: name, title)
          #expect(
            try problems(Probe.self, in: folder.appendingPathComponent("Schemas-\(name.utf8.count)"), records: true)
              == [])
          #expect(try problems(Probe.self, in: folder.appendingPathComponent("Schemas-\(name.utf8.count)")) == [])
        }
        #expect(
          try FileManager.default.contentsOfDirectory(atPath: folder.path).allSatisfy { $0.hasPrefix("Schemas-") })
      }
    }
  }
}
