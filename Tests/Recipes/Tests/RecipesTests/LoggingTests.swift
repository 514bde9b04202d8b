import Foundation
import Logging
import Strata
import Synchronization
import Testing

@Model(version: 1)
private struct Timed: Equatable {
  var note = ""
}

@Model(version: 2)
private struct Newer: Equatable {
  var note = ""
  var stars = 3
}

/// A log handler that stores Strata's messages.
private struct Recorder: LogHandler {
  struct Entry: Sendable {
    let level: Logger.Level
    let message: String
    let metadata: [String: String]
  }

  static let entries = Mutex<[Entry]>([])
  /// Installs the handler on first access. Earlier messages are lost.
  static let isInstalled: Bool = {
    LoggingSystem.bootstrap { label in Recorder(logLevel: label == "strata" ? .debug : .critical) }
    return true
  }()

  var logLevel: Logger.Level
  var metadata: Logger.Metadata = [:]

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let metadata = (event.metadata ?? [:]).mapValues { "\($0)" }
    Self.entries.withLock {
      $0.append(Entry(level: event.level, message: "\(event.message)", metadata: metadata))
    }
  }
}

@Suite("The Logging trait")
struct LoggingTests {
  @Test("Each operation is logged once with its type, bytes and error, but without values")
  func entries() throws {
    #expect(Recorder.isInstalled)
    var timed = Timed(note: "secret")
    let archive = try ArchiveEncoder().encode(timed)
    #expect(try ArchiveDecoder().decode(Timed.self, from: archive) == timed)
    #expect(throws: ArchiveError.self) { try ArchiveDecoder().decode(Timed.self, from: archive.dropLast()) }
    let json = try timed.jsonData()
    #expect(try Timed(fromJSON: json) == timed)
    try timed.mergeValues(fromJSON: Data(#"{"note": "secret too"}"#.utf8))

    let entries = Recorder.entries.withLock { $0 }.filter { $0.metadata["type"] == "Timed" }
    #expect(entries.map(\.message) == ["encode", "decode", "decode", "write JSON", "read JSON", "merge"])
    #expect(
      entries.map { $0.metadata["bytes"] }
        == ["\(archive.count)", "\(archive.count)", nil, "\(json.count)", "\(json.count)", nil])
    #expect(entries.map { $0.metadata["error"] } == [nil, nil, "truncated", nil, nil, nil])
    #expect(entries.allSatisfy { $0.level == .debug && Double($0.metadata["microseconds"] ?? "") ?? -1 >= 0 })
    #expect(!"\(entries)".contains("secret"))
  }

  @Test("A debug build logs unread and missing fields of older records once")
  func olderRecords() throws {
    #expect(Recorder.isInstalled)
    let record = ModelRecord(typeName: "Newer", modelVersion: 1, fields: [("note", "secret"), ("nick", "secret")])
    let old = try ArchiveEncoder().encode(record)
    for _ in 0..<3 { #expect(try ArchiveDecoder().decode(Newer.self, from: old) == Newer(note: "secret")) }
    let notes = Recorder.entries.withLock { $0 }.filter { $0.level == .notice }.map(\.message)
    #expect(
      notes == [
        "no field reads Newer.nick", "older data has no value for Newer.stars, so the default is used",
      ])
  }
}
