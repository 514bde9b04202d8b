package import Foundation
import StrataCore

/// Checks any archive or body: if it decodes, its value must survive a round trip.
///
/// Bytes without a gzip header are treated as a body without its leading tag, so that mutated inputs aren't rejected by their
/// checksums.
package enum ArchiveTrial {
  private static let limits = {
    var limits = ArchiveLimits()
    limits.inflatedSize = 1 << 20
    return limits
  }()

  package static func run(_ data: Data) throws {
    let decoder = ArchiveDecoder(limits: limits, subclasses: [Knot.self])
    let archive =
      data.starts(with: [0x1F, 0x8B]) ? data : GzipMember.archive(body: Data([0xD9, 1, 0]) + data.prefix(8192))
    _ = try Trial.attempt { try Stamp(of: archive) }
    if let value = try Trial.attempt({ try decoder.decodeValue(from: archive) }) { try encode(value) }
    _ = try Trial.attempt { try decoder.decode(ArchiveValue.self, from: archive) }
    if let form = try Trial.attempt({ try decoder.decode(Form.self, from: archive) }) {
      let again = try succeed("a model is encoded") { try ArchiveEncoder().encodeBody(form) }
      let copy = try succeed("a model is read again") { try decoder.decodeBody(Form.self, from: again) }
      try require(try ArchiveEncoder().encodeBody(copy) == again, "a model comes back")
    }
    _ = try Trial.attempt { try decoder.decode([Leaf].self, from: archive) }
    _ = try Trial.attempt { try decoder.decode([String: [Int: Double]].self, from: archive) }
    if let tree = try Trial.attempt({ try decoder.decode(CodableTree.self, from: archive) }) { try encode(tree) }
    if let knot = try Trial.attempt({ try decoder.decode(Knot.self, from: archive) }) { try KnotTrial.run(knot) }
    if let knots = try Trial.attempt({ try decoder.decode([Knot].self, from: archive) }) {
      for knot in knots { try KnotTrial.run(knot) }
    }
  }

  /// Encodes a value of a Codable type, decodes it, and checks that the result equals the original.
  private static func encode(_ tree: CodableTree) throws {
    let encoder = ArchiveEncoder(compression: .none)
    let archive = try succeed("a Codable type is encoded") { try encoder.encode(tree) }
    let again = try succeed("a Codable type is read again") {
      try ArchiveDecoder().decode(CodableTree.self, from: archive)
    }
    try require(try encoder.encode(again) == archive, "a Codable type comes back")
  }

  /// Encodes an untyped value, decodes it, and checks that the result is the same.
  private static func encode(_ value: ArchiveValue) throws {
    let archive = try succeed("a value is encoded") { try ArchiveEncoder(compression: .none).encode(value) }
    let again = try succeed("a value is read again") { try ArchiveDecoder().decodeValue(from: archive) }
    // This compares archives instead of values, because NaN isn't equal to itself.
    try require(try ArchiveEncoder(compression: .none).encode(again) == archive, "a value comes back")
  }
}
