package import StrataCore
import Synchronization

/// Makes one of the calls to the system fail, and counts all of them.
package final class FaultPlan: Sendable {
  private let call: SystemCall
  private let place: Int
  private let outcome: SystemCall.Outcome
  private let counts = Mutex<[SystemCall: Int]>([:])

  /// - Parameter place: which of the calls of its kind fails, from 0.
  package init(_ call: SystemCall, _ place: Int, _ outcome: SystemCall.Outcome) {
    (self.call, self.place, self.outcome) = (call, place, outcome)
  }

  /// Whether there was such a call.
  package var wasReached: Bool { counts.withLock { $0[call, default: 0] > place } }

  package func run<R>(_ body: () throws -> R) rethrows -> R {
    try SystemCall.$interceptor.withValue({ call in
      self.counts.withLock { counts in
        let number = counts[call, default: 0]
        counts[call] = number + 1
        return call == self.call && number == self.place ? self.outcome : .proceeds
      }
    }) { try body() }
  }
}
