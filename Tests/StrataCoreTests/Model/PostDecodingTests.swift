import Foundation
import StrataCore
import Testing

/// A model that records each call of its hook.
private struct Note: DescribedModel, PostDecoding {
  var text: String
  var calls: [String] = []
  static let fields = Fields(
    Note.self, version: 2, Field("text", \.text, formerly: ["body"]),
    Field("calls", \.calls, archive: .excluded, default: []), make: { Note(text: $0, calls: $1) })

  mutating func didDecode(from source: DecodingSource) throws {
    if text == "refuse" { throw Refusal() }
    calls.append("\(source) \(text)")
  }
}

private struct Refusal: Error, Equatable {}

private struct Shelf: DescribedModel, PostDecoding {
  var notes: [Note]
  var count = 0
  static let fields = Fields(
    Shelf.self, version: 1, Field("notes", \.notes), Field("count", \.count, archive: .excluded, default: 0),
    make: { Shelf(notes: $0, count: $1) })

  mutating func didDecode(from source: DecodingSource) throws { count = notes.flatMap(\.calls).count }
}

@Suite("PostDecoding")
struct PostDecodingTests {
  @Test("M-8: decoding an archive runs the hook once after the fields are set, with or without an upgrade")
  func archive() throws {
    let today = try ArchiveEncoder().encode([Note(text: "a"), Note(text: "b")])
    #expect(try ArchiveDecoder().decode([Note].self, from: today).map(\.calls) == [["archive a"], ["archive b"]])
    let old = ModelRecord(typeName: "Note", modelVersion: 1, fields: [("body", "c")])
    #expect(try ArchiveDecoder().decode(Note.self, from: ArchiveEncoder().encode(old)).calls == ["archive c"])
  }

  @Test("M-8: decoding JSON runs each hook once, those of nested models first")
  func json() throws {
    let shelf = try Shelf(fromJSON: Data(#"{"notes": [{"text": "a"}, {"text": "b"}]}"#.utf8))
    #expect(shelf.notes.map(\.calls) == [["json a"], ["json b"]])
    #expect(shelf.count == 2)
  }

  @Test("M-8: a merge runs the hook once, on the result")
  func merge() throws {
    var note = Note(text: "a")
    try note.mergeValues(from: Note(text: "b"))
    #expect(note.calls == ["merge b"])
    var other = Note(text: "a")
    try other.mergeValues(fromJSON: Data(#"{"text": "c"}"#.utf8))
    #expect(other.calls == ["merge c"])
  }

  @Test("M-8: a merge runs the hook of a nested model once, on the result")
  func nestedMerge() throws {
    var shelf = Shelf(notes: [])
    try shelf.mergeValues(fromJSON: Data(#"{"notes": [{"text": "a"}]}"#.utf8))
    #expect(shelf.notes.map(\.calls) == [["merge a"]])
    #expect(shelf.count == 1)
  }

  @Test("If a hook throws, decoding fails with the path and the hook's error as the underlying error")
  func refusal() throws {
    let error = try #require(throws: ArchiveError.self) {
      try Shelf(fromJSON: Data(#"{"notes": [{"text": "a"}, {"text": "refuse"}]}"#.utf8))
    }
    #expect(error.code == .rejected)
    #expect(error.pathDescription == "notes[1]")
    #expect(error.underlyingError is Refusal)
    var note = Note(text: "a")
    let failed = try #require(throws: ArchiveError.self) { try note.mergeValues(from: Note(text: "refuse")) }
    #expect(failed.code == .mergeFailed)
    #expect(note.text == "a" && note.calls.isEmpty)
  }

  @Test("M-8, X-35: the upgrader runs the hook, because it decodes the archive")
  func upgrader() throws {
    let old = ModelRecord(typeName: "Note", modelVersion: 1, fields: [("body", "refuse")])
    let data = try ArchiveEncoder().encode(old)
    let decoding = #expect(throws: ArchiveError.self) { try ArchiveDecoder().decode(Note.self, from: data) }
    let upgrading = #expect(throws: ArchiveError.self) { try ArchiveUpgrader(Note.self).upgrade(data) }
    #expect(decoding?.code == .rejected && upgrading?.code == .rejected)
  }
}
