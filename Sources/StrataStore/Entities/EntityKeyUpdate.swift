package import GRDB
internal import Synchronization

/// Replaces outdated keys of objects before a save looks for their rows. `StrataRemote` sets it, since a server gives records new keys.
package final class EntityKeyUpdate: Sendable {
  package typealias Update = @Sendable (inout EntityNodes, Database) throws -> Void
  private let update = Mutex<Update?>(nil)

  package init() {}

  package func set(_ update: @escaping Update) { self.update.withLock { $0 = update } }

  func run(_ nodes: inout EntityNodes, _ db: Database) throws { try update.withLock { $0 }?(&nodes, db) }
}
