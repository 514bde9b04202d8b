import Foundation
import Strata
import StrataTestSupport
import Testing

/// The encoder rejects subclasses that no decoder could read.
@Suite("Unregistered subclasses")
struct UnnamedSubclassTests {
  @Model(version: 1, name: "UnnamedHull")
  class Hull {
    var name: String
    init(name: String) { self.name = name }
  }

  @Model(version: 1, name: "UnnamedRaft", superclass: Hull.self)
  final class Raft: Hull {
    var logs = 0
    override init(name: String) { super.init(name: name) }
  }

  @Model(version: 1, name: "UnnamedPort")
  struct Port {
    var hulls: [Hull] = []
  }

  private func check(_ error: ArchiveError?, _ path: String) {
    #expect(error?.code == .notEncodable && error?.typeName == "UnnamedRaft")
    #expect(error?.description.contains(path) == true, "\(String(describing: error))")
  }

  @Test("Encoding an object of an unregistered subclass throws with its path or class name")
  func refused() throws {
    let port = Port(hulls: [Hull(name: "a"), Raft(name: "b")])
    let encoder = ArchiveEncoder()
    check(archiveError { try encoder.encode(port) }, "hulls[1]")
    check(archiveError { try encoder.encodeBody(port) }, "hulls[1]")
    check(archiveError { try encoder.encode(port.hulls) }, "[1]")
    check(archiveError { try encoder.encode(port.hulls[1]) }, "UnnamedRaft")
    let url = FileManager.default.temporaryDirectory.appending(path: "unnamed-\(UUID()).strata")
    var writer = try ArchiveStreamWriter<Port>(creating: url)
    check(archiveError { try writer.append(port) }, "hulls[1]")
    try writer.append(Port(hulls: [Hull(name: "c")]))
  }

  @Test("A subclass registered with the encoder and the decoder round-trips")
  func named() throws {
    let data = try ArchiveEncoder(subclasses: [Raft.self]).encode(Port(hulls: [Raft(name: "b")]))
    let copy = try ArchiveDecoder(subclasses: [Raft.self]).decode(Port.self, from: data)
    #expect(copy.hulls.first is Raft && copy.hulls.first?.name == "b")
    // The root is a `Raft`, so the decoder knows the class without registration.
    let alone = try ArchiveEncoder().encode(Raft(name: "d"))
    #expect(try ArchiveDecoder().decode(Raft.self, from: alone).name == "d")
  }
}
