internal import Foundation
internal import StrataCore

/// Wakes tasks that wait for a save. Tasks are woken immediately after a save by this store object. They are also woken after a
/// timeout, because another process may have saved.
final class StoreSignal: Sendable {
  private struct Waiter {
    let continuation: CheckedContinuation<Void, Never>
    let timer: Task<Void, Never>
  }

  private struct State {
    var saves: UInt64 = 0
    var nextWaiter: UInt64 = 0
    var waiting: [UInt64: Waiter] = [:]
  }

  private let state = Mutex(State())

  /// The number of saves that were signalled. Read this number before reading the store, and pass it to
  /// ``wait(after:atMost:)``.
  var saves: UInt64 { state.withLock { $0.saves } }

  func notify() {
    let waiting = state.withLock { state in
      state.saves &+= 1
      defer { state.waiting = [:] }
      return state.waiting.values
    }
    for waiter in waiting { end(waiter) }
  }

  /// Waits until the number of saves differs from `seen`, `time` seconds have elapsed, or the task is cancelled.
  func wait(after seen: UInt64, atMost time: TimeInterval) async {
    let number = state.withLock { state in
      state.nextWaiter &+= 1
      return state.nextWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          guard state.saves == seen, !Task.isCancelled else { return true }
          let timer = Task {
            // If a save wakes the task first, the sleep is cancelled, and the call of `wake` has no effect.
            try? await Task.sleep(for: .seconds(time))
            self.wake(number)
          }
          state.waiting[number] = Waiter(continuation: continuation, timer: timer)
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      wake(number)
    }
  }

  private func wake(_ number: UInt64) {
    if let waiter = state.withLock({ $0.waiting.removeValue(forKey: number) }) { end(waiter) }
  }

  private func end(_ waiter: Waiter) {
    waiter.timer.cancel()
    waiter.continuation.resume()
  }
}
