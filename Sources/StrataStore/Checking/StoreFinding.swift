/// Something about a store that is not as it was written.
public struct StoreFinding: Sendable, Hashable {
  /// What is concerned.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The file, by what SQLite says of its pages.
    case file
    /// Something refers to what is not there.
    case reference
    /// The numbers of revisions that the status tells.
    case count
    /// A revision.
    case revision
    /// Content that revisions share.
    case content
    /// What revisions of one shape have in common.
    case definition
    /// A label.
    case label
  }

  /// What is concerned.
  public let kind: Kind
  /// The key, as far as it can be told.
  public let key: String?
  /// The number of the revision within the history of its key, as far as it can be told.
  public let revision: Int?
  /// The ``StoreRevision/sequence`` of the revision, as far as it can be told.
  public let sequence: Int64?
  /// What is wrong. Names keys and types, and never values.
  public let problem: String
  /// What to do next.
  public let advice: String

  init(
    _ kind: Kind, key: String? = nil, revision: Int? = nil, sequence: Int64? = nil, _ problem: String, advice: String
  ) {
    (self.kind, self.key, self.revision, self.sequence) = (kind, key, revision, sequence)
    (self.problem, self.advice) = (problem, advice)
  }
}

extension StoreFinding: CustomStringConvertible {
  /// One line: where, what is wrong, and what to do next. The wording may change between releases.
  public var description: String {
    var parts: [String] = []
    if let key { parts.append("key \(key)") }
    if let revision { parts.append("revision \(revision)") }
    if revision == nil, let sequence { parts.append("sequence \(sequence)") }
    let start = parts.isEmpty ? kind.rawValue : parts.joined(separator: ", ")
    return "\(start): \(problem); \(advice)"
  }
}

/// Findings, of which a store that is badly damaged may have any number.
struct StoreFindings {
  /// How many are kept; the others are counted.
  static let most = 10_000

  private(set) var all: [StoreFinding] = []
  private(set) var omitted = 0

  mutating func add(_ finding: StoreFinding) {
    if all.count < Self.most { all.append(finding) } else { omitted += 1 }
  }
}

extension StoreFinding {
  static let salvage = "salvage the store, which brings out all that is intact, or go back to a backup"

  /// A revision that cannot be read.
  ///
  /// - Parameter advice: what to do next; what the error suggests unless given.
  static func ofRevision(
    _ row: StoredRow, key: String?, _ error: any Error, advice: String? = nil
  ) -> StoreFinding {
    StoreFinding(
      .revision, key: key, revision: Int(row.seq), sequence: row.id, problem(error),
      advice: advice ?? Self.advice(error))
  }

  /// What an error says, without the key and revision, which the finding has.
  static func problem(_ error: any Error) -> String {
    guard let error = StoreError.ofDatabase(error) as? StoreError else { return String(describing: error) }
    // Of damage the reason goes on with what to do, which the finding says itself.
    let reason = error.code == .damaged ? String(error.reason.prefix { $0 != ";" }) : error.reason
    return StoreError(
      error.code, reason, typeName: error.typeName, underlying: error.underlyingError
    ).description
  }

  private static func advice(_ error: any Error) -> String {
    switch (StoreError.ofDatabase(error) as? StoreError)?.code {
    case .notDecodable?:
      "the bytes are those that were saved: read them with limits that allow more, or restore an earlier revision"
    default: "restore an earlier revision of the key, or " + salvage
    }
  }
}
