/// A problem that a check or a salvage has found in a store.
public struct StoreFinding: Sendable, Hashable {
  /// The part of the store that is affected.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The pages of the file, as SQLite reports them.
    case file
    /// A reference to a row that does not exist.
    case reference
    /// The stored counts of revisions, which the status reports.
    case count
    /// A single revision.
    case revision
    /// Content that several revisions may share.
    case content
    /// A definition, which is shared by all revisions with the same type and shape.
    case definition
    /// A label of a revision.
    case label
  }

  /// The part of the store that is affected.
  public let kind: Kind
  /// The key, if known.
  public let key: String?
  /// The number of the revision within the history of its key, if known.
  public let revision: Int?
  /// The ``StoreRevision/sequence`` of the revision, if known.
  public let sequence: Int64?
  /// A description of the problem. It contains keys and types, but no values.
  public let problem: String
  /// The recommended next step.
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
  /// One line: the location, the problem and the next step. The wording may change between releases.
  public var description: String {
    var parts: [String] = []
    if let key { parts.append("key \(key)") }
    if let revision { parts.append("revision \(revision)") }
    if revision == nil, let sequence { parts.append("sequence \(sequence)") }
    let start = parts.isEmpty ? kind.rawValue : parts.joined(separator: ", ")
    return "\(start): \(problem); \(advice)"
  }
}

/// A bounded list of findings, because a badly damaged store may have an unlimited number of them.
struct StoreFindings {
  /// The maximum number of findings in the list. Further findings are only counted.
  static let most = 10_000

  private(set) var all: [StoreFinding] = []
  private(set) var omitted = 0

  mutating func add(_ finding: StoreFinding) {
    if all.count < Self.most { all.append(finding) } else { omitted += 1 }
  }
}

extension StoreFinding {
  static let salvage = "salvage the store to recover the intact content, or restore a backup"

  /// Returns the finding for a revision that cannot be read.
  ///
  /// - Parameter advice: the next step; by default the one that ``advice(_:)`` returns for the error.
  static func ofRevision(
    _ row: StoredRow, key: String?, _ error: any Error, advice: String? = nil
  ) -> StoreFinding {
    StoreFinding(
      .revision, key: key, revision: Int(row.seq), sequence: row.id, problem(error),
      advice: advice ?? Self.advice(error))
  }

  /// Returns the description of an error without the key and the revision, which the finding contains separately.
  static func problem(_ error: any Error) -> String {
    guard let error = StoreError.ofDatabase(error) as? StoreError else { return StoreError.wording(of: error) }
    // The reason of a `damaged` error ends with advice, which the finding contains separately.
    let reason = error.code == .damaged ? String(error.reason.prefix { $0 != ";" }) : error.reason
    return StoreError(
      error.code, reason, typeName: error.typeName, underlying: error.underlyingError
    ).description
  }

  /// Returns the recommended next step after an error of reading a revision.
  static func advice(_ error: any Error) -> String {
    switch (StoreError.ofDatabase(error) as? StoreError)?.code {
    case .notDecodable?:
      "the saved bytes are unchanged; read the value with higher limits, or restore an earlier revision"
    default:
      "restore an earlier revision of the key, salvage the store to recover the intact content, or restore a backup"
    }
  }
}
