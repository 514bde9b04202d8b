import Foundation
import StrataCore
import StrataTestSupport
import Testing

@testable import StrataTool

/// The tool of an app, which includes the app's model types.
struct AppToolTests {
  let scratch: Scratch
  let old: String
  let new: String

  init() throws {
    scratch = try Scratch()
    old = try scratch.file("old.strata", ArchiveEncoder().encode(App.OldNote(id: 7, text: "Crash", votes: 3)))
    new = try scratch.file("new.strata", ArchiveEncoder().encode(App.Note(id: 7, title: "Crash", votes: 3)))
  }

  private func stream(_ name: String, _ count: Int) throws -> String {
    let path = scratch.path(name)
    var writer = try ArchiveStreamWriter<App.OldNote>(creating: URL(fileURLWithPath: path))
    for id in 0..<count { try writer.append(App.OldNote(id: id, text: "Note \(id)", votes: id)) }
    try writer.finish()
    return path
  }

  private func words(_ run: Run) -> [String] {
    run.text.split(separator: "\n").map { String($0.prefix { $0 != " " }) }
  }

  // MARK: upgrade

  @Test("upgrade writes the same bytes as the app, and copies a current archive unchanged")
  func upgrade() throws {
    let output = scratch.path("out.strata")
    let run = Run.app("upgrade", old, "-o", output)
    #expect(run.code == 0 && run.error.isEmpty, "\(run.error)")
    #expect(run.text.hasPrefix("upgraded  \(old)  Note@1 → Note@2  1 value  "), "\(run.text)")
    #expect(try scratch.data("out.strata") == scratch.data("new.strata"))
    let again = Run.app("upgrade", output, "-o", scratch.path("same.strata"))
    #expect(again.text.hasPrefix("current  \(output)  Note@2 decoded  1 value  "), "\(again.text)")
    #expect(try scratch.data("same.strata") == scratch.data("new.strata"))
  }

  @Test("upgrade uses the element's model for lists and streams")
  func collections() throws {
    let list = try scratch.file(
      "list.strata", ArchiveEncoder().encode([App.OldNote(text: "a"), App.OldNote(text: "b")]))
    #expect(Run.app("upgrade", list, "-o", scratch.path("list2.strata")).text.contains("[Note]@1 → [Note]@2"))
    let notes = try ArchiveDecoder().decode([App.Note].self, from: scratch.data("list2.strata"))
    #expect(notes.map(\.title) == ["a", "b"])
    let stream = try stream("stream.strata", 3000)
    let run = Run.app("upgrade", stream, "-o", scratch.path("stream2.strata"))
    #expect(run.text.hasPrefix("upgraded  \(stream)  Note@1 → Note@2  3,000 values  "), "\(run.text)")
    let models = try ArchiveSequence(App.Note.self, from: URL(fileURLWithPath: scratch.path("stream2.strata"))).results
      .map { try $0.get() }
    #expect(models.count == 3000 && models.last == App.Note(id: 2999, title: "Note 2999", votes: 2999))
    let one = Run.app("verify", scratch.path("stream2.strata"), "--json")
    #expect(try JSONReader().read(one.output)["files"]?.arrayValue?.first?["model"] == "Note@2")
  }

  @Test("upgrade replaces an existing file only with --overwrite, which also allows upgrading in place")
  func overwriting() throws {
    let kept = Run.app("upgrade", old, "-o", new)
    #expect(
      kept.code == 1 && kept.text.contains("\(new) already exists; to replace it, pass --overwrite"), "\(kept.text)")
    #expect(Run.app("upgrade", old, "-o", old, "--overwrite").code == 0)
    #expect(try scratch.data("old.strata") == scratch.data("new.strata"))
    let stream = try stream("stream.strata", 10)
    #expect(Run.app("upgrade", stream, "-o", stream, "--overwrite").code == 0)
    #expect(Run.app("verify", stream).text.contains("Note@2 decoded  10 values"))
  }

  @Test(
    "Upgrading a folder reports damaged, unknown, newer and invalid archives separately and skips them")
  func folder() throws {
    try FileManager.default.createDirectory(atPath: scratch.path("in/sub"), withIntermediateDirectories: true)
    _ = try scratch.file("in/a.strata", scratch.data("old.strata"))
    _ = try scratch.file("in/sub/b.strata", scratch.data("new.strata"))
    _ = try scratch.file("in/c.strata", scratch.data("old.strata").dropLast(4))
    _ = try scratch.file("in/d.strata", ArchiveEncoder().encode(["any": 1] as ArchiveValue))
    _ = try scratch.file("in/e.strata", ArchiveEncoder().encode(App.OldNote(text: "")))
    _ = try scratch.file(
      "in/f.strata", ArchiveEncoder().encode(ModelRecord(typeName: "Note", modelVersion: 9, fields: [])))
    _ = try scratch.file("in/notes.txt", "Buy paint.")
    let run = Run.app("upgrade", scratch.path("in"), "-o", scratch.path("out"))
    #expect(run.code == 1)
    #expect(
      words(run) == ["upgraded", "damaged", "unknown", "damaged", "unsupported", "other", "current", "7"]
        || words(run) == ["upgraded", "damaged", "unknown", "refused", "unsupported", "other", "current", "7"],
      "\(run.text)")
    #expect(run.text.contains("this program has no model for the type Value"), "\(run.text)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path("out")).sorted() == ["a.strata", "sub"])
    #expect(try scratch.data("out/a.strata") == scratch.data("out/sub/b.strata"))
    #expect(Run.app("upgrade", scratch.path("in"), "-o", scratch.path("in/out")).code == 1)
  }

  @Test("upgrade writes several files to a folder and rejects two inputs with the same output path")
  func severalFiles() throws {
    let run = Run.app("upgrade", old, new, "-o", scratch.path("out"), "--json")
    #expect(run.code == 0)
    let counts = try JSONReader().read(run.output)["counts"]
    #expect(counts?["upgraded"] == 1 && counts?["current"] == 1)
    try FileManager.default.createDirectory(atPath: scratch.path("in"), withIntermediateDirectories: true)
    let same = try scratch.file("in/old.strata", scratch.data("old.strata"))
    Run.app("upgrade", old, same, "-o", scratch.path("two")).expectFailure("would both be written to")
  }

  @Test("upgrade and verify report a value that no field reads")
  func losses() throws {
    let path = try scratch.file("tag.strata", ArchiveEncoder().encode(App.OldTag(name: "a", colour: "red")))
    let run = Run.app("upgrade", path, "-o", scratch.path("tag2.strata"))
    #expect(run.text.contains("no field reads Tag.colour"), "\(run.text)")
    #expect(
      Run.app("verify", path).text.contains("Tag@1 → Tag@2") && Run.app("verify", path).text.contains("Tag.colour"))
  }

  @Test("A tool without models explains that upgrade and --type require the app's own tool")
  func withoutModels() {
    Run("upgrade", old, "-o", scratch.path("x")).expectFailure("Tool.main(Issue.self)", "A tool of your own")
    Run("decode", old, "--type", "Note").expectFailure("this program has no models")
    Run.app("decode", old, "--type", "Nope").expectFailure("its models are Folder, Note, Tag")
    Run("schema", "record", scratch.path("")).expectFailure("SchemaLock (set STRATA_RECORD=1 to record)")
    Run(["verify", old], models: [App.Note.self, App.OldNote.self]).expectFailure(
      code: 64, "two models of this program have the name Note")
  }

  // MARK: verify

  @Test("verify decodes archives with the app's models and rejects one that violates a validation rule")
  func verify() throws {
    let broken = try scratch.file("broken.strata", ArchiveEncoder().encode(App.Note(title: "")))
    let other = try scratch.file("other.strata", ArchiveEncoder().encode([1, 2]))
    let run = Run.app("verify", new, old, broken, other)
    #expect(run.code == 1)
    #expect(words(run) == ["intact", "intact", "refused", "intact", "4"], "\(run.text)")
    #expect(run.text.contains("Note@2 decoded") && run.text.contains("Note@1 → Note@2"), "\(run.text)")
    #expect(Run("verify", broken).code == 0)
    #expect(
      Run.app("verify", "-", input: try Data(contentsOf: URL(fileURLWithPath: stream("s.strata", 5)))).text.contains(
        "→"))
  }

  // MARK: JSON

  @Test("encode and decode with --type use the model's JSON mapping")
  func json() throws {
    let text = #"{"id":7,"data":{"title":"Crash"},"votes":3,"mood":"calm"}"#
    let run = Run.app("encode", "-", "-o", "-", "--type", "Note", input: Data(text.utf8))
    #expect(run.code == 0, "\(run.error)")
    #expect(try run.output == scratch.data("new.strata"))
    #expect(Run.app("decode", new, "--type", "Note").text == text + "\n")
    #expect(Run.app("decode", old, "--type", "Note").text == text + "\n")
    #expect(Run.app("decode", new).text == #"{"id":7,"title":"Crash","votes":3,"mood":"calm"}"# + "\n")
    let list = Run.app("encode", "-", "-o", "-", "--type", "[Note]", input: Data("[\(text)]".utf8))
    #expect(try Stamp(of: list.output).typeName == "[Note]")
    #expect(Run.app("decode", "-", "--type", "Note", input: list.output).text == "[\(text)]\n")
    #expect(
      Run.app("decode", try stream("s.strata", 2), "--type", "Note").text.hasPrefix(#"[{"id":0,"data":{"title":"#))
    Run.app("decode", try scratch.file("v.strata", ArchiveEncoder().encode("a")), "--type", "Note").expectFailure(
      "Note is expected")
  }

  @Test("encode --type rejects invalid models, and unknown keys unless --ignore-unknown-keys is passed")
  func unknownKeys() throws {
    let text = Data(#"{"id":7,"data":{"title":"Crash"},"votes":3,"etag":"x"}"#.utf8)
    Run.app("encode", "-", "-o", "-", "--type", "Note", input: text).expectFailure("etag")
    let run = Run.app("encode", "-", "-o", "-", "--type", "Note", "--ignore-unknown-keys", input: text)
    #expect(try run.output == scratch.data("new.strata"))
    Run.app("encode", "-", "-o", "-", "--type", "Note", input: Data(#"{"id":7,"data":{"title":""},"votes":3}"#.utf8))
      .expectFailure("title")
    let record = Run.app("encode", "-", "-o", "-", "--type", "Note", "--model-version", "1", input: text)
    #expect(try ArchiveDecoder().decodeValue(from: record.output)["etag"] == "x")
  }

  // MARK: merge

  @Test("merge applies the model's policies to archives of any version, and --policy overrides them")
  func merge() throws {
    let server = try scratch.file("server.strata", ArchiveEncoder().encode(App.OldNote(id: 7, text: "Crash", votes: 2)))
    let output = scratch.path("merged.strata")
    let run = Run.app("merge", "--local", new, "--server", server, "-o", output)
    #expect(
      run.code == 0 && run.text.contains("max") && run.text.contains("; merged with the policies of Note"),
      "\(run.text)\(run.error)")
    #expect(try scratch.data("merged.strata") == scratch.data("new.strata"))
    #expect(
      Run.app("merge", "--local", new, "--server", server, "--policy", "votes=serverWins", "-o", output).code == 0)
    #expect(try ArchiveDecoder().decode(App.Note.self, from: scratch.data("merged.strata")).votes == 2)
    Run("merge", "--local", new, "--server", server).expectFailure(code: 2)
  }

  @Test("merge --type uses the model's JSON mapping and accepts a server document with missing keys")
  func mergeJSON() throws {
    let local = try scratch.file("local.json", #"{"id":7,"data":{"title":"Mine"},"votes":5,"mood":"wild"}"#)
    let server = try scratch.file("server.json", #"{"data":{"title":"Theirs"},"votes":4,"etag":"x"}"#)
    let run = Run.app("merge", "--local", local, "--server", server, "--type", "Note")
    #expect(run.code == 0, "\(run.error)")
    #expect(run.text == #"{"id":7,"data":{"title":"Theirs"},"votes":5,"mood":"wild"}"# + "\n")
    let mixed = Run.app("merge", "--local", new, "--server", server, "-q", "--format", "json")
    #expect(try JSONReader().read(mixed.output)["data"]?["title"] == "Theirs", "\(mixed.error)")
    let patch = try scratch.file("p.json", #"[{"op":"replace","path":"/data/title","value":"Patched"}]"#)
    let patched = Run.app("merge", "--local", local, "--server-patch", patch, "--type", "Note", "-q")
    #expect(patched.text.contains(#""title":"Patched""#), "\(patched.error)")
    let merge = try scratch.file("m.json", #"{"data":{"title":"Merged"}}"#)
    #expect(
      Run.app("merge", "--local", local, "--server-merge-patch", merge, "--type", "Note", "-q").text.contains("Merged"))
    _ = try scratch.file("more.json", #"{"id":7,"data":{"title":"Mine"},"votes":5,"lost":1}"#)
    Run.app("merge", "--local", scratch.path("more.json"), "--server", server, "--type", "Note").expectFailure(
      code: 2, "lost")
    Run.app("merge", "--local", local, "--server", server, "--type", "[Note]").expectFailure(code: 2, "is not a model")
  }

  @Test("Merging models fails if the result violates a rule, and detects conflicts field by field")
  func mergeFailures() throws {
    let base = try scratch.file("base.strata", ArchiveEncoder().encode(App.OldNote(id: 7, text: "Base", votes: 3)))
    let empty = try scratch.file("empty.json", #"{"data":{"title":""}}"#)
    Run.app("merge", "--local", new, "--server", empty).expectFailure(code: 2, "title")
    let server = try scratch.file("server.json", #"{"data":{"title":"Theirs"}}"#)
    let run = Run.app("merge", "--local", new, "--base", base, "--server", server, "-o", scratch.path("m.strata"))
    #expect(
      run.code == 1 && run.text.contains("1 conflict; for conflicts, the local values are kept"),
      "\(run.text)\(run.error)")
    let folder = App.Folder(name: "a", notes: [App.Note(id: 1, title: "x", votes: 1)])
    let path = try scratch.file("folder.strata", ArchiveEncoder().encode(folder))
    let more = try scratch.file(
      "more.json", #"{"notes":[{"id":1,"data":{"title":"x"},"votes":0},{"id":2,"data":{"title":"y"},"votes":1}]}"#)
    let merged = Run.app(
      "merge", "--local", path, "--server", more, "--policy", "notes[*].votes=max", "-o", scratch.path("f.strata"))
    #expect(merged.code == 0 && merged.error.isEmpty, "\(merged.error)")
    let result = try ArchiveDecoder().decode(App.Folder.self, from: scratch.data("f.strata"))
    #expect(result.notes.map(\.votes) == [1, 1])
  }
}
