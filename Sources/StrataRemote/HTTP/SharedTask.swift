internal import StrataCore

/// A task that several callers await together. Cancelling one caller does not affect the other callers.
final class SharedTask<Value: Sendable>: Sendable {
  private struct State {
    /// The numbers of the callers that have not been cancelled. ``reserve()`` assigns these numbers.
    var places: Set<Int> = []
    var last = 0
    var waiting: [Int: CheckedContinuation<Value, any Error>] = [:]
    var result: Result<Value, any Error>?
    var task: Task<Void, Never>?
    var isAbandoned = false
  }

  private let state = Mutex(State())
  private let isCancelledWithTheLast: Bool

  /// - Parameter isCancelledWithTheLast: whether the task is cancelled when the last of its callers is cancelled. If it
  ///   is `false`, the task continues without callers.
  init(isCancelledWithTheLast: Bool) { self.isCancelledWithTheLast = isCancelledWithTheLast }

  /// Registers a caller and returns the number that the caller must pass to ``value(at:)``. Returns `nil` if the task
  /// was cancelled because all of its callers were cancelled.
  func reserve() -> Int? {
    state.withLock {
      guard !$0.isAbandoned else { return nil }
      $0.last += 1
      $0.places.insert($0.last)
      return $0.last
    }
  }

  /// Starts the task. This method must be called exactly once.
  func start(_ operation: @Sendable @escaping () async throws -> Value) {
    let task = Task {
      let result: Result<Value, any Error>
      do { result = .success(try await operation()) } catch { result = .failure(error) }
      let waiting = self.state.withLock { state in
        state.result = result
        // Breaks the retain cycle between this object and its task.
        state.task = nil
        defer { state.waiting = [:] }
        return state.waiting
      }
      for continuation in waiting.values { continuation.resume(with: result) }
    }
    let isAbandoned = state.withLock {
      if $0.result == nil { $0.task = task }
      return $0.isAbandoned
    }
    if isAbandoned { task.cancel() }
  }

  /// Waits for the value of the task. Throws the error of the task, or `CancellationError` as soon as this caller is
  /// cancelled.
  ///
  /// - Parameter place: the number of the caller, which ``reserve()`` returned.
  func value(at place: Int) async throws -> Value {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<Value, any Error>? = state.withLock {
          if let result = $0.result { return result }
          guard $0.places.contains(place) else { return .failure(CancellationError()) }
          $0.waiting[place] = continuation
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      leave(place)
    }
  }

  private func leave(_ place: Int) {
    let (continuation, task) = state.withLock { state -> (CheckedContinuation<Value, any Error>?, Task<Void, Never>?) in
      state.places.remove(place)
      let continuation = state.waiting.removeValue(forKey: place)
      guard isCancelledWithTheLast, state.places.isEmpty, state.result == nil else { return (continuation, nil) }
      state.isAbandoned = true
      return (continuation, state.task)
    }
    continuation?.resume(throwing: CancellationError())
    task?.cancel()
  }
}
