import Foundation
import Strata
import StrataCore

/// Counts the calls of the models' code, for tests that expect none.
enum MantleCount {
  static let made = Mutex(0)
  static let hooks = Mutex(0)
}

/// A model of an app that used Mantle, at version 2.
@Model(version: 2, name: "MantleTask", formerNames: ["OldTask"])
struct MantleTask: LegacyModel, KeyMigrating, PostDecoding, Validating, Equatable {
  var title: String? = "untitled"
  var count = 0
  var isDone = false
  var weight = 1.0
  @Field(archive: .excluded, json: "nested.name") var nestedName: String?
  var kind: MantleKind = .plain
  var parts: [MantleTask] = []
  var grid: [[MantleTask]] = []
  var byName: [String: MantleTask] = [:]
  var externalTitle: String?

  static var legacyNames: [String] { ["GHTask", "App.Task"] }

  static func decodeValue(forKey key: String, modelVersion: Int, in record: ModelRecord) throws -> ArchiveValue? {
    if record["fails"] != nil, key == "count" { throw MantleFailure.hook }
    guard key == "title", modelVersion == 0 else { return record[key] }
    return record["mtl_title"]?.stringValue.map { .string("M: " + $0) } ?? record[key]
  }

  mutating func didDecode(from source: DecodingSource) throws { MantleCount.made.withLock { $0 += 1 } }

  static let validation = Validation<MantleTask>(.check("count", \.count, .range(0...100)))
}

enum MantleFailure: Error { case hook }

enum MantleKind: String, Archivable, CaseAliasing {
  case plain, urgent
  static var formerRawValues: [String: MantleKind] { ["hot": .urgent] }
}

/// A model with a hook for the oldest form.
@Model(version: 3, name: "MantleMemo")
struct MantleMemo: LegacyModel, Migratable, Equatable {
  var text = ""
  var pages = 0
  @Field(archive: .excluded) var cache: String?

  static let migration = MigrationPlan(
    .step(from: 0, to: 1, "nothing") { _ in }, .step(from: 1, to: 2, .rename("title", to: "text")),
    .step(from: 2, to: 3, .convert("pages", .toInteger)))

  static var legacyNames: [String] { ["Memo.Old"] }

  static func record(fromExternalRepresentation object: ArchiveObject, version: Int) throws -> ModelRecord {
    MantleCount.hooks.withLock { $0 += 1 }
    guard object["broken"] == nil else { throw MantleFailure.hook }
    return ModelRecord(
      typeName: "MantleMemo", modelVersion: version,
      fields: [
        ("title", object["t"] ?? "none"), ("pages", object["n"] ?? "0"), ("cache", object["c"] ?? .null),
      ])
  }
}

/// A model with a field that is named like the only key of the oldest form.
@Model(version: 1, name: "MantleLetter")
struct MantleLetter: Equatable {
  var externalRepresentation: String
}
