package import GRDB
internal import StrataCore

/// The tables that are synchronized with a server. `StrataRemote` registers them, and saves use them to detect stale objects.
package final class EntityServers: Sendable {
  /// A closure that replaces outdated primary keys of objects before a save looks up their rows. Keys become outdated because a
  /// server may assign a new key to a record.
  package typealias KeyUpdate = @Sendable (inout EntityNodes, Database) throws -> Void
  private let updates = Mutex<[Set<Int>: KeyUpdate]>([:])

  package init() {}

  /// - Parameter tables: the indices of the synchronized tables.
  package func set(_ tables: Set<Int>, _ update: @escaping KeyUpdate) { updates.withLock { $0[tables] = update } }

  /// Returns whether a table is synchronized with a server, in which case its rows may be newer than objects.
  func has(_ table: Int) -> Bool { updates.withLock { $0.keys.contains { $0.contains(table) } } }

  func updateKeys(_ nodes: inout EntityNodes, _ db: Database) throws {
    for update in updates.withLock({ Array($0.values) }) { try update(&nodes, db) }
  }
}
