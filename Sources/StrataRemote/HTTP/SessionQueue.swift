internal import Foundation

/// The serial queue on which a session calls its delegate.
///
/// On Linux, a session continues to read data while the calls to its delegate wait in a queue. As long as data arrives
/// faster than the delegate handles it, the session does not stop reading and cannot be cancelled. This queue therefore
/// runs each call at once, on the thread that reads. As a result, no data accumulates in memory, and the delegate
/// always knows how many bytes have been read. Unwanted data is read at full speed until the cancellation takes effect.
final class SessionQueue: OperationQueue, @unchecked Sendable {
  #if canImport(FoundationNetworking)
    private let lock = NSRecursiveLock()
  #endif

  override init() {
    super.init()
    name = "StrataRemote.SessionQueue"
    maxConcurrentOperationCount = 1
  }

  #if canImport(FoundationNetworking)
    override func addOperation(_ block: @escaping @Sendable () -> Void) { lock.withLock(block) }
  #endif
}
