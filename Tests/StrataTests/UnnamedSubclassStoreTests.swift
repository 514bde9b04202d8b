import Foundation
import Strata
import StrataStore
import StrataTestSupport
import Testing

@Suite("Unregistered subclasses in keyed archives and stores")
struct UnnamedSubclassStoreTests {
  @Model(version: 1, name: "StoredHull")
  class Hull {
    var name: String
    init(name: String) { self.name = name }
  }

  @Model(version: 1, name: "StoredRaft", superclass: Hull.self)
  final class Raft: Hull {
    override init(name: String) { super.init(name: name) }
  }

  @Model(version: 1, name: "StoredPort")
  struct Port { var hulls: [Hull] = [] }

  @Test("Keyed archives and stores reject an unregistered subclass, and a store accepts a registered one")
  func refused() throws {
    let port = Port(hulls: [Hull(name: "a"), Raft(name: "b")])
    let keyed = archiveError { try ArchiveEncoder().encodeKeyed(port) }
    #expect(keyed?.code == .notEncodable && keyed?.typeName == "StoredRaft", "\(String(describing: keyed))")
    let store = try SnapshotStore(inMemory: StoreOptions())
    #expect(throws: StoreError.self) { try store.write { _ = try $0.save(port, as: "port") } }
    #expect(try store.write { try $0.history(of: "port") }.isEmpty)
    var options = StoreOptions()
    options.subclasses = [Raft.self]
    let naming = try SnapshotStore(inMemory: options)
    let saved = try naming.write { transaction in
      try transaction.save(port, as: "port")
      return try transaction.value(Port.self, for: "port")
    }
    #expect(saved?.hulls[1] is Raft)
  }
}
