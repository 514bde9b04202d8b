internal import StrataCore

/// The outcomes for the files of a folder.
struct StoreImportReport {
  enum Outcome: String, CaseIterable {
    case saved
    /// The last revision of the key already has the same value.
    case same
    /// The file has an unsupported format.
    case other
    case failed
  }

  struct Result {
    let file: String
    let outcome: Outcome
    var key: String?
    var revision: Int?
    var message: String?

    var line: String {
      let end = [revision.map { "revision \($0)" }, message].compactMap(\.self)
      return ([outcome.rawValue, (key ?? file).onOneLine] + end).joined(separator: "  ")
    }

    /// The result as JSON, in which every key is always present.
    fileprivate var json: ArchiveValue {
      [
        "file": .string(file), "outcome": .string(outcome.rawValue), "key": .orNull(key),
        "revision": .orNull(revision), "message": .orNull(message),
      ]
    }
  }

  let store: String
  var results: [Result] = []

  func count(_ outcome: Outcome) -> Int { results.count { $0.outcome == outcome } }

  var line: String {
    "\(count(.saved).grouped) saved, \(count(.same).grouped) unchanged, \(count(.other).grouped) in other formats, "
      + "\(count(.failed).grouped) failed"
  }

  var json: ArchiveValue {
    let counts = Outcome.allCases.map { ArchiveObject.Entry(key: $0.rawValue, value: .integer(count($0))) }
    return [
      "store": .string(store), "counts": .object(ArchiveObject(counts)), "files": .array(results.map(\.json)),
    ]
  }
}
