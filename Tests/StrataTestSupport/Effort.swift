import Foundation
package import Testing

/// The amount of work that the random, simulated and corpus tests do.
package enum Effort {
  private static let value = ProcessInfo.processInfo.environment["STRATA_LONG"]

  /// Whether this is a long run: `STRATA_LONG` is 1, or `part`, as in `.ci/run`.
  package static let isLong = value == "1" || value == "part"

  /// The number of rounds: few by default, so that all tests finish in two minutes, many in a long run, and a third of them in a part of one.
  package static func rounds(_ few: Int, long: Int) -> Int {
    value == "part" ? max(few, long / 3) : isLong ? long : few
  }

  /// The distance between failing system calls: `STRATA_FAULT_STEP`, which a long run sets, or else few of them by default and many in a
  /// long run.
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
  /// Skips a test whose purpose is a size that takes seconds, except in a long run.
  package static var longRunsOnly: Self { .enabled(if: Effort.isLong, "STRATA_LONG is not set") }
}
