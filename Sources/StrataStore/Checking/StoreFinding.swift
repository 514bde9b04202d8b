/// A problem that a check or a salvage has found in a store.
public struct StoreFinding: Sendable, Hashable {
  /// The part of the store in which a problem was found.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The database file itself, for example a damaged page or a range of revisions that cannot be read.
    case file
    /// An invalid reference from one row to another, for example to a row that does not exist.
    case reference
    /// A stored number of revisions that differs from the actual number. `status()` reports the stored numbers.
    case count
    /// A single revision.
    case revision
    /// Content that is stored separately from its revisions, so that several revisions can share it.
    case content
    /// A definition, which describes the type and the record shapes of all revisions that refer to it.
    case definition
    /// A label of a revision.
    case label
  }

  /// The part of the store in which the problem was found.
  public let kind: Kind
  /// The affected key, or `nil` if it is unknown.
  public let key: String?
  /// The number of the revision within the history of its key, or `nil` if it is unknown.
  public let revision: Int?
  /// The ``StoreRevision/sequence`` of the revision, or `nil` if it is unknown.
  public let sequence: Int64?
  /// A description of the problem. It may contain keys and type names, but no values.
  public let problem: String
  /// The recommended action, such as a salvage.
  public let advice: String

  init(
    _ kind: Kind, key: String? = nil, revision: Int? = nil, sequence: Int64? = nil, _ problem: String,
    advice: String = StoreFinding.salvage
  ) {
    (self.kind, self.key, self.revision, self.sequence) = (kind, key, revision, sequence)
    (self.problem, self.advice) = (problem, advice)
  }
}

extension StoreFinding: CustomStringConvertible {
  /// One line with the location of the problem, the problem itself, and what to do next. The wording may change between releases.
  public var description: String {
    var parts: [String] = []
    if let key { parts.append("key \(key)") }
    if let revision { parts.append("revision \(revision)") }
    if revision == nil, let sequence { parts.append("sequence \(sequence)") }
    let start = parts.isEmpty ? kind.rawValue : parts.joined(separator: ", ")
    return "\(start): \(problem); \(advice)"
  }
}

/// A list of findings. Its length is limited, because a badly damaged store can have any number of problems.
struct StoreFindings {
  /// The maximum number of findings in the list. Findings beyond this maximum are only counted.
  static let most = 10_000

  private(set) var all: [StoreFinding] = []
  private(set) var omitted = 0

  mutating func add(_ finding: StoreFinding) {
    if all.count < Self.most { all.append(finding) } else { omitted += 1 }
  }
}

extension StoreFinding {
  static let salvage = "salvage the store to recover the intact content, or restore a backup"

  /// Returns a finding for a revision that cannot be read.
  ///
  /// - Parameter advice: what to do next. By default, ``advice(_:)`` chooses the advice for the error.
  static func ofRevision(
    _ row: StoredRow, key: String?, _ error: any Error, advice: String? = nil
  ) -> StoreFinding {
    StoreFinding(
      .revision, key: key, revision: Int(row.seq), sequence: row.id, problem(error),
      advice: advice ?? Self.advice(error))
  }

  /// Returns the description of an error without its key and revision, because a finding has separate properties for them.
  static func problem(_ error: any Error) -> String {
    guard let error = StoreError.ofDatabase(error) as? StoreError else { return StoreError.wording(of: error) }
    // In an error with the code `damaged`, `reason` ends with advice after a semicolon. The advice is removed, because a finding has a
    // separate property for it.
    let reason = error.code == .damaged ? String(error.reason.prefix { $0 != ";" }) : error.reason
    return StoreError(
      error.code, reason, typeName: error.typeName, underlying: error.underlyingError
    ).description
  }

  /// Returns advice for the user on what to do about a revision that cannot be read because of the given error.
  static func advice(_ error: any Error) -> String {
    switch (StoreError.ofDatabase(error) as? StoreError)?.code {
    case .notDecodable?:
      "the saved bytes are intact, so read the value with higher limits, or restore an earlier revision of the key"
    default:
      "restore an earlier revision of the key, salvage the store to recover the intact content, or restore a backup"
    }
  }
}
