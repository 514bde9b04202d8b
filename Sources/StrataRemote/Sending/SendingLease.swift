internal import Foundation
internal import GRDB
internal import StrataCore

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Ensures that only one of several stores on a database sends a change, in one process or in several.
///
/// A lease ends with its request. A lease of a process that died, or of a store that was released, is invalid. The
/// outcome of a request that it covered is unknown.
final class SendingLease: Sendable {
  /// The maximum lifetime of a lease. It is limited because process identifiers are reused.
  private static let longest: TimeInterval = 600
  private static let live = Mutex<Set<String>>([])

  /// The process identifier and a unique identifier of the store.
  private let owner: String

  init() {
    owner = "\(getpid()) \(UUID().uuidString)"
    Self.live.withLock { _ = $0.insert(owner) }
  }

  deinit { Self.live.withLock { _ = $0.remove(owner) } }

  /// Takes the lease of a change, unless another owner holds it. Returns whether it was taken.
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

  /// Ends the lease of a change, if the change is still in the queue.
  func end(_ number: Int64, _ db: Database) throws {
    try db.execute(
      cached: "UPDATE strata_remote_changes SET owner = NULL, until = NULL WHERE number = ? AND owner = ?",
      [number, owner])
  }

  private static func isLive(_ owner: String) -> Bool {
    guard let process = owner.split(separator: " ").first.flatMap({ pid_t($0) }) else { return false }
    if process == getpid() { return live.withLock { $0.contains(owner) } }
    // A process exists even if it must not be signalled.
    return kill(process, 0) == 0 || errno == EPERM
  }
}
