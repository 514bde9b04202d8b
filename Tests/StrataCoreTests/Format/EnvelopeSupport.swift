import Foundation
import StrataCore
import StrataTestSupport
import Testing

extension Stamp {
  /// A stamp with a value in every field.
  static func sample(
    kind: Kind = .single, typeName: String = "Shop.Order", plainSize: Int = 0, sequenceNumber: UInt64 = 7
  ) -> Stamp {
    Stamp(
      kind: kind, sequenceNumber: sequenceNumber, typeName: typeName, modelVersion: 3,
      fingerprint: 0xFEDC_BA98_7654_3210, plainSize: UInt64(plainSize), count: 1)
  }
}

/// Returns bytes that compress moderately and are the same in every run.
func sampleBody(_ size: Int) -> [UInt8] {
  var random = SeededRandom(seed: 0)
  return (0..<size).map { place in UInt8(truncatingIfNeeded: place % 3 == 0 ? random.next() : UInt64(place / 64)) }
}

func member(
  _ body: [UInt8], kind: Stamp.Kind = .single, level: CompressionLevel = .balanced,
  sequenceNumber: UInt64 = 7
) throws -> [UInt8] {
  var bytes: [UInt8] = []
  try Gzip.appendMember(
    body: body.bytes, stamp: .sample(kind: kind, sequenceNumber: sequenceNumber), level: level,
    to: &bytes)
  return bytes
}

/// Returns a member whose header is replaced with one for a different stamp.
func member(_ body: [UInt8], claiming stamp: Stamp) throws -> [UInt8] {
  let honest = try member(body)
  let length = try GzipHeader(at: 0, in: honest.bytes, fileOffset: 0).length
  return try GzipHeader.bytes(for: stamp) + honest[length...]
}

func inflate(
  _ bytes: [UInt8], at offset: Int = 0, limits: ArchiveLimits = ArchiveLimits()
) throws -> (stamp: Stamp, body: [UInt8], nextOffset: Int) {
  try Gzip.inflateMember(at: offset, in: bytes.bytes, limits: limits)
}
