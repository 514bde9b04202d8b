import Foundation

/// How much work the tests do.
package enum Effort {
  /// Whether tests use their full number of rounds: `STRATA_LONG` is 1.
  package static let isLong = ProcessInfo.processInfo.environment["STRATA_LONG"] == "1"

  /// Returns the number of rounds of a test.
  package static func rounds(_ few: Int, long: Int) -> Int { isLong ? long : few }
}
