import Foundation
package import Testing

/// The amount of work that the random, simulated and corpus tests do.
package enum Effort {
  private static let value = ProcessInfo.processInfo.environment["STRATA_LONG"]

  /// Whether this is a long run: `STRATA_LONG` is 1, or `part`, as in `.ci/run`.
  package static let isLong = value == "1" || value == "part"

  /// The number of rounds. It is `few` by default, so that all tests finish in two minutes, and `long` in a long run. A part of a long run
  /// uses a third of `long`, but at least `few`.
  package static func rounds(_ few: Int, long: Int) -> Int {
    value == "part" ? max(few, long / 3) : isLong ? long : few
  }

  /// The distance between system calls that fail. It is the value of `STRATA_FAULT_STEP`, which a long run sets. Without this variable, the
  /// distance is `few`, so that few calls fail, or `long` in a long run, so that many fail.
  package static func faultStep(_ few: Int, long: Int) -> Int {
    ProcessInfo.processInfo.environment["STRATA_FAULT_STEP"].flatMap { Int($0) } ?? (isLong ? long : few)
  }

  /// `few` evenly spaced elements by default, including the first and the last, and all elements in a long run.
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
