import Foundation
import StrataCore

extension Runner {
  /// Compares archives and JSON of types that are only Codable: a page of tweets, and GitHub's events.
  func compareCodable() throws {
    guard ["encode", "decode", "archive", "unarchive"].contains(where: { wantsCodable($0) }) else { return }
    try compareCodable("tweets", JSONDecoder().decode(PlainTweets.Page.self, from: Corpus.page()))
    let dates = JSONDecoder()
    dates.dateDecodingStrategy = .iso8601
    let events = try Corpus.events().map { try dates.decode(PlainGitHub.WebhookEvent.self, from: $0) }
    guard events.count > 20 else { throw Failure("\(events.count) events of GitHub are in the corpus; there are 29") }
    try compareCodable("github", events)
  }

  private func wantsCodable(_ work: String) -> Bool {
    ["tweets", "github"].contains { wants("codable/\(work)/\($0)") }
  }

  private func compareCodable<T: Codable & Equatable>(_ name: String, _ source: T) throws {
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    let (plain, deflating, reader) = (ArchiveEncoder(compression: .none), ArchiveEncoder(), ArchiveDecoder())
    let text = try encoder.encode(source)
    let (archive, deflated) = (try plain.encode(source), try deflating.encode(source))
    guard try decoder.decode(T.self, from: text) == source, try reader.decode(T.self, from: archive) == source,
      try reader.decode(T.self, from: deflated) == source
    else { throw Failure("both sides must read what they wrote") }
    try time("codable/encode/\(name)") {
      consume(try plain.encode(source))
    } theirs: {
      consume(try encoder.encode(source))
    }
    try time("codable/decode/\(name)") {
      consume(try reader.decode(T.self, from: archive))
    } theirs: {
      consume(try decoder.decode(T.self, from: text))
    }
    try time("codable/archive/\(name)") {
      consume(try deflating.encode(source))
    } theirs: {
      consume(try encoder.encode(source))
    }
    try time("codable/unarchive/\(name)") {
      consume(try reader.decode(T.self, from: deflated))
    } theirs: {
      consume(try decoder.decode(T.self, from: text))
    }
  }
}
