import Foundation
import StrataCore
import StrataTestSupport
import Testing

private func value(_ text: String) throws -> ArchiveValue { try JSONReader().read(Data(text.utf8)) }

/// An example of RFC 6902: a document, a patch, and the result, or `nil` for an error.
private struct Example: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let document: String
  let patch: String
  let result: String?

  init(_ name: String, _ document: String, _ patch: String, _ result: String?) {
    (testDescription, self.document, self.patch, self.result) = (name, document, patch, result)
  }

  /// RFC 6902, appendix A.
  static let appendix: [Example] = [
    .init(
      "A.1", #"{"foo": "bar"}"#, #"[{"op": "add", "path": "/baz", "value": "qux"}]"#, #"{"baz": "qux", "foo": "bar"}"#),
    .init(
      "A.2", #"{"foo": ["bar", "baz"]}"#, #"[{"op": "add", "path": "/foo/1", "value": "qux"}]"#,
      #"{"foo": ["bar", "qux", "baz"]}"#),
    .init("A.3", #"{"baz": "qux", "foo": "bar"}"#, #"[{"op": "remove", "path": "/baz"}]"#, #"{"foo": "bar"}"#),
    .init(
      "A.4", #"{"foo": ["bar", "qux", "baz"]}"#, #"[{"op": "remove", "path": "/foo/1"}]"#, #"{"foo": ["bar", "baz"]}"#),
    .init(
      "A.5", #"{"baz": "qux", "foo": "bar"}"#, #"[{"op": "replace", "path": "/baz", "value": "boo"}]"#,
      #"{"baz": "boo", "foo": "bar"}"#),
    .init(
      "A.6", #"{"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}}"#,
      #"[{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}]"#,
      #"{"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}}"#),
    .init(
      "A.7", #"{"foo": ["all", "grass", "cows", "eat"]}"#, #"[{"op": "move", "from": "/foo/1", "path": "/foo/3"}]"#,
      #"{"foo": ["all", "cows", "eat", "grass"]}"#),
    .init(
      "A.8", #"{"baz": "qux", "foo": ["a", 2, "c"]}"#,
      #"[{"op": "test", "path": "/baz", "value": "qux"}, {"op": "test", "path": "/foo/1", "value": 2}]"#,
      #"{"baz": "qux", "foo": ["a", 2, "c"]}"#),
    .init("A.9", #"{"baz": "qux"}"#, #"[{"op": "test", "path": "/baz", "value": "bar"}]"#, nil),
    .init(
      "A.10", #"{"foo": "bar"}"#, #"[{"op": "add", "path": "/child", "value": {"grandchild": {}}}]"#,
      #"{"foo": "bar", "child": {"grandchild": {}}}"#),
    .init(
      "A.11", #"{"foo": "bar"}"#, #"[{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}]"#,
      #"{"foo": "bar", "baz": "qux"}"#),
    .init("A.12", #"{"foo": "bar"}"#, #"[{"op": "add", "path": "/baz/bat", "value": "qux"}]"#, nil),
    .init(
      "A.13, which is refused", #"{"foo": "bar"}"#,
      #"[{"op": "add", "path": "/baz", "value": "qux", "op": "remove"}]"#, nil),
    .init(
      "A.14", #"{"/": 9, "~1": 10}"#, #"[{"op": "test", "path": "/~01", "value": 10}]"#, #"{"/": 9, "~1": 10}"#),
    .init("A.15", #"{"/": 9, "~1": 10}"#, #"[{"op": "test", "path": "/~01", "value": "10"}]"#, nil),
    .init(
      "A.16", #"{"foo": ["bar"]}"#, #"[{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}]"#,
      #"{"foo": ["bar", ["abc", "def"]]}"#),
  ]

  /// The other rules of section 4.
  static let section4: [Example] = [
    .init("add replaces a member", #"{"a": 1}"#, #"[{"op": "add", "path": "/a", "value": 2}]"#, #"{"a": 2}"#),
    .init("add behind the end", #"[1]"#, #"[{"op": "add", "path": "/1", "value": 2}]"#, "[1, 2]"),
    .init("add beyond the end", #"[1]"#, #"[{"op": "add", "path": "/2", "value": 2}]"#, nil),
    .init("add for the whole", #"[1]"#, #"[{"op": "add", "path": "", "value": {"a": null}}]"#, #"{"a": null}"#),
    .init("add null", #"{}"#, #"[{"op": "add", "path": "/a", "value": null}]"#, #"{"a": null}"#),
    .init("add without a value", #"{}"#, #"[{"op": "add", "path": "/a"}]"#, nil),
    .init("add into text", #"{"a": "b"}"#, #"[{"op": "add", "path": "/a/0", "value": 1}]"#, nil),
    .init("remove what is not there", #"{"a": 1}"#, #"[{"op": "remove", "path": "/b"}]"#, nil),
    .init("remove behind the end", #"[1]"#, #"[{"op": "remove", "path": "/-"}]"#, nil),
    .init("remove the whole", #"[1]"#, #"[{"op": "remove", "path": ""}]"#, nil),
    .init("replace what is not there", #"{"a": 1}"#, #"[{"op": "replace", "path": "/b", "value": 1}]"#, nil),
    .init("replace behind the end", #"[1]"#, #"[{"op": "replace", "path": "/-", "value": 1}]"#, nil),
    .init("replace the whole", #"[1]"#, #"[{"op": "replace", "path": "", "value": 7}]"#, "7"),
    .init("move into itself", #"{"a": {"b": 1}}"#, #"[{"op": "move", "from": "/a", "path": "/a/b"}]"#, nil),
    .init("move to where it is", #"{"a": 1}"#, #"[{"op": "move", "from": "/a", "path": "/a"}]"#, #"{"a": 1}"#),
    .init("move a prefix of a name", #"{"a": 1}"#, #"[{"op": "move", "from": "/a", "path": "/ab"}]"#, #"{"ab": 1}"#),
    .init("move over a value", #"{"a": 1, "b": 2}"#, #"[{"op": "move", "from": "/a", "path": "/b"}]"#, #"{"b": 1}"#),
    .init(
      "move out of an array", #"{"a": [1, 2]}"#, #"[{"op": "move", "from": "/a/0", "path": "/b"}]"#,
      #"{"a": [2], "b": 1}"#),
    .init("move nothing", #"{}"#, #"[{"op": "move", "from": "/a", "path": "/b"}]"#, nil),
    .init("copy", #"{"a": [1]}"#, #"[{"op": "copy", "from": "/a", "path": "/a/0"}]"#, #"{"a": [[1], 1]}"#),
    .init("copy to the end", #"[1]"#, #"[{"op": "copy", "from": "/0", "path": "/-"}]"#, "[1, 1]"),
    .init("copy nothing", #"[1]"#, #"[{"op": "copy", "from": "/1", "path": "/0"}]"#, nil),
    .init("zeros in front", #"[1, 2]"#, #"[{"op": "remove", "path": "/01"}]"#, nil),
    .init("a sign", #"[1, 2]"#, #"[{"op": "remove", "path": "/+1"}]"#, nil),
    .init("a place beyond all numbers", #"[1]"#, #"[{"op": "remove", "path": "/99999999999999999999"}]"#, nil),
    .init("digits are names in objects", #"{"01": 1}"#, #"[{"op": "remove", "path": "/01"}]"#, "{}"),
    .init("test numbers", #"[1, 10]"#, #"[{"op": "test", "path": "", "value": [1.0, 1e1]}]"#, "[1, 10]"),
    .init(
      "test nested", #"{"a": [{"b": 1, "c": null}]}"#,
      #"[{"op": "test", "path": "/a/0", "value": {"c": null, "b": 1.0}}]"#, #"{"a": [{"b": 1, "c": null}]}"#),
    .init("test another order", #"[1, 2]"#, #"[{"op": "test", "path": "", "value": [2, 1]}]"#, nil),
    .init("test fewer members", #"{"a": 1, "b": 2}"#, #"[{"op": "test", "path": "", "value": {"a": 1}}]"#, nil),
    .init("true is not 1", #"[true]"#, #"[{"op": "test", "path": "/0", "value": 1}]"#, nil),
    .init("null is not false", #"[null]"#, #"[{"op": "test", "path": "/0", "value": false}]"#, nil),
    .init("absent is not null", #"{}"#, #"[{"op": "test", "path": "/a", "value": null}]"#, nil),
    .init("two spellings of one text", #"["\u00fc"]"#, #"[{"op": "test", "path": "/0", "value": "u\u0308"}]"#, nil),
    .init(
      "all or nothing", #"{"a": 1}"#, #"[{"op": "remove", "path": "/a"}, {"op": "test", "path": "/a", "value": 1}]"#,
      nil),
    .init("an unknown operation", #"{}"#, #"[{"op": "spam", "path": "/a"}]"#, nil),
    .init("no operation", #"{}"#, #"[{"path": "/a"}]"#, nil),
    .init("no path", #"{}"#, #"[{"op": "remove"}]"#, nil),
    .init("no array", #"{}"#, #"{"op": "remove", "path": "/a"}"#, nil),
    .init("no operations", #"{"a": 1}"#, "[]", #"{"a": 1}"#),
  ]
}

@Suite("JSON patches")
struct JSONPatchTests {
  @Test("The examples of RFC 6902, appendix A, have the documented results", arguments: Example.appendix)
  private func appendix(_ example: Example) throws { try check(example) }

  @Test("Each operation follows the rules of RFC 6902", arguments: Example.section4)
  private func operations(_ example: Example) throws { try check(example) }

  private func check(_ example: Example) throws {
    let document = try value(example.document)
    func applied() throws -> ArchiveValue { try JSONPatch(parsing: Data(example.patch.utf8)).applied(to: document) }
    if let result = example.result {
      #expect(try applied() == value(result))
    } else {
      let error = #expect(throws: ArchiveError.self) { try applied() }
      #expect(error?.code == .mergeFailed || error?.code == .invalidJSON)
    }
  }

  @Test("Errors name the failed operation and contain no values")
  func errors() throws {
    let patch = JSONPatch([.remove(ValuePath(key: "a")), .test(ValuePath(key: "secret"), "private")])
    let error = #expect(throws: ArchiveError.self) { try patch.applied(to: ["a": 1, "secret": "other"]) }
    #expect(error?.codingPath == [.index(1)] && error?.description.contains("private") == false)
  }

  @Test(
    "An operation with a duplicate key is rejected",
    arguments: [
      #"{"op": "remove", "op": "test", "path": "/a", "value": 1}"#, #"{"op": "remove", "path": "/a", "path": "/b"}"#,
      #"{"op": "add", "path": "/a", "value": {"b": 1, "b": 2}}"#,
      #"{"op": "remove", "path": "/a", "more": 1, "more": 1}"#,
    ])
  func duplicates(_ operation: String) {
    let error = #expect(throws: ArchiveError.self) { try JSONPatch(parsing: Data("[\(operation)]".utf8)) }
    #expect(error?.code == .invalidJSON && error?.codingPath.first == .index(0))
  }

  @Test("The pointers of RFC 6901, section 5, resolve to the values listed there")
  func pointers() throws {
    let document = try value(
      #"{"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8}"#
    )
    let places: [(String, ArchiveValue)] = [
      ("", document), ("/foo", ["bar", "baz"]), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1), ("/c%d", 2), ("/e^f", 3),
      ("/g|h", 4), ("/i\\j", 5), ("/k\"l", 6), ("/ ", 7), ("/m~0n", 8),
    ]
    for (text, expected) in places {
      let pointer = try ValuePath(pointer: text)
      #expect(pointer.pointer == text)
      #expect(try JSONPatch([.test(pointer, expected)]).applied(to: document) == document)
    }
  }

  @Test("Invalid JSON Pointers throw invalidJSON", arguments: ["a", "a/b", "/~", "/~2", "/a~", "#/a", " /a"])
  func noPointers(_ text: String) {
    let error = #expect(throws: ArchiveError.self) { try ValuePath(pointer: text) }
    #expect(error?.code == .invalidJSON)
  }

  @Test("Any key round-trips through a JSON Pointer, including keys that start with a combining mark")
  func pointerText() throws {
    let keys = ["", "/", "~", "~1", "\u{308}", "~\u{308}", "/\u{301}", "a/\u{301}b", "\r\n", "👩‍👩‍👧", "0", "-"]
    for one in keys {
      for other in keys {
        let pointer = ValuePath(one, other)
        let again = try ValuePath(pointer: pointer.pointer)
        #expect(again == pointer && again.components == [.key(one), .key(other)])
      }
    }
  }

  @Test("Keys with different Unicode spellings are different locations")
  func spellings() throws {
    let (one, other) = (ValuePath(key: "\u{fc}"), ValuePath(key: "u\u{308}"))
    #expect(one != other && Set([one, other]).count == 2 && one == ValuePath(key: "\u{fc}"))
    let document: ArchiveValue = ["\u{fc}": 1]
    let moved = try JSONPatch([.move(from: one, to: other)]).applied(to: document)
    #expect(moved.objectValue?.keys.map { Array($0.utf8) } == [Array("u\u{308}".utf8)])
    let inside = JSONPatch([.add(other, [:]), .move(from: one, to: ValuePath(other.components + [.key("a")]))])
    #expect(try inside.applied(to: document)["u\u{308}"] == ["a": 1])
  }

  @Test("A path in dotted notation is accepted as a location, and a pattern is rejected")
  func dottedPaths() throws {
    let patch = JSONPatch([
      .replace("a[1]", "x"), .add("a.-", "y"), .move(from: "a[0]", to: "b.c"),
      .test(".", ["a": ["x", "y"], "b": ["c": 1]]),
      .move(from: "a[0]", to: ValuePath("a", "0")),
    ])
    let document: ArchiveValue = ["a": [1, 2], "b": [:]]
    #expect(try patch.applied(to: document) == ["a": ["x", "y"], "b": ["c": 1]])
    #expect(patch.json.arrayValue?.map { $0["path"] } == ["/a/1", "/a/-", "/b/c", "", "/a/0"])
    let again = try JSONPatch(json: patch.json)
    #expect(again.json == patch.json)
    #expect(try again.applied(to: document) == patch.applied(to: document))
    let error = #expect(throws: ArchiveError.self) { try JSONPatch([.remove("a[*]")]).applied(to: document) }
    #expect(error?.code == .mergeFailed && error?.codingPath == [.index(0)])
    #expect(error?.reason.hasPrefix("the path a[*] must consist of keys and indices") ?? false)
  }

  @Test("Random operations on a long list have the same effect as on an array", .tags(.long))
  func longLists() throws {
    var random = SeededRandom(seed: .random(in: 0 ... .max))
    var expected = (0..<2500).map { ArchiveValue.integer($0) }
    let old = ArchiveValue.array(expected)
    var operations: [JSONPatch.Operation] = []
    func place(_ number: Int) -> ValuePath { ValuePath(key: String(number)) }
    for number in 0..<Effort.rounds(1500, long: 6000) {
      // Early operations mostly remove elements, later ones mostly add them.
      let one = random.below(max(expected.count, 1)), value = ArchiveValue.integer(-number)
      switch random.below(8) {
      case 0...(number < 3000 ? 3 : 1) where !expected.isEmpty:
        operations.append(.remove(place(one)))
        expected.remove(at: one)
      case 4 where !expected.isEmpty:
        let other = random.below(expected.count)
        operations.append(.move(from: place(one), to: place(other)))
        expected.insert(expected.remove(at: one), at: other)
      case 5 where !expected.isEmpty:
        operations.append(.copy(from: place(one), to: ValuePath(key: "-")))
        expected.append(expected[one])
      case 6 where !expected.isEmpty:
        operations += [.test(place(one), expected[one]), .replace(place(one), value)]
        expected[one] = value
      default:
        let there = random.below(expected.count + 1)
        operations.append(.add(place(there), value))
        expected.insert(value, at: there)
      }
    }
    #expect(try JSONPatch(operations).applied(to: old) == .array(expected), "\(random)")
  }

  @Test(
    "Random operations on the keys of an object or record have the same effect as on an ArchiveObject", .tags(.long))
  func manyKeys() throws {
    var random = SeededRandom(seed: .random(in: 0 ... .max))
    for keyCount in [6, 12, 100] {
      let old = ArchiveObject((0..<keyCount / 2).map { .init(key: String($0), value: .integer($0)) })
      var expected = old
      var operations: [JSONPatch.Operation] = []
      for number in 0..<Effort.rounds(300, long: 3000) {
        let key = String(random.below(keyCount)), value = ArchiveValue.integer(-number)
        let pointer = ValuePath(key: key)
        if let present = expected[key], random.below(2) == 0 {
          operations += [.test(pointer, present), .remove(pointer)]
          expected[key] = nil
        } else {
          operations.append(.add(pointer, value))
          expected[key] = value
        }
      }
      let result = try JSONPatch(operations).applied(to: .object(old))
      #expect(result.objectValue?.entries == expected.entries, "\(random)")
      let record = ArchiveValue.record(ModelRecord(typeName: "R", modelVersion: 2, object: old))
      let patched = try JSONPatch(operations).applied(to: record).recordValue
      #expect(patched == ModelRecord(typeName: "R", modelVersion: 2, object: expected), "\(random)")
      #expect(patched?.keys == expected.keys, "\(random)")
    }
  }

  @Test("Every operation round-trips through JSON, and a patch can be applied to a record")
  func text() throws {
    let (here, there) = (ValuePath("a~/", "0"), ValuePath())
    let patch = JSONPatch([
      .add(here, .null), .remove(here), .replace(there, [1, "x"]), .move(from: here, to: there),
      .copy(from: there, to: here), .test(here, ["k": 0.5]),
    ])
    #expect(try JSONPatch(parsing: JSONWriter().write(patch.json)) == patch)
    let record = ArchiveValue.record(ModelRecord(typeName: "T", modelVersion: 1, fields: [("a", 1), ("b", [1])]))
    let changed = try JSONPatch([.replace(ValuePath(key: "a"), 2), .add(ValuePath("b", "-"), 3)]).applied(to: record)
    #expect(changed == .record(ModelRecord(typeName: "T", modelVersion: 1, fields: [("a", 2), ("b", [1, 3])])))
  }
}
