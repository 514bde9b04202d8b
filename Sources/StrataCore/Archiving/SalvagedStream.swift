import Foundation

/// A stream that ``ArchiveSalvage`` writes. Adding the first member or calling ``finish(_:)`` creates its file.
final class SalvagedStream {
  let url: URL
  /// The stamp of the first member.
  private(set) var first: Stamp?
  private(set) var count: UInt64 = 0
  private var file: StreamFile?
  private var plainSize: UInt64 = 0
  private var number: UInt64 = 0

  init(at url: URL) { self.url = url }

  /// Adds a member with the next sequence number. Skips members whose kind is not `member`, and members of a different
  /// type than the first one.
  func add(_ stamp: Stamp, _ body: [UInt8], _ size: Int) throws {
    guard stamp.kind == .member, stamp.typeName == (first ?? stamp).typeName else { return }
    var new = stamp
    new.sequenceNumber = number
    try write(new, body, minimumSize: size)
    first = first ?? stamp
    (number, count, plainSize) = (number + 1, count + stamp.count, plainSize + stamp.plainSize)
  }

  /// Writes the end member of the stream and replaces an existing file at the URL.
  ///
  /// - Parameter stamp: the stamp of any member of the damaged stream. Its type name and versions are used.
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
