import Foundation
import Strata
import StrataCore
import StrataTestSupport
import Testing

/// Three programs declare different versions of one model under the same name.
private enum Old {
  @Model(version: 2, name: "Note")
  struct Note: Equatable {
    var title = ""
    var unknownFields = UnknownFields()
  }
}

private enum Middle {
  @Model(version: 3, name: "Note")
  struct Note: Equatable {
    var title = ""
    var unknownFields = UnknownFields()
  }

  /// The same model, except that it does not keep unknown keys.
  @Model(version: 3, name: "Note")
  struct Forgetful: Equatable { var title = "" }

  @Model(version: 1, name: "Board")
  struct Board: Equatable {
    var notes: [Note] = []
    var pinned: Note?
  }

  @Model(version: 3, name: "Card")
  final class Card {
    var title = ""
    var next: Card?
    var unknownFields = UnknownFields()
  }
}

private enum New {
  @Model(version: 5, name: "Note", oldestReader: 3, oldestWriter: 3)
  struct Note: Equatable, Migratable {
    var title = ""
    var stars: Int
    var tags: [String] = []
    var unknownFields = UnknownFields()

    static let migration = MigrationPlan(
      .step(from: 2, to: 3), .step(from: 3, to: 4, .setDefault("stars", 7)), .step(from: 4, to: 5))
  }

  /// The same model, except that older programs may read but not write it.
  @Model(version: 5, name: "Note", oldestReader: 3)
  struct ReadOnly: Equatable {
    var title = ""
    var stars = 0
    var unknownFields = UnknownFields()
  }

  @Model(version: 1, name: "Board")
  struct Board: Equatable {
    var notes: [Note] = []
    var pinned: Note?
  }

  @Model(version: 4, name: "Card", oldestReader: 3, oldestWriter: 3)
  final class Card {
    var title = ""
    var stars = 0
    var next: Card?
    var unknownFields = UnknownFields()
  }
}

@Suite("Floors: older programs read newer archives")
struct FloorTests {
  private func encode(_ value: some Archivable) throws -> Data { try ArchiveEncoder().encode(value) }
  private func decode<T: Archivable>(_ type: T.Type, _ data: Data) throws -> T {
    try ArchiveDecoder().decode(from: data)
  }

  /// A note of the newer program. Its values differ from those that the migration steps set.
  private var note: New.Note {
    var note = New.Note(title: "new", stars: 3)
    note.tags = ["a", "b"]
    return note
  }

  @Test("Newer fields survive when an older program opens, edits and saves an archive")
  func rollback() throws {
    var old = try decode(Middle.Note.self, encode(note))
    #expect(old.title == "new" && old.unknownFields["stars"] == 3)
    old.title = "edited"
    let saved = try encode(old)
    let record = try #require(try ArchiveDecoder().decodeValue(from: saved).recordValue)
    #expect(record.typeName == "Note" && record.modelVersion == 5)
    var expected = note
    expected.title = "edited"
    var report = DecodingReport()
    #expect(try ArchiveDecoder().decode(New.Note.self, from: saved, report: &report) == expected)
    #expect(report.upgrades.isEmpty)
    // The older program can open the file that it saved, because saving keeps the floors: the minimum model versions that a program
    // needs.
    var again = try decode(Middle.Note.self, saved)
    again.title = "new"
    #expect(try decode(New.Note.self, encode(again)) == note)
  }

  @Test("Newer fields survive an older program in arrays, dictionaries and nested models")
  func nested() throws {
    let board = New.Board(notes: [note, note], pinned: note)
    var old = try decode(Middle.Board.self, encode(board))
    old.notes[0].title = "edited"
    old.notes.append(Middle.Note(title: "added"))
    let back = try decode(New.Board.self, encode(old))
    #expect(back.notes.map(\.title) == ["edited", "new", "added"] && back.notes.map(\.stars) == [3, 3, 7])
    #expect(back.pinned == note)
    let list = try decode([Middle.Note].self, encode([note]))
    #expect(try decode([New.Note].self, encode(list)) == [note])
    let dictionary = try decode([String: Middle.Note].self, encode(["key": note]))
    #expect(try decode([String: New.Note].self, encode(dictionary)) == ["key": note])
    #expect(try decode(New.Note.self, ArchiveUpgrader(Middle.Note.self).upgrade(encode(note))) == note)
    #expect(try ArchiveUpgrader(Middle.Board.self).upgrade(encode(old)) == encode(old))
  }

  @Test("Newer fields survive an older program in objects of a reference cycle")
  func objects() throws {
    let card = New.Card()
    (card.title, card.stars, card.next) = ("new", 3, card)
    let old = try decode(Middle.Card.self, encode(card))
    #expect(old.title == "new" && old.next === old && old.unknownFields["stars"] == 3)
    old.title = "edited"
    let back = try decode(New.Card.self, encode(old))
    #expect(back.title == "edited" && back.stars == 3 && back.next === back)
  }

  @Test("Newer fields survive in a stream to which an older program appends")
  func stream() throws {
    try withFolder { (folder: URL) throws in
      let url = folder.appendingPathComponent("notes.strata")
      var writer = try ArchiveStreamWriter<New.Note>(creating: url)
      for _ in 0..<3 { try writer.append(note) }
      try writer.finish()
      let old = try ArchiveSequence(Middle.Note.self, from: url).results.map { try $0.get() }
      #expect(old.count == 3)
      var appending = try ArchiveStreamWriter<Middle.Note>(appendingTo: url)
      try appending.append(Middle.Note(title: "added"))
      try appending.append(old[0])
      try appending.finish()
      let new = try ArchiveSequence(New.Note.self, from: url).results.map { try $0.get() }
      #expect(new.map(\.stars) == [3, 3, 3, 7, 3] && new[4] == note && new[3].title == "added")
    }
  }

  @Test("A stream created by an older program keeps the unknown keys of newer models")
  func olderStream() throws {
    try withFolder { (folder: URL) throws in
      let url = folder.appendingPathComponent("notes.strata")
      let old = try decode(Middle.Note.self, encode(note))
      var writer = try ArchiveStreamWriter<Middle.Note>(creating: url)
      for note in [Middle.Note(title: "own"), old] { try writer.append(note) }
      try writer.finish()
      #expect(
        try ArchiveSequence(Middle.Note.self, from: url).results.map { try $0.get() }.map(\.title) == ["own", "new"])
      let new = try ArchiveSequence(New.Note.self, from: url).results.map { try $0.get() }
      #expect(new.map(\.stars) == [7, 3] && new[1] == note)
    }
  }

  @Test("A program below the floor, or one that would lose unknown keys, throws newerModel")
  func refused() throws {
    for data in try [encode(note), encode([note])] {
      let below = #expect(throws: ArchiveError.self) {
        try data == encode(note) ? [decode(Old.Note.self, data)] : decode([Old.Note].self, data)
      }
      #expect(below?.code == .newerModel && below?.foundVersion == 5 && below?.supportedVersion == 2)
    }
    let forgetful = #expect(throws: ArchiveError.self) { try decode(Middle.Forgetful.self, encode(note)) }
    #expect(forgetful?.code == .newerModel && forgetful?.reason.contains("UnknownFields()") == true)
  }

  @Test("A version can allow older programs to read but not to write")
  func readOnly() throws {
    let old = try decode(Middle.Note.self, encode(New.ReadOnly(title: "new", stars: 2)))
    #expect(old.title == "new")
    let error = #expect(throws: ArchiveError.self) { try encode(old) }
    #expect(error?.code == .newerModel && error?.reason.contains("which version 3 can read but not save") == true)
    // A new object that the older program creates is saved with that program's model version.
    #expect(try decode(New.ReadOnly.self, encode(Middle.Note(title: old.title))).title == "new")
  }

  @Test("A merge in an older program keeps the keys of the newer version")
  func merge() throws {
    var old = try decode(Middle.Note.self, encode(note))
    try old.mergeValues(from: Middle.Note(title: "merged"))
    let back = try decode(New.Note.self, encode(old))
    #expect(back.title == "merged" && back.stars == 3 && back.tags == ["a", "b"])
  }

  @Test("An archive without floors has no floor list, and a newer version without the list is rejected")
  func bytes() throws {
    #expect(try Stamp(of: encode(Middle.Note(title: "old"))).floors.isEmpty)
    var stamp = try Stamp(of: encode(note))
    #expect(stamp.floors["Note", 5] == VersionFloors(reader: 3, writer: 3))
    let record = try #require(try ArchiveDecoder().decodeValue(from: encode(note)).recordValue)
    let plain = try ArchiveEncoder().encode(ModelRecord(typeName: "Note", modelVersion: 5, object: record.object))
    stamp = try Stamp(of: plain)
    #expect(stamp.floors.isEmpty)
    #expect(throws: ArchiveError.self) { try decode(Middle.Note.self, plain) }
  }

  @Test("Changing any byte of the floor list throws damaged or gives another list, but never traps")
  func damaged() throws {
    let field = try Stamp(of: encode(note)).extraField()
    let start = try #require(
      field.indices.first { field[$0] == UInt8(ascii: "S") && field[$0 + 1] == UInt8(ascii: "f") })
    var errors = 0
    for place in start..<field.count {
      for byte in UInt8.min...UInt8.max {
        var changed = field
        changed[place] = byte
        do { _ = try Stamp(extraField: changed.bytes) } catch let error as ArchiveError {
          #expect(error.code == .damaged)
          errors += 1
        }
      }
      let cut = Array(field[..<place] + [0xFF])
      #expect(throws: ArchiveError.self) { try Stamp(extraField: cut.bytes) }
    }
    #expect(errors > 2000)
  }

  @Test("A header has at most 2,048 bytes of floors, and a longer list throws damaged")
  func limit() throws {
    let records = (0..<200).map { number in
      let shape = RecordShape(
        typeName: "Model \(number % 100)", modelVersion: 3, keys: ["key"], floors: VersionFloors(reader: 1, writer: 2))
      return ArchiveValue.record(ModelRecord(shape: shape, values: [1]))
    }
    let stamp = try Stamp(of: encode(ArchiveValue.array(records)))
    #expect(
      stamp.floors["Model 0", 3] != nil && stamp.floors["Model 0", 2] == nil && stamp.floors["Model 99", 3] == nil)
    var plain = stamp
    plain.floors = StampFloors()
    let field = try stamp.extraField(), start = try plain.extraField().count
    #expect((2020...2052).contains(field.count - start))
    #expect(try Stamp(extraField: field.bytes) == stamp)
    let long = Array(field[..<(start + 2)]) + [0, 16] + Array(repeating: 0, count: 4096)
    let error = #expect(throws: ArchiveError.self) { try Stamp(extraField: long.bytes) }
    #expect(error?.code == .damaged)
  }

  @Test("Declaring a floor that older versions cannot support is a schema error")
  func declarations() {
    func problem(reader: Int?, writer: Int? = nil, keeps: Bool = true, steps: MigrationStep...) -> String? {
      Described.steps.withLock { $0 = MigrationPlan(steps) }
      let schema = ModelSchema(
        Described.self, name: "Described", version: 3, fields: [FieldInfo("title", String.self)],
        keepsUnknownFields: keeps, oldestReader: reader, oldestWriter: writer)
      do { try schema.check() } catch { return (error as? ArchiveError)?.reason ?? "\(error)" }
      return nil
    }
    let steps: [MigrationStep] = [
      .step(from: 1, to: 2, .rename("name", to: "title")), .step(from: 2, to: 3, .setDefault("title", "")),
    ]
    #expect(problem(reader: 2, writer: 2, steps: steps[0], steps[1]) == nil)
    #expect(problem(reader: 2, writer: 3, steps: steps[0], steps[1]) == nil)
    #expect(problem(reader: nil, steps: steps[0], steps[1]) == nil)
    #expect(problem(reader: 1, steps: steps[0], steps[1])?.contains("set oldestReader to at least 2") == true)
    #expect(problem(reader: 2, keeps: false, steps: steps[0], steps[1])?.contains("UnknownFields") == true)
    #expect(problem(reader: 4, steps: steps[0], steps[1])?.contains("oldestWriter ≤ version") == true)
    #expect(problem(reader: 2, writer: 1, steps: steps[0], steps[1])?.contains("oldestReader ≤ oldestWriter") == true)
  }
}

private struct Described: VersionedModel, Migratable {
  static let steps = Mutex(MigrationPlan([]))
  static var schema: ModelSchema { ModelSchema(Described.self, name: "Described", version: 3) }
  static var migration: MigrationPlan { steps.withLock { $0 } }
  init(fields reader: inout ArchiveReader) throws {}
  func encodeFields(to writer: inout ArchiveWriter) throws {}
}
