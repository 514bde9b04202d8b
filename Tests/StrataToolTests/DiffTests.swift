import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("strata diff")
struct DiffTests {
  let scratch: Scratch
  let old: String
  let new: String

  init() throws {
    scratch = try Scratch()
    old = try scratch.file(
      "old.json",
      #"{"title": "Crash", "votes": 1, "tags": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], "gone": 1}"#)
    new = try scratch.file(
      "new.json",
      #"{"votes": 1, "title": "Crash\n2", "tags": [{"id": 2, "name": "B"}, {"id": 1, "name": "a"}, {"id": 3}], "note": null}"#
    )
  }

  private func archive(_ name: String, _ record: ModelRecord) throws -> String {
    try scratch.file(name, ArchiveEncoder().encode(record))
  }

  private func issue(_ version: Int, _ fields: [(String, ArchiveValue)]) -> ModelRecord {
    ModelRecord(typeName: "Issue", modelVersion: version, fields: fields.map { (key: $0.0, value: $0.1) })
  }

  @Test("diff prints one line for each key path, in a stable order, and exits like POSIX diff")
  func lines() throws {
    let run = Run("diff", old, new)
    #expect(run.code == 1 && run.error.isEmpty)
    #expect(run.text == "~ title\n~ tags[id=2].name\n+ tags[id=3]\n↕ tags\n- gone\n+ note\n")
    #expect(Run("diff", old, new).output == run.output)
    let same = Run("diff", old, old)
    #expect(same.code == 0 && same.output.isEmpty && same.error.isEmpty)
    // diff ignores white space and the order of keys.
    let other = try scratch.file("other.json", #"{"b":[ ], "a":1 }"#)
    #expect(Run("diff", other, try scratch.file("one.json", #"{"a":1,"b":[]}"#)).code == 0)
  }

  @Test func values() throws {
    let text = Run("diff", old, new, "--values").text
    #expect(text.contains("~ title  \"Crash\" → \"Crash\\n2\"\n"))
    #expect(text.contains("+ tags[id=3]  {\"id\":3}\n"))
    #expect(text.contains("↕ tags  [1,2] → [2,1,3]\n"))
    #expect(text.contains("- gone  1\n") && text.contains("+ note  null\n"))
    let long = try scratch.file("long.json", "{\"title\": \"\(String(repeating: "long ", count: 500))\"}")
    let lines = Run("diff", old, long, "--values").text.split(separator: "\n")
    #expect(lines.allSatisfy { $0.count <= 100 }, "\(lines)")
    #expect(lines.first?.hasPrefix("~ title  \"Crash\" → \"long") == true)
  }

  @Test("diff escapes control characters in keys and values", arguments: [true, false])
  func terminals(values: Bool) throws {
    let bad = try scratch.file("bad.json", #"{"k\u001b[2J\u2028": "\u009b31m"}"#)
    let text = Run(["diff", old, bad] + (values ? ["--values"] : [])).text
    #expect(!text.unicodeScalars.contains { $0 != "\n" && ($0.value < 0x20 || 0x7F...0x9F ~= $0.value) })
    #expect(text.contains("\\u{1B}"))
  }

  @Test func elementsByAnotherKey() throws {
    let a = try scratch.file("a.json", #"[{"name": "x", "n": 1}, {"name": "y", "n": 2}]"#)
    let b = try scratch.file("b.json", #"[{"name": "y", "n": 3}]"#)
    #expect(Run("diff", a, b, "--by", "name").text == "- [name=\"x\"]\n~ [name=\"y\"].n\n")
  }

  @Test func elementsBySeveralKeys() throws {
    let a = try scratch.file("a.json", #"[{"o": "x", "n": 1, "s": 1}, {"o": "y", "n": 1, "s": 1}]"#)
    let b = try scratch.file("b.json", #"[{"o": "y", "n": 1, "s": 2}]"#)
    #expect(Run("diff", a, b, "--by", "o+n").text == "- [o+n=[\"x\",1]]\n~ [o+n=[\"y\",1]].s\n")
    #expect(Run("diff", a, b, "--by", "o+").code == 64)
  }

  @Test func json() throws {
    let run = Run("diff", old, new, "--json")
    #expect(run.code == 1)
    let value = try JSONReader().read(run.output)
    #expect(value["changes"]?.arrayValue?.count == 6)
    #expect(
      value["changes"]?.arrayValue?.first
        == ["path": "title", "kind": "changed", "old": "Crash", "new": "Crash\n2"])
    #expect(value["changes"]?.arrayValue?.last == ["path": "note", "kind": "added", "new": .null])
    #expect(try JSONReader().read(Run("diff", old, old, "--json").output) == ["notes": [], "changes": []])
  }

  @Test("diff compares records of different versions or types field by field, and says so")
  func versions() throws {
    let label = ModelRecord(typeName: "Label", modelVersion: 1, fields: [("id", 1), ("name", "bug")])
    var renamed = label
    (renamed["name"], renamed.modelVersion) = ("Bug", 4)
    let a = try archive("a.strata", issue(1, [("title", "t"), ("summary", "s"), ("labels", .array([.record(label)]))]))
    let b = try archive("b.strata", issue(3, [("title", "t"), ("labels", .array([.record(renamed)]))]))
    let run = Run("diff", a, b)
    #expect(run.code == 1)
    #expect(
      run.text == """
        Issue: version 1 was compared with version 3 field by field
        Label: version 1 was compared with version 4 field by field
        - summary
        ~ labels[id=1].name

        """)
    // A different model version alone is also a difference.
    let c = try archive("c.strata", issue(4, [("title", "t"), ("labels", .array([.record(renamed)]))]))
    let only = Run("diff", b, c)
    #expect(only.code == 1 && only.text == "Issue: version 3 was compared with version 4 field by field\n")
    // A different version of a superclass, or a missing superclass, is also a difference.
    func dog(_ versions: Int...) throws -> String {
      var dog = ModelRecord(typeName: "Dog", modelVersion: 2, fields: [("name", "Rex")])
      dog.superclasses = versions.map { .init(typeName: "Animal", modelVersion: $0) }
      return try archive("dog\(versions).strata", dog)
    }
    #expect(try Run("diff", dog(1), dog(2)).text == "Animal: version 1 was compared with version 2 field by field\n")
    #expect(try Run("diff", dog(1), dog(1)).code == 0 && Run("diff", dog(1), dog()).code == 1)
    let bug = ModelRecord(typeName: "Bug", modelVersion: 1, fields: [("title", "u")])
    let types = Run("diff", c, try archive("bug.strata", bug))
    #expect(types.code == 1 && types.text == "Issue was compared with Bug field by field\n~ title\n- labels\n")
  }

  @Test("diff compares a JSON document with an archive using the archive's value types")
  func mixed() throws {
    let date = Date(timeIntervalSince1970: 86400)
    let a = try archive(
      "a.strata",
      issue(
        3,
        [
          ("at", .date(date)), ("url", .url(try #require(URL(string: "https://a.b/c")))), ("score", .double(3)),
          ("icon", .data(Data([0, 1, 2]))), ("tags", .set(["a", "b"])), ("n", 7),
        ]))
    let json = try scratch.file("a.json", Run("decode", a).output)
    #expect(Run("diff", a, json).code == 0 && Run("diff", json, a).code == 0)
    let other = try scratch.file(
      "b.json",
      #"{"at": "1970-01-02T01:00:00+01:00", "url": "https://a.b/c", "score": 3, "icon": "AAEC", "tags": ["b", "a"], "n": 8}"#
    )
    #expect(Run("diff", a, other).text == "~ n\n")
    #expect(
      try JSONReader().read(Run("diff", a, other, "--patch").output)
        == [["op": "replace", "path": "/n", "value": 8]])
    let none = try scratch.file("c.json", #"{"at": "yesterday", "url": null}"#)
    #expect(Run("diff", a, none).text == "~ at\n~ url\n- score\n- icon\n- tags\n- n\n")
  }

  @Test func streams() throws {
    let one = try scratch.file("1.strata", Streams.stream([[1, 2], [3]]))
    let two = try scratch.file("2.strata", Streams.stream([[1, 2, 3]]))
    #expect(Run("diff", one, two).code == 0)
    #expect(Run("diff", one, try scratch.file("3.strata", Streams.stream([[1], [3]]))).text == "- [1]\n")
    #expect(Run("diff", one, try scratch.file("3.json", "[1, 2, 3]")).code == 0)
  }

  @Test("diff compares keyed archives and property lists, including shared objects and cycles")
  func legacy() throws {
    #expect(Run("diff", Legacy.path("bookmarks.plist"), Legacy.path("bookmarks-xml.plist")).code == 0)
    #expect(Run("diff", Legacy.path("settings.plist"), Legacy.path("settings.bplist")).code == 0)
    let run = Run("diff", Legacy.path("bookmarks.plist"), Legacy.path("settings.bplist"))
    #expect(run.code == 1 && run.text.contains("- children\n"))
    let converted = scratch.path("b.strata")
    #expect(Run("convert", Legacy.path("bookmarks.plist"), "-o", converted).code == 0)
    #expect(Run("diff", converted, Legacy.path("bookmarks.plist")).code == 0)
    Run("diff", converted, Legacy.path("settings.plist"), "--patch").expectFailure(code: 2, "shared objects")
  }

  @Test("diff distinguishes a shared object from two equal objects")
  func sharing() throws {
    let shared = ObjectGraph(objects: [["n": 1]], root: .array([.reference(0), .reference(0)]))
    let apart = ObjectGraph(objects: [["n": 1], ["n": 1]], root: .array([.reference(0), .reference(1)]))
    let one = try scratch.file("1", ArchiveEncoder().encode(shared, typeName: "Value", modelVersion: nil))
    let two = try scratch.file("2", ArchiveEncoder().encode(apart, typeName: "Value", modelVersion: nil))
    #expect(Run("diff", one, one).code == 0)
    #expect(Run("diff", one, two).code == 1)
  }

  @Test("diff --merge-patch fails if the patch would have to set a null")
  func nullsInMergePatches() throws {
    Run("diff", old, new, "--merge-patch").expectFailure(code: 2, "null", "note", "--patch")
    let plain = try scratch.file("plain.json", #"{"title": "Crash", "votes": 2}"#)
    let run = Run("diff", old, plain, "--merge-patch")
    #expect(run.code == 1)
    #expect(try JSONReader().read(run.output) == ["votes": 2, "tags": .null, "gone": .null])
    #expect(Run("diff", old, old, "--merge-patch").text == "{}\n")
  }

  @Test func unreadable() throws {
    Run("diff", old, scratch.path("missing")).expectFailure(code: 2, "missing", "No such file")
    Run("diff", scratch.url.path, old).expectFailure(code: 2, "directory")
    Run("diff", old, try scratch.file("empty", "")).expectFailure(code: 2, "empty: the file is empty")
    Run("diff", old, try scratch.file("bad.json", "{\"a\": 1,}")).expectFailure(code: 2, "bad.json: line 1")
    Run("diff", old, try scratch.file("twice.json", #"{"a": 1, "a": 2}"#)).expectFailure(code: 2, "twice.json: ")
    Run("diff", old, try scratch.file("image", Data([0x89, 0x50, 0x4E, 0x47, 1, 2])))
      .expectFailure(code: 2, "image: found a PNG image")
    let archive = try ArchiveEncoder().encode(ArchiveValue.string(String(repeating: "abc", count: 99)))
    Run("diff", try scratch.file("cut", archive.dropLast(3)), old).expectFailure(code: 2, "cut: ")
    let fixtures = Repository.fixtures.appending(path: "damaged").path
    Run("diff", old, fixtures + "/flipped.strata").expectFailure(code: 2, "checksum")
    Run("diff", old, fixtures + "/newer-format.strata").expectFailure(code: 2, "format version 2")
  }

  @Test func wrongUsage() {
    Run("diff", old).expectFailure(code: 64)
    Run("diff", "-", "-").expectFailure(code: 64, "standard input")
    Run("diff", old, new, "--by", "").expectFailure(code: 64, "--by")
    Run("diff", old, new, "--json", "--patch").expectFailure(code: 64, "cannot be combined")
    Run("diff", old, new, "--patch", "--merge-patch").expectFailure(code: 64, "cannot be combined")
  }

  @Test func standardInput() throws {
    #expect(Run("diff", "-", new, input: try scratch.data("new.json")).code == 0)
    #expect(Run("diff", old, "-", input: try scratch.data("new.json")).code == 1)
  }
}
