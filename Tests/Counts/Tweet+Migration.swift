import Foundation
import StrataCore

extension Tweet: Migratable {
  static let migration = MigrationPlan(
    .step(from: 1, to: 2, .rename("favs", to: "favoriteCount"), .convert("createdAt", .toDate)),
    .step(from: 2, to: 3, .drop("geo"), .setDefault("symbols", [])),
    .step(
      from: 3, to: 4,
      .move("resultType", to: "metadata.resultType", creating: .init("Metadata", version: 1)),
      .move("isoLanguageCode", to: "metadata.isoLanguageCode")))

  /// Returns an archive of the tweet in the form of version 1. Dates are seconds since 1970, the tweet itself contains the
  /// metadata's fields, the count has a different name, empty symbols are missing, and a key that was dropped later is present.
  func versionOneArchive() throws -> Data {
    let today = try ArchiveDecoder().decodeValue(from: ArchiveEncoder().encode(self))
    return try ArchiveEncoder(compression: .none).encode(Self.downgraded(today))
  }

  private static func downgraded(_ tweet: ArchiveValue) throws -> ArchiveValue {
    guard var record = tweet.recordValue else { throw Failure("a tweet is no record") }
    record.modelVersion = 1
    record.rename("favoriteCount", to: "favs")
    if case .date(let date)? = record["createdAt"] {
      record["createdAt"] = .int(Int64(date.timeIntervalSince1970))
    }
    record["geo"] = .null
    // The migration step replaces missing symbols with an empty list, so only empty lists may be removed.
    if record["symbols"] == [] { record["symbols"] = nil }
    record["resultType"] = tweet["metadata"]?["resultType"]
    record["isoLanguageCode"] = tweet["metadata"]?["isoLanguageCode"]
    record["metadata"] = nil
    record["retweeted"] = .array(try (tweet["retweeted"]?.arrayValue ?? []).map { try downgraded($0) })
    return .record(record)
  }
}
