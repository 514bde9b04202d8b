package import GRDB
internal import StrataCore

/// The tables whose records a server has as well. `StrataRemote` registers them, and saves check them.
package final class EntityServers: Sendable {
  /// Replaces outdated keys of objects before a save looks for their rows, because a server may give a record a new
  /// key.
  package typealias KeyUpdate = @Sendable (inout EntityNodes, Database) throws -> Void
  private let updates = Mutex<[Set<Int>: KeyUpdate]>([:])

  package init() {}

  /// - Parameter tables: the tables whose records the server has.
  package func set(_ tables: Set<Int>, _ update: @escaping KeyUpdate) { updates.withLock { $0[tables] = update } }

  /// Whether a server has the records of a table, so that a row may be newer than an object.
  func has(_ table: Int) -> Bool { updates.withLock { $0.keys.contains { $0.contains(table) } } }

  func updateKeys(_ nodes: inout EntityNodes, _ db: Database) throws {
    for update in updates.withLock({ Array($0.values) }) { try update(&nodes, db) }
  }
}
