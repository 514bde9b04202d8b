import Foundation
import Strata

/// A law. Docs/Reliability.md refers to laws by these names.
enum Law: String, CaseIterable, Hashable {
  case archive, keyed, dictionary, json, jsonForm, jsonReading, recordReading, copy, upgrading, upgradedBytes, snapshot,
    row
  case absentText, absentValue, absentPatch, absentRecord, absentArchive, absentOld, absentRow, sourcesAgree,
    completeModel
  case withBase, unlistedKept, unlistedGone, positions, subclass, reported, forwardText, forwardModel, ownDocument,
    ownModel, untouched, idempotent, previewed, atomic
  case stream, salvage, revisions, equality, mapped, lenient, patches, patched, modelPatch, takesServer,
    failsOnConflict, remembered,
    resolved
  case policy, shaped, steps, rules, relations, damaged, limits, graph
  case listMerge, untyped, absentMerger, described, codable, cluster, mapping, hooks, folders, cut, remote, remoteEdited
  case rule6, rule7, rule8, rule9, rule10
}

/// For each law and type, the numbers of checks and failures.
struct Results {
  struct Key: Hashable { let law: Law, type: String }

  struct Outcome {
    var checks = 0
    var failures = 0
    /// The first failure, with its round.
    var first = ""
  }

  private(set) var outcomes: [Key: Outcome] = [:]

  mutating func add(_ law: Law, _ type: String, _ round: String, failure: String?) {
    var outcome = outcomes[Key(law: law, type: type), default: Outcome()]
    outcome.checks += 1
    if let failure {
      outcome.failures += 1
      if outcome.first.isEmpty { outcome.first = "\(round): \(failure)" }
    }
    outcomes[Key(law: law, type: type)] = outcome
  }

  mutating func add(_ other: Results) {
    for (key, outcome) in other.outcomes {
      var sum = outcomes[key, default: Outcome()]
      sum.checks += outcome.checks
      sum.failures += outcome.failures
      if sum.first.isEmpty { sum.first = outcome.first }
      outcomes[key] = sum
    }
  }
}

/// A type name in which leaf types and key types are replaced with their kinds, such as `scalar`.
struct Pattern: Hashable, Comparable {
  let text: String

  init(of type: String) {
    let replacements = [
      ("\\[(String|Int|UUID|URL|Date|Color): ", "[key: "), ("OrderedDictionary<String, ", "OrderedDictionary<key, "),
      ("\\b(Item|Thing)\\b", "identified"), ("\\bBeing\\b", "class"), ("\\b(Part|Bare)\\b", "anonymous"),
      ("\\bFigure\\b", "enum"), ("\\b(Size|Crate|Mood)\\b", "codable"), ("\\bArchiveValue\\b", "untyped"),
      ("\\b(Bool|U?Int\\d*|Double|Float|String|Data|Date|URL|UUID|Decimal|Color|Level)\\b", "scalar"),
    ]
    text = replacements.reduce(type) { $0.replacingOccurrences(of: $1.0, with: $1.1, options: .regularExpression) }
  }

  static func < (left: Pattern, right: Pattern) -> Bool { left.text < right.text }
}

/// The known failures: for each law and pattern, the number of types that fail.
struct KnownFailures {
  struct Key: Hashable, Comparable {
    let law: String, pattern: String
    static func < (left: Key, right: Key) -> Bool { (left.law, left.pattern) < (right.law, right.pattern) }
  }

  var counts: [Key: Int] = [:]

  init(of results: Results) {
    for (key, outcome) in results.outcomes where outcome.failures > 0 {
      counts[Key(law: key.law.rawValue, pattern: Pattern(of: key.type).text), default: 0] += 1
    }
  }

  /// Reads a table with the columns law, pattern and count.
  init(table: String) {
    for line in table.split(separator: "\n") where !line.hasPrefix("#") {
      let columns = line.split(separator: "\t")
      if columns.count == 3 { counts[Key(law: String(columns[0]), pattern: String(columns[1]))] = Int(columns[2]) }
    }
  }

  var table: String {
    "# law, pattern of types, how many types of the pattern fail; written by Tests/Scripts/laws --record\n"
      + counts.sorted { $0.key < $1.key }.map { "\($0.key.law)\t\($0.key.pattern)\t\($0.value)\n" }.joined()
  }

  var sum: Int { counts.values.reduce(0, +) }
}
