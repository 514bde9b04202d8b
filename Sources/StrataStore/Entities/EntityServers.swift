package import GRDB
internal import Synchronization

/// What saves of entities that a server has as well have to observe. `StrataRemote` sets it.
package final class EntityServers: Sendable {
  /// Replaces outdated keys of objects before a save looks for their rows, since a server gives records new keys.
  package typealias KeyUpdate = @Sendable (inout EntityNodes, Database) throws -> Void
  private let updates = Mutex<[Set<Int>: KeyUpdate]>([:])

  package init() {}

  /// - Parameter types: the entities that the server has.
  package func set(_ types: Set<Int>, _ update: @escaping KeyUpdate) { updates.withLock { $0[types] = update } }

  /// Whether a server has records of an entity, so that a row may be newer than an object.
  func has(_ type: Int) -> Bool { updates.withLock { $0.keys.contains { $0.contains(type) } } }

  func updateKeys(_ nodes: inout EntityNodes, _ db: Database) throws {
    for update in updates.withLock({ Array($0.values) }) { try update(&nodes, db) }
  }
}
