import Foundation
import Strata
import StrataTestSupport
import Testing

// The code of Docs/FromCodable.md. A test compares and runs it. FromCodableLaterTests has the version 2 of the model.

// FromCodable:begin
enum BeforeStrata {
  struct JournalEntry: Codable, Equatable {
    var id: UUID
    var text: String
    var createdAt: Date
    var mood: Mood?
  }

  enum Mood: String, Codable { case good, bad }

  struct Journal {
    let url: URL

    func load() throws -> [JournalEntry] {
      guard FileManager.default.fileExists(atPath: url.path) else { return [] }
      return try JSONDecoder().decode(
        [JournalEntry].self, from: Data(contentsOf: url))
    }

    func save(_ entries: [JournalEntry]) throws {
      try JSONEncoder().encode(entries).write(to: url, options: .atomic)
    }
  }
}

@Model(version: 1)
struct JournalEntry: Codable, Equatable {
  var id: UUID
  var text: String
  var createdAt: Date
  var mood: JournalMood?
}

enum JournalMood: String, Codable, Archivable { case good, bad }

struct Journal {
  let json: URL
  let file: ArchiveFile<[JournalEntry]>

  init(folder: URL) {
    json = folder.appending(path: "journal.json")
    file = ArchiveFile(folder.appending(path: "journal.strata"))
  }

  func load() throws -> [JournalEntry] {
    let (exported, saved) = (try date(of: json), try date(of: file.url))
    // The JSON file is newer if the app without Strata wrote it.
    if let exported, exported > saved ?? .distantPast {
      return try JSONDecoder().decode(
        [JournalEntry].self, from: Data(contentsOf: json))
    }
    return try file.load()?.value ?? []
  }

  func save(_ entries: [JournalEntry]) throws {
    try JSONEncoder().encode(entries).write(to: json, options: .atomic)
    try file.save(entries)
  }

  private func date(of url: URL) throws -> Date? {
    guard FileManager.default.fileExists(atPath: url.path) else { return nil }
    let attributes = try FileManager.default.attributesOfItem(
      atPath: url.path)
    return attributes[.modificationDate] as? Date
  }
}

func entries(ofISO8601 data: Data) throws -> [JournalEntry] {
  try JSONReader().read([JournalEntry].self, from: data)
}

func entries(ofDefault data: Data) throws -> [JournalEntry] {
  let dates = ReversibleTransformer<Double, Date>(
    { Date(timeIntervalSinceReferenceDate: $0) },
    reverse: { $0.timeIntervalSinceReferenceDate })
  let adapter = try JSONAdapter<JournalEntry>(
    convention: .identity.transforming(by: dates))
  return try adapter.decodeArray(data)
}
// FromCodable:end

@Suite("The Codable migration guide")
struct FromCodableGuideTests {
  private let old = [
    BeforeStrata.JournalEntry(
      id: UUID(), text: "Rain", createdAt: Date(timeIntervalSinceReferenceDate: 0.1), mood: .bad),
    BeforeStrata.JournalEntry(
      id: UUID(), text: "Sun", createdAt: Date(timeIntervalSinceReferenceDate: 800_000_000.25), mood: nil),
  ]
  private var today: [JournalEntry] {
    old.map {
      JournalEntry(id: $0.id, text: $0.text, createdAt: $0.createdAt, mood: $0.mood == nil ? nil : .bad)
    }
  }

  @Test("The guide contains the code of these programs")
  func code() throws {
    let later = Repository.root.appending(path: "Tests/StrataCoreTests/Migration/FromCodableLaterTests.swift").path
    let programs = try Repository.examples("FromCodable") + Repository.examples("FromCodable", in: later)
    let blocks = try Repository.blocks(in: Repository.text("Docs/FromCodable.md"))
    let missing = Repository.parts(of: blocks, missingFrom: programs.joined(separator: "\n"))
    #expect(programs.count == 2 && blocks.count == 6 && missing.isEmpty, "\(blocks.count) \(missing)")
  }

  @Test("The app imports the old JSON file and keeps it readable for the older app")
  func takenOver() throws {
    try withFolder { folder in
      let journal = Journal(folder: folder)
      #expect(try journal.load().isEmpty)
      let app = BeforeStrata.Journal(url: journal.json)
      try app.save(old)
      #expect(try journal.load() == today)
      try journal.save(today)
      #expect(try journal.load() == today && journal.file.load()?.value == today && app.load() == old)
    }
  }

  @Test("The app loads whichever is newer, the JSON file of the older app or the archive")
  func steppedBack() throws {
    try withFolder { folder in
      let journal = Journal(folder: folder)
      try journal.save(today)
      try BeforeStrata.Journal(url: journal.json).save([old[1]])
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: 10)], ofItemAtPath: journal.json.path)
      #expect(try Journal(folder: folder).load() == [today[1]])
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -10)], ofItemAtPath: journal.json.path)
      #expect(try Journal(folder: folder).load() == today)
    }
  }

  @Test("The mapping reads JSON with both date formats, and its errors contain the path")
  func mapping() throws {
    let json = try JSONEncoder().encode(old)
    #expect(try entries(ofDefault: json) == today)
    let error = archiveError(.typeMismatch) { try entries(ofISO8601: json) }
    #expect(error?.pathDescription == "[0].createdAt")
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    let read = try entries(ofISO8601: encoder.encode(old))
    #expect(
      read.map(\.text) == ["Rain", "Sun"] && read.map(\.createdAt.timeIntervalSinceReferenceDate) == [0, 800_000_000])
  }
}
