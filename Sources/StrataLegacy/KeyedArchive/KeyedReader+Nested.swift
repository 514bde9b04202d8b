import Foundation
internal import StrataCore

extension KeyedReader {
  /// Decodes a data object. If the reader opens nested archives and the data is a keyed archive, decodes that archive instead.
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

  /// Returns the contents of a keyed archive that is stored as data, or `nil` if the data is not a keyed archive.
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

/// The state for reading keyed archives that are stored as data in other archives.
struct KeyedNesting {
  /// The number of archives that enclose the current archive.
  var level = 0
  /// The total number of bytes of nested archives that may still be opened.
  ///
  /// In a valid file, the nested archives of one level together are at most as large as the data in the outermost archive, because nested
  /// data is smaller than the data that contains it. Without this limit, a hostile file could multiply the size at each level, because a
  /// property list can refer to the same bytes several times.
  private var rest: Int

  static let levelLimit = 8

  /// - Parameter dataSize: the total size of the data objects in the outermost archive, in bytes.
  init(dataSize: Int) { rest = Self.levelLimit * dataSize }

  /// Returns the property list in the data, converted to the binary format, or `nil` if the data is not a property list.
  ///
  /// - Throws: `ArchiveError` if the property list is damaged or exceeds a limit.
  mutating func binary(_ data: Data, _ limits: ArchiveLimits) throws -> (data: Data, limits: ArchiveLimits)? {
    guard level < Self.levelLimit, Self.looksRight(data) else { return nil }
    guard data.count <= rest else {
      throw ArchiveError(
        .limitExceeded,
        "all nested archives together have more than \(Self.levelLimit) times as much data as the outer archive",
        limit: .inflatedSize)
    }
    rest -= data.count
    var reader = PropertyListReader()
    reader.limits = limits
    do { return try reader.binary(data) } catch let error as ArchiveError where error.code == .notAnArchive {
      return nil
    }
  }

  /// Returns whether data begins like a binary or XML property list.
  private static func looksRight(_ data: Data) -> Bool {
    switch PropertyListFormat(of: data.bytes) {
    case .binary: true
    case .xml: data.prefix(1024).range(of: Data("<plist".utf8)) != nil
    case .wideXML, .other: false
    }
  }
}
