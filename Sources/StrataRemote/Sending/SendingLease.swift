internal import Foundation
internal import GRDB
internal import StrataCore

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Ensures that only one store sends a given change at a time if several stores, in one or more processes, use the same database.
///
/// A store holds the lease of a change until the request has ended. The lease becomes invalid if the store is released
/// or its process ends. The outcome of a request is unknown if its lease became invalid before the request ended.
final class SendingLease: Sendable {
  /// The maximum lifetime of a lease in seconds. The lifetime is limited because another process can reuse the identifier of an ended
  /// process, and would then seem to hold its lease.
  private static let longest: TimeInterval = 600
  private static let live = Mutex<Set<String>>([])

  /// The owner that is stored in a lease: the process identifier, and a unique identifier of the store.
  private let owner: String

  init() {
    owner = "\(getpid()) \(UUID().uuidString)"
    Self.live.withLock { _ = $0.insert(owner) }
  }

  deinit { Self.live.withLock { _ = $0.remove(owner) } }

  /// Acquires the lease of a change, unless another owner holds a valid lease. Returns whether the lease was acquired.
  func acquire(_ number: Int64, at now: Date, _ db: Database) throws -> Bool {
    let row = try Row.fetchOne(
      db.cachedStatement(sql: "SELECT owner, until FROM strata_remote_changes WHERE number = ?"), arguments: [number])
    if let other = row?["owner"] as String?, other != owner, Self.isLive(other),
      let until = row?["until"] as Double?, until > now.timeIntervalSince1970
    {
      return false
    }
    try db.execute(
      cached: "UPDATE strata_remote_changes SET owner = ?, until = ? WHERE number = ?",
      [owner, now.timeIntervalSince1970 + Self.longest, number])
    return true
  }

  /// Ends this owner's lease of a change. Does nothing if the change is no longer in the queue.
  func end(_ number: Int64, _ db: Database) throws {
    try db.execute(
      cached: "UPDATE strata_remote_changes SET owner = NULL, until = NULL WHERE number = ? AND owner = ?",
      [number, owner])
  }

  private static func isLive(_ owner: String) -> Bool {
    guard let process = owner.split(separator: " ").first.flatMap({ pid_t($0) }) else { return false }
    if process == getpid() { return live.withLock { $0.contains(owner) } }
    // The error `EPERM` means that the process exists, although this process is not allowed to send it a signal.
    return kill(process, 0) == 0 || errno == EPERM
  }
}
