import Foundation
import StrataCore
import StrataLegacy
import StrataTestSupport
import Testing

@Suite("Keyed archives without their classes")
struct KeyedArchiveTests {
  @Test("A-1: an object is a record with a key for each property, and its model version is not a key")
  func record() throws {
    let archive = try KeyedArchive(
      ["$class": .uid(3), "MTLModelVersion": 2, "name": .uid(2), "count": 5, "parent": .uid(0)],
      "Ada", .type("App.User", "MTLModel", "NSObject"))
    #expect(archive.archiver == "NSKeyedArchiver")
    #expect(archive.version == 100_000)
    #expect(archive.top == ["root": .reference(0)])
    let record = ModelRecord(
      typeName: "App.User", modelVersion: 2, fields: [("name", "Ada"), ("count", 5), ("parent", .null)])
    #expect(archive.graph == ObjectGraph(objects: [.record(record)], root: .reference(0)))
    #expect(archive.graph.objects[0].recordValue?.keys == ["name", "count", "parent"])
    #expect(archive.classChain(of: "App.User") == ["App.User", "MTLModel", "NSObject"])
    #expect(archive.classChain(of: "Other").isEmpty)
  }

  @Test("A-9: an object without a version has a nil model version")
  func missingVersion() throws {
    let archive = try KeyedArchive(["$class": .uid(2)], .type("User"))
    #expect(archive.graph.objects[0].recordValue?.modelVersion == nil)
  }

  @Test("A-20: shared objects and cycles keep their identity, numbered in traversal order")
  func sharing() throws {
    let archive = try KeyedArchive(
      ["$class": .uid(4), "first": .uid(2), "second": .uid(3), "again": .uid(2)],
      ["$class": .uid(4), "back": .uid(1), "next": .uid(3)],
      ["$class": .uid(4), "self": .uid(3)],
      .type("Node"))
    func node(_ fields: [(key: String, value: ArchiveValue)]) -> ArchiveValue {
      .record(ModelRecord(typeName: "Node", modelVersion: nil, fields: fields))
    }
    #expect(
      archive.graph.objects == [
        node([("first", .reference(1)), ("second", .reference(2)), ("again", .reference(1))]),
        node([("back", .reference(0)), ("next", .reference(2))]),
        node([("self", .reference(2))]),
      ])
  }

  @Test("A-20: a linked list of 100,000 objects does not overflow the stack", .tags(.long), .longRunsOnly)
  func longList() throws {
    let count: UInt64 = 100_000
    var objects: [Plist] = (1...count).map { ["$class": .uid(count + 1), "next": .uid($0 == count ? 0 : $0 + 1)] }
    objects.append(.type("Node"))
    let archive = try KeyedArchive(Plist.keyed(objects).table)
    #expect(archive.graph.objects.count == Int(count))
    #expect(archive.graph.objects.last?["next"] == .null)
  }

  @Test("All top keys are read, including $0 and $1 for unkeyed values and escaped $ keys")
  func topKeys() throws {
    let archive = try KeyedArchive(
      "text", top: ["$0": .uid(1), "$1": 7, "$$price": .uid(1), "plain": ["a": [1, .uid(1)]]])
    #expect(archive.top == ["$0": "text", "$1": 7, "$price": "text", "plain": ["a": [1, "text"]]])
    #expect(
      archive.graph.root
        == .object(
          ArchiveObject([
            .init(key: "$0", value: "text"), .init(key: "$1", value: 7), .init(key: "$price", value: "text"),
            .init(key: "plain", value: ["a": [1, "text"]]),
          ])))
  }

  @Test("Escaped keys are unescaped, except where they would collide with the key of an unkeyed value")
  func escapedKeys() throws {
    let archive = try KeyedArchive(["$class": .uid(2), "$$class": 1, "$0": 2, "$$0": 3], .type("T"))
    #expect(archive.graph.objects[0].recordValue?.keys == ["$class", "$0", "$$0"])
  }

  @Test("An object without a class can have escaped keys and the keys of unkeyed values")
  func classless() throws {
    let archive = try KeyedArchive(["$0": 1, "$12": 2, "$$class": 3, "a$": 4])
    #expect(archive.graph.root == ["$0": 1, "$12": 2, "$class": 3, "a$": 4])
  }

  @Test("Only object 0 is nil, and other $null strings are strings")
  func nullText() throws {
    let archive = try KeyedArchive(["$class": .uid(3), "a": .uid(2), "b": "$null", "c": .uid(0)], "$null", .type("T"))
    let record = try #require(archive.graph.objects[0].recordValue)
    #expect(record["a"] == "$null")
    #expect(record["b"] == "$null")
    #expect(record["c"] == .null)
  }

  @Test("CF$UID dictionaries of XML property lists are references")
  func xmlReference() throws {
    let archive = try KeyedArchive("text", top: ["root": ["CF$UID": 1]])
    #expect(archive.top["root"] == "text")
  }

  @Test("Class hints are kept")
  func hints() throws {
    let type: Plist = ["$classname": "New", "$classes": ["New", "NSObject"], "$classhints": ["Old"]]
    let archive = try KeyedArchive(["$class": .uid(2)], type)
    #expect(archive.classHints(of: "New") == ["Old"])
  }

  // MARK: Collections

  @Test("A collection that contains itself is a graph object, and a shared collection is repeated")
  func collections() throws {
    let archive = try KeyedArchive(
      ["$class": .uid(4), "NS.objects": [.uid(2), .uid(3), .uid(3)]],
      ["$class": .uid(5), "owner": .uid(1)],
      ["$class": .uid(4), "NS.objects": [1, 2]],
      .type("NSMutableArray", "NSArray", "NSObject"), .type("Owner"))
    let number = try #require({ if case .reference(let n)? = archive.top["root"] { n } else { nil } }())
    #expect(archive.graph.objects[number] == [.reference(0), [1, 2], [1, 2]])
    #expect(archive.graph.objects[0]["owner"] == .reference(number))
  }

  @Test("Sets and keys can contain references, and a Strata archive keeps all of the objects")
  func referencesInSets() throws {
    let archive = try KeyedArchive(
      ["$class": .uid(4), "NS.objects": [.uid(2), .uid(3)]],
      ["$class": .uid(5), "set": .uid(1)],
      ["$class": .uid(6), "NS.keys": [.uid(2), 1], "NS.objects": [.uid(2), 2]],
      .type("NSSet"), .type("Node"), .type("NSDictionary"))
    let data = try ArchiveEncoder().encode(ArchiveValue.graph(archive.graph))
    let value = try ArchiveDecoder().decodeValue(from: data)
    guard case .graph(let graph) = value else { throw CancellationError() }
    // Archiving sorts sets and maps, which have no order of their own, so counts and bytes are compared instead of values.
    #expect(graph.objects.count == archive.graph.objects.count)
    #expect(graph.resolve(graph.root)?.arrayValue?.count == 2)
    #expect(try ArchiveEncoder().encode(value) == data)
  }

  @Test("Shared collections that expand exponentially exceed the limit of values")
  func laughs() {
    var objects: [Plist] = (1...64).map {
      ["$class": .uid(66), "NS.objects": [.uid($0 + 1), .uid($0 + 1)]]
    }
    objects += ["ha", .type("NSArray", "NSObject")]
    let error = archiveError { _ = try KeyedArchive(Plist.keyed(objects).table) }
    #expect(error?.code == .limitExceeded)
    #expect(error?.limit == .values)
  }

  @Test("Plain values nest up to the depth limit, even with a shared value inside", arguments: [3, 4])
  func depth(_ limit: Int) {
    var limits = ArchiveLimits()
    limits.depth = limit
    let inner: Plist = ["$class": .uid(3), "NS.objects": [[[]]]]
    let table = Plist.keyed(
      [["$class": .uid(3), "NS.objects": [.uid(2)]], inner, .type("NSArray")],
      top: ["shared": .uid(2), "root": .uid(1)]
    ).table
    let error = archiveError { _ = try KeyedArchive(table, limits: limits) }
    #expect(error?.limit == (limit == 3 ? .depth : nil))
    #expect((error == nil) == (limit == 4))
  }

  // MARK: Damage

  @Test(
    "Damage throws an error with its path and never traps",
    arguments: [
      ([["$class": .uid(2), "a": .uid(99)], .type("T")], ArchiveError.Code.damaged, "root.a"),
      ([.uid(2), .uid(1)], .damaged, "root"),
      ([.uid(1)], .damaged, "root"),
      ([["$class": .uid(9)]], .damaged, "root"),
      ([["$class": .uid(2)], ["$classes": ["T"]]], .damaged, "root.$class"),
      ([["$class": .uid(2)], "T"], .damaged, "root.$class"),
      ([["$class": .uid(2)], ["$classname": "T", "$classes": "T"]], .damaged, "root.$class"),
      ([["$class": .uid(2)], ["$classname": "T", "$classes": [1]]], .damaged, "root.$class"),
      ([["$class": .uid(2), "MTLModelVersion": "1"], .type("T")], .damaged, "root.MTLModelVersion"),
      ([["$class": .uid(2), "MTLModelVersion": -1], .type("T")], .damaged, "root.MTLModelVersion"),
      ([["$class": .uid(2), "a": 1, "a": 2], .type("T")], .damaged, "root.a"),
      ([["$class": .uid(2), "NS.objects": .uid(1)], .type("NSArray")], .damaged, "root.NS.objects"),
      ([["$classy": .uid(2)], .type("T")], .damaged, "root.$classy"),
      ([["$classname": "T", "$classes": ["T"]]], .damaged, "root.$classname"),
      ([["$": 1]], .damaged, "root.$"),
    ] as [([Plist], ArchiveError.Code, String)])
  func damage(_ objects: [Plist], _ code: ArchiveError.Code, _ path: String) {
    let error = archiveError { _ = try KeyedArchive(Plist.keyed(objects).table) }
    #expect(error?.code == code)
    #expect(error?.pathDescription == path)
  }

  @Test(
    "A property list that is not a keyed archive throws notAnArchive",
    arguments: [
      ["$version": 100_000, "$archiver": "A", "$top": [:]], [], "text",
      ["$version": 100_000, "$archiver": "A", "$top": [:], "$objects": [:]],
      ["$version": 100_000, "$archiver": "A", "$top": [], "$objects": []],
      ["$version": "1", "$archiver": "A", "$top": [:], "$objects": []],
      ["$version": 1, "$archiver": "A", "$top": [:], "$objects": []],
      ["$version": 100_000, "$top": [:], "$objects": []],
    ] as [Plist])
  func noArchive(_ plist: Plist) {
    #expect(archiveError { _ = try KeyedArchive(plist.table) }?.code == .notAnArchive)
  }

  @Test("A newer format throws newerFormat")
  func newerFormat() {
    let plist: Plist = ["$version": 100_001, "$archiver": "A", "$top": [:], "$objects": []]
    #expect(archiveError { _ = try KeyedArchive(plist.table) }?.code == .newerFormat)
  }

  @Test("Tables that refer to missing objects throw damaged")
  func damagedTables() {
    #expect(archiveError { _ = try KeyedArchive(PropertyList(objects: [], root: 0)) }?.code == .notAnArchive)
    var table = Plist.keyed([[1, 2]]).table
    for number in table.objects.indices {
      guard case .array(let elements) = table.objects[number], elements.count == 2 else { continue }
      table.objects[number] = .array([elements[0], 1_000_000])
    }
    #expect(archiveError { _ = try KeyedArchive(table) }?.code == .damaged)
  }

  @Test(
    "Objects of one class share the order of any number of keys, and a duplicate key is found",
    arguments: [
      1, 16, 63, 64, 65, 66, 200,
    ])
  func manyKeys(_ count: Int) throws {
    let keys = (0..<count).map { "k\($0)" }
    func archive(_ keys: [String]) throws -> KeyedArchive {
      let other = (0..<count).reversed().map { "k\($0)" }
      let objects = [other, keys].map { keys in
        Plist.dictionary(keys.map { ($0, .plain(.string($0))) } + [("$class", .uid(2))])
      }
      return try KeyedArchive(.array(objects), .type("Wide"))
    }
    for case .record(let record) in try archive(keys).graph.objects {
      #expect(record.keys == keys.reversed())
      #expect(record.keys.allSatisfy { record[$0] == .string($0) })
    }
    let duplicate = keys.dropLast() + [keys[0]]
    let error = archiveError { _ = try archive(Array(duplicate)) }
    #expect(count == 1 ? error == nil : error?.code == .damaged)
    #expect(count == 1 || error?.codingPath == [.key("root"), .index(1), .key("k0")])
  }

  @Test("Reading an array that contains itself in the property list terminates")
  func arrayInItself() throws {
    var table = Plist.keyed([[]]).table
    for number in table.objects.indices where table.objects[number] == .array([]) {
      table.objects[number] = .array([number])
    }
    let archive = try KeyedArchive(table)
    #expect(archive.graph.objects.contains { if case .array = $0 { true } else { false } })
  }
}
