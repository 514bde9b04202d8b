import Foundation
package import Testing

/// How much the random, simulated and corpus tests do.
package enum Effort {
  /// Whether `STRATA_LONG` is set to 1, as in the long runs of `.ci/run`.
  package static let isLong = ProcessInfo.processInfo.environment["STRATA_LONG"] == "1"

  /// The number of rounds: few by default, so that all tests answer in two minutes, and many in a long run.
  package static func rounds(_ few: Int, long: Int) -> Int { isLong ? long : few }

  /// The distance between the calls to the system that fail: `STRATA_FAULT_STEP`, which counts in a long run of its own, or as
  /// ``rounds(_:long:)``.
  package static func faultStep(_ few: Int, long: Int) -> Int {
    ProcessInfo.processInfo.environment["STRATA_FAULT_STEP"].flatMap { Int($0) } ?? rounds(few, long: long)
  }

  /// `few` of the elements by default, evenly spaced from the first to the last, and all of them in a long run.
  package static func sample<Elements: Collection>(_ few: Int, of elements: Elements) -> [Elements.Element] {
    let all = Array(elements)
    guard !isLong, all.count > few else { return all }
    return (0..<few).map { all[$0 * (all.count - 1) / max(few - 1, 1)] }
  }
}

extension Tag {
  /// A test that does few rounds by default and many in a long run. `Tests/Scripts/long-tests` finds it by this tag.
  @Tag package static var long: Tag
}

extension Trait where Self == ConditionTrait {
  /// Skips a test whose point is a size that takes seconds, except in a long run.
  package static var longRunsOnly: Self { .enabled(if: Effort.isLong, "STRATA_LONG is not 1") }
}
