internal import Foundation

/// The serial queue on which a session calls its delegate.
///
/// On Linux, a session reads on while its delegate calls wait in a queue. If data arrives faster than the delegate
/// handles it, the session reads forever and cannot be cancelled. This queue therefore runs the calls at once, on the
/// reading thread. So the byte count matches the bytes read, no data accumulates in memory, and unwanted data is read
/// at full speed, so that the cancellation gets its turn.
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
