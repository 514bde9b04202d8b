internal import Dispatch
internal import StrataCore

/// A long operation on a whole store. It does not block the tasks of the program, and ends if its task is cancelled.
final class StoreWork: Sendable {
  private let isCancelled = Mutex(false)

  /// - Throws: `CancellationError` if the task that waits for this was cancelled.
  func check() throws { if isCancelled.withLock({ $0 }) { throw CancellationError() } }

  /// Runs `body` on a dispatch queue, because the threads of tasks must not wait for disks and locks.
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

  /// Runs `body` synchronously.
  static func runNow<R>(_ body: (StoreWork) throws -> R) throws -> R {
    do { return try body(StoreWork()) } catch { throw StoreError.ofFile(error) }
  }
}
