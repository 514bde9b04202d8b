internal import Foundation

/// The serial queue on which a session calls its delegate.
///
/// On Linux, a session continues to read data while its delegate calls wait in a queue. If data arrives faster than the
/// delegate handles it, the session never stops reading and cannot be cancelled. This queue therefore runs each call at
/// once, on the thread that reads. As a result, the byte count always matches the data that was read, no data
/// accumulates in memory, and unwanted data is read at full speed until the cancellation takes effect.
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
