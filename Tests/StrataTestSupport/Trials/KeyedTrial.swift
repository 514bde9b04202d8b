package import Foundation
package import StrataCore
import StrataLegacy

/// Checks any keyed archive: its graph must survive a round trip through an archive, and decoding it into models must terminate.
package enum KeyedTrial {
  package static func run(_ data: Data) throws {
    let isList = data.starts(with: Data("bplist".utf8)) || data.contains(UInt8(ascii: "<"))
    let list = try isList ? Trial.attempt { try PropertyListReader().read(data) } : TableForm.keyedArchive(of: data)
    guard let list, let archive = try Trial.attempt({ try KeyedArchive(list) }) else { return }
    try archiveGraph(archive.graph)
    if let bytes = isList ? data : try Trial.attempt({ try PropertyListWriter().write(list) }) {
      try compareTable(Form.self, bytes)
      try compareTable([Form].self, bytes)
      try compareTable([String: Form].self, bytes)
      try compareTable(ArchiveValue.self, bytes)
    }
    let decoder = ArchiveDecoder(subclasses: [Knot.self])
    _ = try Trial.attempt { try decoder.decode(Leaf.self, fromKeyed: archive) }
    _ = try Trial.attempt { try decoder.decode([Form].self, fromKeyed: archive) }
    _ = try Trial.attempt { try decoder.decode(ArchiveValue.self, fromKeyed: archive) }
    if let knot = try Trial.attempt({ try decoder.decode(Knot.self, fromKeyed: archive) }) {
      try KnotTrial.run(knot)
    }
    if let knots = try Trial.attempt({ try decoder.decode([String: Knot].self, fromKeyed: archive) }) {
      for knot in knots.values { try KnotTrial.run(knot) }
    }
  }

  /// Checks that decoding the bytes directly gives the same result as decoding the property list read from them, regardless of
  /// how the bytes encode integers, text and references.
  package static func compareTable<T: Archivable>(_ type: T.Type, _ data: Data) throws {
    let decoder = ArchiveDecoder()
    func outcome(_ decode: (inout DecodingReport) throws -> T) throws -> String {
      var report = DecodingReport()
      do {
        let value = try decode(&report)
        return try "\(Array(ArchiveEncoder().encodeBody(value))) \(report)"
      } catch let error as ArchiveError { return "\(error)" }
    }
    let table = try outcome {
      try decoder.decode(type, fromKeyed: KeyedArchive(PropertyListReader().read(data)), report: &$0)
    }
    let bytes = try outcome { try decoder.decode(type, fromKeyed: data, report: &$0) }
    try require(bytes == table, "bytes and table become the same \(T._archiveTypeName)")
  }

  /// Archives the graph, and checks that the archive contains the same objects.
  private static func archiveGraph(_ graph: ObjectGraph) throws {
    guard let bytes = try Trial.attempt({ try ArchiveEncoder().encode(graph, typeName: "T", modelVersion: nil) })
    else { return }
    let value = try succeed("a graph is read again") { try ArchiveDecoder().decodeValue(from: bytes) }
    guard case .graph(let again) = value else { throw TrialFailure("does not hold: a graph comes back as one") }
    try require(
      try ArchiveEncoder().encode(again, typeName: "T", modelVersion: nil) == bytes, "a graph comes back")
  }
}

/// Checks any object of the `Knot` model: if it can be archived, its archive must contain the same object.
package enum KnotTrial {
  package static func run(_ knot: Knot) throws {
    guard let body = try Trial.attempt({ try ArchiveEncoder().encodeBody(knot) }) else { return }
    let copy = try succeed("an object is read again") { try ArchiveDecoder().decodeBody(Knot.self, from: body) }
    try require(try ArchiveEncoder().encodeBody(copy) == body, "an object comes back")
  }
}
