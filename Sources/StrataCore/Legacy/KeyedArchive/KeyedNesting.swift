import Foundation

/// What reading keyed archives inside of data in others remembers.
struct KeyedNesting {
  /// How many archives stand around the one that is being read.
  var level = 0
  /// How many bytes archives inside may still have, all together.
  ///
  /// Data inside of data is smaller than what holds it, so honest archives need at most the bytes of the outermost data
  /// for each level. Property lists can name the same bytes several times, which would multiply from level to level.
  private var rest: Int

  static let levelLimit = 8

  init(_ list: PropertyList) {
    rest =
      Self.levelLimit
      * list.objects.reduce(0) { if case .data(let data) = $1 { $0 + data.count } else { $0 } }
  }

  /// The property list that data holds; `nil` where it is none, or no keyed archive.
  ///
  /// - Throws: ``ArchiveError`` where the property list is damaged or exceeds a limit.
  mutating func table(of data: Data, limits: ArchiveLimits) throws -> KeyedTable? {
    guard level < Self.levelLimit, Self.looksRight(data) else { return nil }
    guard data.count <= rest else {
      throw ArchiveError(
        .limitExceeded,
        "the archives inside of this one claim more bytes than it has data for \(Self.levelLimit) levels",
        limit: .inflatedSize)
    }
    rest -= data.count
    var reader = PropertyListReader()
    reader.limits = limits
    do { return try KeyedTable(reader.read(data), limits: limits) } catch let error as ArchiveError
      where error.code == .notAnArchive
    { return nil }
  }

  /// Whether data begins as a binary property list does, or as one in XML.
  private static func looksRight(_ data: Data) -> Bool {
    if data.starts(with: Array("bplist00".utf8)) { return true }
    let start = data.prefix(1024)
    guard let first = start.first(where: { ![0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) }),
      first == UInt8(ascii: "<")
    else { return false }
    return start.range(of: Data("<plist".utf8)) != nil
  }
}
