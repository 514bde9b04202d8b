package import GRDB
internal import StrataCore

/// The tables that are synchronized with a server. `StrataRemote` registers the tables. A save uses them to detect stale
/// objects.
package final class EntityServers: Sendable {
  /// A closure that updates outdated primary keys of objects before a save looks up the objects' rows. A key becomes outdated
  /// when the server assigns a new key to a record.
  package typealias KeyUpdate = @Sendable (inout EntityNodes, Database) throws -> Void
  private let updates = Mutex<[Set<Int>: KeyUpdate]>([:])

  package init() {}

  /// Registers the tables of a server with the closure that updates their primary keys.
  ///
  /// - Parameter tables: the indices of the synchronized tables in the catalog.
  package func set(_ tables: Set<Int>, _ update: @escaping KeyUpdate) { updates.withLock { $0[tables] = update } }

  /// Returns whether a table is synchronized with a server. If so, its rows may be newer than the objects of the app.
  func has(_ table: Int) -> Bool { updates.withLock { $0.keys.contains { $0.contains(table) } } }

  func updateKeys(_ nodes: inout EntityNodes, _ db: Database) throws {
    for update in updates.withLock({ Array($0.values) }) { try update(&nodes, db) }
  }
}
