import Foundation
internal import StrataCore

extension KeyedReader {
  /// Data, or what is in the archive that it is.
  mutating func data(_ target: KeyedTable.Target, inside depth: Int) throws -> Made {
    let data = table.list.data(at: target.offset)
    guard data.count <= limits.stringLength else { throw tooLong(data.count) }
    if let opened = try openNested(data, inside: depth) {
      remember(opened, at: target.identity)
      return opened
    }
    try spend(data.count)
    let made = Made(value: .data(data), bytes: data.count)
    remember(made, at: target.identity)
    return made
  }

  /// What data holds that is a keyed archive itself; `nil` for other data.
  private mutating func openNested(_ data: Data, inside depth: Int) throws -> Made? {
    guard let file = try nested?.binary(data, limits), let nested else { return nil }
    let list = try BinaryPropertyList(file.data.bytes, limits: file.limits)
    let table: KeyedTable
    do { table = try KeyedTable(list, limits: limits) } catch let error as ArchiveError
      where error.code == .notAnArchive
    { return nil }
    var reader = try KeyedReader(table, limits: limits, nested: nested, budget: budget)
    reader.nested?.level += 1
    swap(&reader.contents, &contents)
    let topEncoding = reader.contents.topEncoding
    let found = try reader.read(inside: depth)
    swap(&reader.contents, &contents)
    contents.topEncoding = topEncoding
    byteCount += reader.byteCount
    self.nested = reader.nested
    self.nested?.level -= 1
    let value = found.values[KeyedArchive.rootKey] ?? .object(found.values)
    return Made(value: value, size: found.size, height: found.height + 1, bytes: reader.byteCount)
  }
}

/// What reading keyed archives inside of data in others remembers.
struct KeyedNesting {
  /// How many archives are around the one that is being read.
  var level = 0
  /// How many bytes archives inside may still have, all together.
  ///
  /// Data inside of data is smaller than what holds it, so honest archives need at most the bytes of the outermost data
  /// for each level. Property lists can name the same bytes several times, which would multiply from level to level.
  private var rest: Int

  static let levelLimit = 8

  /// - Parameter dataSize: how many bytes the data of the outermost archive has.
  init(dataSize: Int) { rest = Self.levelLimit * dataSize }

  /// The property list that data holds, in the binary format; `nil` where it is none.
  ///
  /// - Throws: `ArchiveError` where the property list is damaged or exceeds a limit.
  mutating func binary(_ data: Data, _ limits: ArchiveLimits) throws -> (data: Data, limits: ArchiveLimits)? {
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
    do { return try reader.binary(data) } catch let error as ArchiveError where error.code == .notAnArchive {
      return nil
    }
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
