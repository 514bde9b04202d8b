import Foundation

/// A stream that a salvage writes. Its file is made with the first member, or when it is finished.
final class SalvagedStream {
  let url: URL
  /// The stamp of the first member.
  private(set) var first: Stamp?
  private(set) var count: UInt64 = 0
  private var file: StreamFile?
  private var plainSize: UInt64 = 0
  private var number: UInt64 = 0

  init(at url: URL) { self.url = url }

  /// Adds a data member, with its place in this stream. Members that hold another type than the first one, and all that are
  /// no data members, are left out.
  func add(_ stamp: Stamp, _ body: [UInt8], _ size: Int) throws {
    guard stamp.kind == .member, stamp.typeName == (first ?? stamp).typeName else { return }
    var new = stamp
    new.sequenceNumber = number
    try write(new, body, minimumSize: size)
    first = first ?? stamp
    (number, count, plainSize) = (number + 1, count + stamp.count, plainSize + stamp.plainSize)
  }

  /// Puts the file in its place.
  ///
  /// - Parameter stamp: one of a member of the damaged stream.
  func finish(_ stamp: Stamp) throws {
    var end = stamp
    (end.kind, end.sequenceNumber, end.count, end.plainSize) = (.end, number, count, plainSize)
    try write(end, [], minimumSize: 0)
    try file?.finish()
  }

  private func write(_ stamp: Stamp, _ body: [UInt8], minimumSize: Int) throws {
    let file = try file ?? StreamFile(replacing: url, waiting: .zero)
    self.file = file
    var bytes: [UInt8] = []
    try Gzip.appendMember(body: body.bytes, stamp: stamp, minimumSize: minimumSize, link: file.link, to: &bytes)
    try file.write(bytes)
  }
}
