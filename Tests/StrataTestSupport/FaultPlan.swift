package import StrataCore

/// Makes system calls of one kind fail, and counts all calls.
package final class FaultPlan: Sendable {
  private let call: SystemCall
  private let place: Int
  private let outcomes: [SystemCall.Outcome]
  private let isLasting: Bool
  private let counts = Mutex<[SystemCall: Int]>([:])

  /// - Parameters:
  ///   - place: the index of the first failing call among those of its kind.
  ///   - outcomes: the outcomes of that call and the following ones.
  ///   - isLasting: whether all later calls of the kind have the last outcome as well.
  package init(_ call: SystemCall, _ place: Int, _ outcomes: [SystemCall.Outcome], isLasting: Bool = false) {
    (self.call, self.place, self.outcomes, self.isLasting) = (call, place, outcomes, isLasting)
  }

  package convenience init(_ call: SystemCall, _ place: Int, _ outcome: SystemCall.Outcome) {
    self.init(call, place, [outcome])
  }

  /// Whether the first failing call was made.
  package var wasReached: Bool { counts.withLock { $0[call, default: 0] > place } }

  package func run<R>(_ body: () throws -> R) rethrows -> R {
    try SystemCall.$interceptor.withValue({ call in
      let number = self.counts.withLock { counts in
        defer { counts[call, default: 0] += 1 }
        return counts[call, default: 0]
      }
      guard call == self.call, number >= self.place else { return .proceeds }
      if number - self.place < self.outcomes.count { return self.outcomes[number - self.place] }
      return self.isLasting ? self.outcomes.last ?? .proceeds : .proceeds
    }) { try body() }
  }
}
