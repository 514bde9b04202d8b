import Foundation
import StrataCore

/// Creates streams of values, member by member.
enum Streams {
  static func stream(_ members: [[ArchiveValue]], numbers: [UInt64]? = nil, hasEnd: Bool = true) throws -> Data {
    var bytes: [UInt8] = []
    var plainSize: UInt64 = 0
    for (place, values) in members.enumerated() {
      var writer = ArchiveWriter()
      writer.beginCountedArray()
      for value in values { try writer.writeElement(value) }
      writer.setCount(UInt32(values.count))
      plainSize += UInt64(writer.buffer.count)
      let stamp = Stamp(
        kind: .member, sequenceNumber: numbers?[place] ?? UInt64(place), typeName: "Value",
        count: UInt64(values.count))
      bytes += try writer.member(stamp, .balanced)
    }
    guard hasEnd else { return Data(bytes) }
    let end = Stamp(
      kind: .end, sequenceNumber: UInt64(members.count), typeName: "Value", plainSize: plainSize,
      count: members.reduce(0) { $0 + UInt64($1.count) })
    try Gzip.appendMember(body: Data().bytes, stamp: end, to: &bytes)
    return Data(bytes)
  }
}
