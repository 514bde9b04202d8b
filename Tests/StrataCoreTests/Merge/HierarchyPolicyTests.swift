import Foundation
import Strata
import StrataTestSupport
import Testing

/// A class that isn't final and has its own code to merge one key.
@Model(version: 1)
private class PolicyCounter: KeyMerging {
  var name = ""
  var count = 0
  @Field(merge: .max) var level = 0

  func mergeValue(forKey key: String, from source: PolicyCounter) throws -> Bool {
    guard key == "count" else { return false }
    count += source.count
    return true
  }
}

/// A subclass with its own code to merge one key. It leaves the other keys to its superclass.
@Model(version: 1, superclass: PolicyCounter.self)
private final class PolicyGauge: PolicyCounter {
  var peak = 0
  @Field(merge: .union) var marks: [Int] = []

  override init() {
    super.init()
  }

  override func mergeValue(forKey key: String, from source: PolicyCounter) throws -> Bool {
    guard key == "peak", let source = source as? PolicyGauge else {
      return try super.mergeValue(forKey: key, from: source)
    }
    peak = max(peak, source.peak) + 100
    return true
  }
}

/// A subclass without any merge declarations.
@Model(version: 1, superclass: PolicyCounter.self)
private final class PolicyPlain: PolicyCounter {
  var unit = ""

  override init() {
    super.init()
  }
}

@Suite("Merge policies in a class hierarchy")
struct HierarchyPolicyTests {
  private func counter<C: PolicyCounter>(_ counter: C, _ change: (C) -> Void) -> C {
    change(counter)
    return counter
  }

  @Test("S-09: field policies apply to the fields of the superclass and of the subclass")
  func policies() throws {
    let local = counter(PolicyGauge()) { ($0.name, $0.level, $0.marks) = ("here", 5, [1, 2]) }
    let server = counter(PolicyGauge()) { ($0.name, $0.level, $0.marks) = ("there", 3, [2, 3]) }
    try local.mergeValues(from: server)
    #expect(local.name == "there" && local.level == 5 && local.marks == [1, 2, 3])
    try local.mergeValues(fromJSON: Data(#"{"level": 9, "marks": [4]}"#.utf8))
    #expect(local.level == 9 && local.marks == [1, 2, 3, 4])
  }

  @Test("S-10: a superclass's merge code also handles its key in subclasses, which can add their own code")
  func code() throws {
    let plain = counter(PolicyPlain()) { ($0.count, $0.unit) = (1, "m") }
    try plain.mergeValues(from: counter(PolicyPlain()) { ($0.count, $0.unit) = (2, "s") })
    #expect(plain.count == 3 && plain.unit == "s")
    let gauge = counter(PolicyGauge()) { ($0.count, $0.peak) = (1, 7) }
    try gauge.mergeValues(from: counter(PolicyGauge()) { ($0.count, $0.peak) = (2, 5) })
    #expect(gauge.count == 3 && gauge.peak == 107)
    try gauge.mergeValues(fromJSON: Data(#"{"count": 10, "peak": 200}"#.utf8))
    #expect(gauge.count == 13 && gauge.peak == 300)
  }

  @Test("S-10: merging through a superclass reference runs the same code and keeps identity and class")
  func superclass() throws {
    let gauge = counter(PolicyGauge()) { ($0.count, $0.peak, $0.marks) = (1, 7, [1]) }
    let known: PolicyCounter = gauge
    try known.mergeValues(from: counter(PolicyGauge()) { ($0.count, $0.peak, $0.marks) = (2, 5, [2]) })
    #expect(known === gauge && gauge.count == 3 && gauge.peak == 107 && gauge.marks == [1, 2])
  }
}
