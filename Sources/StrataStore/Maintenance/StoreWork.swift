internal import Dispatch
internal import StrataCore

/// Work on a whole store, which takes long: runs beside the tasks of the program, and ends where its task is cancelled.
final class StoreWork: Sendable {
  private let isCancelled = Mutex(false)

  /// - Throws: `CancellationError` where the task that waits for this was cancelled.
  func check() throws { if isCancelled.withLock({ $0 }) { throw CancellationError() } }

  /// Runs on a thread of its own, since the threads of tasks must not wait for disks and locks.
  static func run<R: Sendable>(_ body: @escaping @Sendable (StoreWork) throws -> R) async throws -> R {
    let work = StoreWork()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async {
          continuation.resume(with: Result { try body(work) }.mapError { StoreError.ofFile($0) })
        }
      }
    } onCancel: {
      work.isCancelled.withLock { $0 = true }
    }
  }

  /// Runs at once, where there is no concurrency.
  static func runNow<R>(_ body: (StoreWork) throws -> R) throws -> R {
    do { return try body(StoreWork()) } catch { throw StoreError.ofFile(error) }
  }
}
