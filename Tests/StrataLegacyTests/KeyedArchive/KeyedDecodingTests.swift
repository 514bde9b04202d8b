import Foundation
import StrataCore
import StrataLegacy
import StrataTestSupport
import Testing

@Suite("Decoding models from keyed archives")
struct KeyedDecodingTests {
  private static let userType = Plist.type("MTLTestModel", "MTLModel", "NSObject")

  @Test("A-1, A-20: a model is decoded by its legacy name, and missing keys keep their defaults")
  func plain() throws {
    let archive = try KeyedArchive(
      ["$class": .uid(3), "MTLModelVersion": 1, "name": .uid(2), "count": 5], "Ada", Self.userType)
    var report = DecodingReport()
    let user = try ArchiveDecoder().decode(LegacyUser.self, fromKeyed: archive, report: &report)
    #expect(user == LegacyUser(name: "Ada", count: 5))
    #expect(report.isEmpty)
  }

  @Test("A-10: a hook reads a key of an older version; A-9: a missing version counts as 0")
  func hook() throws {
    let archive = try KeyedArchive(["$class": .uid(2), "mtl_name": "foobar", "count": 5], Self.userType)
    var report = DecodingReport()
    let user = try ArchiveDecoder().decode(LegacyUser.self, fromKeyed: archive, report: &report)
    #expect(user == LegacyUser(name: "M: foobar", count: 5))
    #expect(report.typesWithoutVersion == ["LegacyUser"])
    #expect(report.upgrades.map(\.fromVersion) == [0])
  }

  @Test("A-8: a nil value keeps the default, and excluded fields are read")
  func nils() throws {
    let archive = try KeyedArchive(
      ["$class": .uid(2), "MTLModelVersion": 1, "name": .uid(0), "nestedName": "n"], Self.userType)
    #expect(try ArchiveDecoder().decode(fromKeyed: archive) == LegacyUser(name: "nobody", nestedName: "n"))
  }

  @Test("A-7: a newer model throws before any field is read", arguments: [2, 1000])
  func newer(_ version: Int64) throws {
    let archive = try KeyedArchive(
      ["$class": .uid(2), "MTLModelVersion": .init(integerLiteral: version), "count": "no number"], Self.userType)
    let error = archiveError { _ = try ArchiveDecoder().decode(LegacyUser.self, fromKeyed: archive) }
    #expect(error?.code == .newerModel)
    #expect(error?.foundVersion == Int(version))
    #expect(error?.supportedVersion == 1)
    #expect(error?.typeName == "LegacyUser")
  }

  @Test("A-14: a nested newer model throws with its path")
  func newerInside() throws {
    let archive = try KeyedArchive(
      ["$class": .uid(3), "MTLModelVersion": 3, "members": [.uid(4), .uid(5)]], "unused", .type("Team"),
      ["$class": .uid(6), "MTLModelVersion": 0, "count": "no number"],
      ["$class": .uid(6), "MTLModelVersion": 2], Self.userType)
    let error = archiveError { _ = try ArchiveDecoder().decode(LegacyTeam.self, fromKeyed: archive) }
    #expect(error?.code == .newerModel)
    #expect(error?.pathDescription == "members[1]")
  }

  @Test("A-7, AO-3: a newer model throws before its external representation is read")
  func newerExternal() throws {
    let archive = try KeyedArchive(
      ["$class": .uid(2), "MTLModelVersion": 2, "externalRepresentation": 1], Self.userType)
    #expect(
      archiveError { _ = try ArchiveDecoder().decode(LegacyUser.self, fromKeyed: archive) }?.code == .newerModel)
  }

  @Test("A-12: keys that the model does not declare are ignored, whatever their values")
  func extraKeys() throws {
    let archive = try KeyedArchive(
      ["$class": .uid(2), "MTLModelVersion": 1, "count": 1, "gone": .uid(3), "color": .uid(1)], Self.userType,
      ["$class": .uid(4), "a": .uid(3)], .type("Unknown"))
    #expect(try ArchiveDecoder().decode(fromKeyed: archive) == LegacyUser(count: 1))
  }

  @Test("A-13: a value of the wrong type throws typeMismatch")
  func mismatch() throws {
    let archive = try KeyedArchive(["$class": .uid(2), "MTLModelVersion": 1, "count": "5"], Self.userType)
    let error = archiveError { _ = try ArchiveDecoder().decode(LegacyUser.self, fromKeyed: archive) }
    #expect(error?.code == .typeMismatch)
    #expect(error?.pathDescription == "count")
  }

  @Test("AS-1, AS-5: only models that the decoded type contains are created, also in collections")
  func closedWorld() throws {
    let archive = try KeyedArchive(
      ["$class": .uid(2), "MTLModelVersion": 3, "members": .uid(3)], .type("Team"),
      ["$class": .uid(4), "NS.objects": [.uid(5)]], .type("NSArray"), ["$class": .uid(6)], .type("App.Node"))
    let error = archiveError { _ = try ArchiveDecoder().decode(LegacyTeam.self, fromKeyed: archive) }
    #expect(error?.code == .unknownType)
    #expect(error?.pathDescription == "members[0]")
  }

  @Test("A-18: a class is found by its plain or mangled Swift name", arguments: ["App.User", "_TtC3App4User"])
  func names(_ name: String) throws {
    let archive = try KeyedArchive(["$class": .uid(2), "MTLModelVersion": 1, "count": 2], .type(name))
    #expect(try ArchiveDecoder().decode(fromKeyed: archive) == LegacyUser(count: 2))
  }

  @Test(
    "A-18: a KVO class maps to its original class, and a class hint can replace an unknown class",
    arguments: [
      ("NSKVONotifying_App.User", []), ("NSKVONotifying__TtC3App4User", []),
      (String(repeating: "NSKVONotifying_", count: 100_000) + "App.User", []), ("Gone", ["Other", "App.User"]),
      ("Gone", ["_TtC3App4User"]), ("App.User", ["Team"]),
    ] as [(String, [String])])
  func otherNames(_ name: String, _ hints: [String]) throws {
    let type: Plist = [
      "$classname": .plain(.string(name)), "$classes": [.plain(.string(name)), "NSObject"],
      "$classhints": .array(hints.map { .plain(.string($0)) }),
    ]
    let archive = try KeyedArchive(["$class": .uid(2), "MTLModelVersion": 1, "count": 2], type)
    #expect(try ArchiveDecoder().decode(fromKeyed: archive) == LegacyUser(count: 2))
  }

  @Test("An archived superclass replaces no class, and hints must name models that the type contains")
  func noOtherNames() throws {
    for type in [
      ["$classname": "Gone", "$classes": ["Gone", "App.User"]],
      ["$classname": "Gone", "$classes": ["Gone"], "$classhints": ["App.Node"]],
    ] as [Plist] {
      let archive = try KeyedArchive(["$class": .uid(2), "MTLModelVersion": 1, "count": 2], type)
      #expect(
        archiveError { _ = try ArchiveDecoder().decode(LegacyUser.self, fromKeyed: archive) }?.code == .unknownType)
    }
  }

  @Test(
    "Malformed mangled names throw unknownType", arguments: ["_TtC", "_TtC99App", "_TtC3App", "_TtC0", "_TtCx"])
  func badNames(_ name: String) throws {
    let archive = try KeyedArchive(["$class": .uid(2)], .type(name))
    #expect(
      archiveError { _ = try ArchiveDecoder().decode(LegacyUser.self, fromKeyed: archive) }?.code == .unknownType)
  }

  @Test("Numbers are converted between types if the conversion is exact")
  func numbers() throws {
    let archive = try KeyedArchive(
      ["$class": .uid(2), "MTLModelVersion": 1, "count": 1.0, "isAdmin": 1, "score": true], Self.userType)
    #expect(try ArchiveDecoder().decode(fromKeyed: archive) == LegacyUser(count: 1, isAdmin: true, score: 1))
    for (key, value) in [("count", 1.5), ("isAdmin", 2)] as [(String, Plist)] {
      let archive = try KeyedArchive(
        .dictionary([("$class", .uid(2)), ("MTLModelVersion", 1), (key, value)]), Self.userType)
      let error = archiveError { _ = try ArchiveDecoder().decode(LegacyUser.self, fromKeyed: archive) }
      #expect(error?.code == .typeMismatch)
      #expect(error?.key == key)
    }
  }

  @Test("Collections at the root and under other top keys are decoded")
  func topKeys() throws {
    let archive = try KeyedArchive(
      ["$class": .uid(2), "NS.objects": [.uid(3), .uid(3)]], .type("NSArray"),
      ["$class": .uid(4), "MTLModelVersion": 1, "count": 4], Self.userType, top: ["users": .uid(1)])
    let user = LegacyUser(count: 4)
    #expect(try ArchiveDecoder().decode([LegacyUser].self, fromKeyed: archive, key: "users") == [user, user])
    #expect(
      archiveError { _ = try ArchiveDecoder().decode([LegacyUser].self, fromKeyed: archive) }?.code == .missingValue)
  }

  @Test("A-20: shared class instances and cycles are decoded as one object")
  func classes() throws {
    let archive = try KeyedArchive(
      ["$class": .uid(4), "MTLModelVersion": 1, "name": "root", "nodes": .uid(2)],
      ["$class": .uid(5), "NS.objects": [.uid(3), .uid(3)]],
      ["$class": .uid(4), "MTLModelVersion": 1, "name": "leaf", "parent": .uid(1)],
      .type("App.Node"), .type("NSMutableArray", "NSArray"))
    let root = try ArchiveDecoder().decode(LegacyNode.self, fromKeyed: archive)
    #expect(root.name == "root")
    #expect(root.nodes.count == 2)
    #expect(root.nodes[0] === root.nodes[1])
    #expect(root.nodes[0].parent === root)
  }

  @Test("An error inside a class instance has the path to it")
  func pathOfObject() throws {
    let archive = try KeyedArchive(
      ["$class": .uid(3), "MTLModelVersion": 1, "name": "root", "nodes": [.uid(2)]],
      ["$class": .uid(3), "MTLModelVersion": 1, "name": 5], .type("Node"))
    let error = archiveError { _ = try ArchiveDecoder().decode(LegacyNode.self, fromKeyed: archive) }
    #expect(error?.code == .typeMismatch)
    #expect(error?.pathDescription == "nodes[0].name")
  }

  @Test("A struct that contains itself exceeds the depth limit")
  func cycleOfValues() throws {
    struct Box: DescribedModel {
      var boxes: [Box]
      static let fields = Fields(Box.self, version: 0, Field("boxes", \.boxes), make: { Box(boxes: $0) })
    }
    let archive = try KeyedArchive(["$class": .uid(2), "boxes": [.uid(1)]], .type("Box"))
    var limits = ArchiveLimits()
    limits.depth = 64
    let error = archiveError { _ = try ArchiveDecoder(limits: limits).decode(Box.self, fromKeyed: archive) }
    #expect(error?.limit == .depth)
  }

  // MARK: Models inside others

  /// A group with a lead and a member, in version 0.
  private static func group(_ type: String, lead: String, members: Plist) throws -> Data {
    try PropertyListWriter().write(
      Plist.keyed([
        ["$class": .uid(2), "lead": .uid(3), "members": members], .type(type),
        ["$class": .uid(4), "MTLModelVersion": 1, "name": "Ada"], .type(lead),
        ["$class": .uid(6), "MTLModelVersion": 1, "count": 1], userType,
        ["$class": .uid(8), "NS.objects": [.uid(5)]], .type("NSSet"),
      ]).table)
  }

  @Test("A step reads another model, from bytes and from a parsed archive", arguments: ["App.User", "Gone"])
  func stepInside(_ lead: String) throws {
    let data = try Self.group("Crew", lead: lead, members: [.uid(5)])
    let expected = LegacyCrew(leadName: "Ada", members: [LegacyUser(count: 1)])
    #expect(try ArchiveDecoder().decode(LegacyCrew.self, fromKeyed: data) == expected)
    #expect(try ArchiveDecoder().decode(LegacyCrew.self, fromKeyed: KeyedArchive(data)) == expected)
  }

  @Test("A hook reads another model, even next to a set of models", arguments: ["App.User", "Gone"])
  func hookInside(_ lead: String) throws {
    let data = try Self.group("Gang", lead: lead, members: .uid(7))
    let expected = LegacyGang(leadName: "Ada", members: [LegacyUser(count: 1)])
    #expect(try ArchiveDecoder().decode(LegacyGang.self, fromKeyed: data) == expected)
    #expect(try ArchiveDecoder().decode(LegacyGang.self, fromKeyed: KeyedArchive(data)) == expected)
  }

  @Test("Steps and hooks read an object that several models share", arguments: ["App.User", "Gone"])
  func sharedInside(_ lead: String) throws {
    for type in ["Crew", "Gang"] {
      let objects: [Plist] = [
        [.uid(2), .uid(3)], ["$class": .uid(4), "lead": .uid(5)], ["$class": .uid(4), "lead": .uid(5)], .type(type),
        ["$class": .uid(6), "MTLModelVersion": 1, "name": "Ada"], .type(lead),
      ]
      let data = try PropertyListWriter().write(Plist.keyed(objects).table)
      let names =
        type == "Crew"
        ? try ArchiveDecoder().decode([LegacyCrew].self, fromKeyed: data).map(\.leadName)
        : try ArchiveDecoder().decode([LegacyGang].self, fromKeyed: data).map(\.leadName)
      #expect(names == ["Ada", "Ada"], "\(type)")
    }
  }

  /// A model that contains models of the same type. Its hook takes the name from the first of them.
  private struct Folder: DescribedModel, KeyMigrating {
    var name: String
    var inner: [Folder]
    static let fields = Fields(
      Folder.self, name: "Folder", version: 1, Field("name", \.name, default: "none"),
      Field("inner", \.inner, default: []),
      make: { Folder(name: $0, inner: $1) })

    static func decodeValue(forKey key: String, modelVersion: Int, in record: ModelRecord) throws -> ArchiveValue? {
      guard key == "name" else { return record[key] }
      return record["inner"]?.arrayValue?.first?["name"] ?? record[key]
    }
  }

  @Test("Hooks read nested models at any depth")
  func deepHooks() throws {
    let count = 100
    var objects: [Plist] = [.type("Folder")]
    objects += (0..<count).map { ["$class": .uid(1), "name": "outer", "inner": [.uid(UInt64($0 + 3))]] }
    objects.append(["$class": .uid(1), "name": "last"])
    let data = try PropertyListWriter().write(Plist.keyed(objects, top: ["root": .uid(2)]).table)
    var folder: Folder? = try ArchiveDecoder().decode(Folder.self, fromKeyed: data)
    // Each hook sees the nested model's name before the nested model's own hook changes it.
    var names: [String] = []
    while let next = folder { (folder, names) = (next.inner.first, names + [next.name]) }
    #expect(names == Array(repeating: "outer", count: count - 1) + ["last", "last"])
  }

  @Test("Structs that nest too deeply exceed the depth limit", arguments: [600, 16_000])
  func deepValues(_ count: Int) throws {
    var objects: [Plist] = (0..<count).map { ["$class": .uid(1), "c": [.uid(UInt64($0 + 3))]] }
    objects.insert(.type("Form"), at: 0)
    objects.append(["$class": .uid(1)])
    let data = try PropertyListWriter().write(Plist.keyed(objects, top: ["root": .uid(2)]).table)
    #expect(archiveError { _ = try ArchiveDecoder().decode(Form.self, fromKeyed: data) }?.limit == .depth)
  }

  @Test("Unread objects can nest to any depth", arguments: ["Form", "Gone"])
  func deepUnread(_ type: String) throws {
    var objects: [Plist] = (0..<100).map { ["$class": .uid(1), "c": [.uid(UInt64($0 + 3))]] }
    objects.insert(.type(type), at: 0)
    objects += [["$class": .uid(1)], ["$class": .uid(104), "MTLModelVersion": 1, "more": .uid(2)], Self.userType]
    let archive = try KeyedArchive(Plist.keyed(objects, top: ["root": .uid(103)]).table)
    var limits = ArchiveLimits()
    limits.depth = 20
    #expect(try ArchiveDecoder(limits: limits).decode(LegacyUser.self, fromKeyed: archive) == LegacyUser())
  }

  @Test("A chain of 100,000 unread objects of an unknown class is skipped, even without a depth limit")
  func longUnread() throws {
    let count = 100_000
    var objects: [Plist] = [["$class": .uid(2), "MTLModelVersion": 1, "more": .uid(4)], Self.userType, .type("Gone")]
    objects += (0..<count).map { ["$class": .uid(3), "next": .uid(UInt64($0 + 5))] }
    objects.append(["$class": .uid(3)])
    let data = try PropertyListWriter().write(Plist.keyed(objects).table)
    var limits = ArchiveLimits()
    limits.depth = .max
    #expect(try ArchiveDecoder(limits: limits).decode(LegacyUser.self, fromKeyed: data) == LegacyUser())
  }

  @Test("Unread objects of unknown classes do not expand exponentially")
  func sharedUnread() throws {
    var objects: [Plist] = [["$class": .uid(2), "MTLModelVersion": 1, "more": .uid(4)], Self.userType, .type("Gone")]
    for number in 4..<64 {
      let next = Plist.uid(UInt64(number + 1))
      objects.append(["$class": .uid(3), "a": next, "b": next, "c": next])
    }
    objects.append(["$class": .uid(3)])
    let data = try PropertyListWriter().write(Plist.keyed(objects).table)
    #expect(try ArchiveDecoder().decode(LegacyUser.self, fromKeyed: data) == LegacyUser())
  }

  @Test("Many models can share one value") func sharedValues() throws {
    let numbers: [Plist] = (0..<1000).map { .init(integerLiteral: $0) }
    let objects: [Plist] = [
      ["$class": .uid(2), "tables": .array(.init(repeating: .uid(3), count: 3000))], .type("Tables"),
      ["$class": .uid(4), "numbers": .array(numbers)], .type("Table"),
    ]
    let data = try PropertyListWriter().write(Plist.keyed(objects).table)
    let tables = try ArchiveDecoder().decode(LegacyTables.self, fromKeyed: data).tables
    #expect(tables.count == 3000 && tables.allSatisfy { $0.numbers.count == 1000 })
  }

  // MARK: The form before Mantle 0.4

  @Test("AO-1, AO-5, AO-8: the old form is decoded by the JSON mapping, including excluded fields")
  func externalRepresentation() throws {
    let archive = try KeyedArchive(
      ["$class": .uid(2), "externalRepresentation": .uid(3)], Self.userType,
      [
        "$class": .uid(4), "NS.keys": ["username", "count", "nested"], "NS.objects": ["Ada", "10", ["name": "fuzz"]],
      ], .type("NSDictionary"))
    var report = DecodingReport()
    let user = try ArchiveDecoder().decode(LegacyUser.self, fromKeyed: archive, report: &report)
    #expect(user == LegacyUser(name: "Ada", count: 10, nestedName: "fuzz"))
    #expect(report.typesWithoutVersion == ["LegacyUser"])
  }

  @Test("AO-6: keys missing from the old form keep their defaults")
  func externalDefaults() throws {
    let archive = try KeyedArchive(
      ["$class": .uid(2), "MTLModelVersion": 0, "externalRepresentation": ["count": 3]], Self.userType)
    #expect(try ArchiveDecoder().decode(fromKeyed: archive) == LegacyUser(name: "nobody", count: 3))
  }

  @Test("AO-1: a model's own hook reads another object in the old form", arguments: [1, 2], ["App.User", "Gone"])
  func externalObject(uses: Int, type: String) throws {
    let archive = try KeyedArchive(
      .array(.init(repeating: .uid(2), count: uses)),
      ["$class": .uid(3), "externalRepresentation": ["author": .uid(4)]], .type("Note"),
      ["$class": .uid(5), "MTLModelVersion": 1, "name": "Ada"], .type(type))
    let note = LegacyNote(text: "ADA")
    #expect(
      try ArchiveDecoder().decode([LegacyNote].self, fromKeyed: archive)
        == Array(repeating: note, count: uses))
  }

  @Test("AO-2: a model without a legacy declaration reads the old form")
  func externalByName() throws {
    let archive = try KeyedArchive(
      ["$class": .uid(2), "MTLModelVersion": 2, "externalRepresentation": ["members": [["count": 1]]]], .type("Team"))
    #expect(try ArchiveDecoder().decode(fromKeyed: archive) == LegacyTeam(members: [LegacyUser(count: 1)]))
  }

  @Test("AO-1, AO-7: a model's own hook receives dictionary and version, and steps follow", arguments: [0, 1])
  func ownHook(_ version: Int64) throws {
    let archive = try KeyedArchive(
      [
        "$class": .uid(2), "MTLModelVersion": .init(integerLiteral: version), "externalRepresentation": ["t": "abc"],
      ], .type("Note"))
    #expect(try ArchiveDecoder().decode(fromKeyed: archive) == LegacyNote(text: "ABC"))
  }

  @Test("AO-2: an unreadable old form throws an error with its path")
  func externalFailure() throws {
    for (value, path) in [(1, "externalRepresentation"), (["count": "x"], "externalRepresentation.count")]
      as [(Plist, String)]
    {
      let archive = try KeyedArchive(["$class": .uid(2), "externalRepresentation": value], Self.userType)
      let error = archiveError { _ = try ArchiveDecoder().decode(LegacyUser.self, fromKeyed: archive) }
      #expect(error?.code == .typeMismatch)
      #expect(error?.pathDescription == path)
    }
  }
}
