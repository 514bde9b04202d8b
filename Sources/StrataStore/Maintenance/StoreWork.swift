internal import Dispatch
internal import StrataCore

/// A long operation on a whole store, such as a check or a backup. It can be cancelled and does not block the threads of Swift
/// tasks.
final class StoreWork: Sendable {
  private let isCancelled = Mutex(false)

  /// Throws if the operation was cancelled.
  ///
  /// - Throws: `CancellationError` if the task that waits for the operation was cancelled.
  func check() throws { if isCancelled.withLock({ $0 }) { throw CancellationError() } }

  /// Runs `body` on a dispatch queue, because Swift tasks must not block their threads by waiting for disks and locks.
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

  /// Runs `body` synchronously. The operation cannot be cancelled.
  static func runNow<R>(_ body: (StoreWork) throws -> R) throws -> R {
    do { return try body(StoreWork()) } catch { throw StoreError.ofFile(error) }
  }
}
