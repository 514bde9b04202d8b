import Foundation
package import Testing

/// How much work the random, simulated and corpus tests do.
package enum Effort {
  private static let value = ProcessInfo.processInfo.environment["STRATA_LONG"]

  /// Whether this is a long run: `STRATA_LONG` is 1, or `part`, as in `.ci/run`.
  package static let isLong = value == "1" || value == "part"

  /// Returns the number of rounds: `few` by default, so that all tests finish in two minutes, and `long` in a long run. If `STRATA_LONG` is
  /// `part`, it is a third of `long`, but at least `few`.
  package static func rounds(_ few: Int, long: Int) -> Int {
    value == "part" ? max(few, long / 3) : isLong ? long : few
  }

  /// Returns the distance between the system calls that fail: `STRATA_FAULT_STEP` if it is set, otherwise `few`, or `long` in a long run.
  /// The shorter the distance, the more calls fail.
  package static func faultStep(_ few: Int, long: Int) -> Int {
    ProcessInfo.processInfo.environment["STRATA_FAULT_STEP"].flatMap { Int($0) } ?? (isLong ? long : few)
  }

  /// Returns `few` evenly spaced elements, including the first and the last, or all elements in a long run.
  package static func sample<Elements: Collection>(_ few: Int, of elements: Elements) -> [Elements.Element] {
    let all = Array(elements)
    guard !isLong, all.count > few else { return all }
    return (0..<few).map { all[$0 * (all.count - 1) / max(few - 1, 1)] }
  }
}

extension Tag {
  /// A test that runs few rounds by default and many in a long run. `Tests/Scripts/long-tests` finds it by this tag.
  @Tag package static var long: Tag
}

extension Trait where Self == ConditionTrait {
  /// Runs a test only in a long run, because the test needs an input so large that it takes seconds.
  package static var longRunsOnly: Self { .enabled(if: Effort.isLong, "STRATA_LONG is not set") }
}
