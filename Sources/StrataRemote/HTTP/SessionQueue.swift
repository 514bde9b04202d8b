internal import Foundation

/// Where a session calls its delegate: one call after the other.
///
/// On Linux a session reads on while calls wait in a queue, and reads without an end what comes faster than it reads; nothing can cancel it
/// meanwhile. So the calls are made at once, by who reads: what is counted is what was read, none of it waits in memory, and what is no longer
/// wanted is read at the greatest speed, which gives the cancellation its turn.
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
