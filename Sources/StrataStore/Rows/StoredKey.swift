internal import Foundation
internal import GRDB
internal import StrataCore

/// A row of the table of keys.
struct StoredKey {
  /// The UTF-8 bytes of the key's name. Keys are sorted by these bytes. If the row is damaged, the bytes may be invalid UTF-8.
  let bytes: Data
  let id: Int64
  /// The identifier of the key's last revision.
  let head: Int64
  /// Whether the stored checksum matches the key's name, identifier and last revision.
  private let isIntact: Bool

  static let damage = "the checksum of a key is wrong; check the store, then salvage it"

  /// The SQL columns of a key, qualified with the table alias `k`. The name is read as a blob, because reading a damaged name
  /// as text could change its bytes.
  static let columns = "CAST(k.name AS BLOB), k.id, k.head, k.crc"

  /// Reads a key from a row in which the key's columns begin at the given index.
  init(_ row: StatementRow, at index: Int) throws {
    bytes = try row.column(index)
    id = try row.column(index + 1)
    head = try row.column(index + 2)
    let bytes = bytes
    isIntact = try Int64(Self.checksum(id, head) { $0.append(bytes.bytes) }) == row.column(index + 3) as Int64
  }

  /// The name of the key. Invalid UTF-8 is replaced.
  var name: String { String(decoding: bytes, as: UTF8.self) }

  /// - Throws: ``StoreError`` with the code `damaged` if the checksum of the key is wrong.
  func check() throws {
    if !isIntact { throw StoreError(.damaged, Self.damage, key: name) }
  }

  /// Returns the checksum of a row of the table of keys.
  static func checksum(_ name: String, id: Int64, head: Int64) -> Int32 { checksum(id, head) { $0.append(name) } }

  /// Returns the checksum of a row of the table of labels.
  static func checksum(ofLabel name: String, key: Int64, revision: Int64) -> Int32 {
    checksum(key, revision) { $0.append(name) }
  }

  /// - Throws: ``StoreError`` with the code `damaged` if the checksum of the label is wrong.
  static func check(label name: String, key: Int64, revision: Int64, _ checksum: Int64) throws {
    guard Int64(self.checksum(ofLabel: name, key: key, revision: revision)) == checksum else {
      throw StoreError(.damaged, "the checksum of the label “\(name)” is wrong; remove the label, or set it again")
    }
  }

  private static func checksum(_ first: Int64, _ second: Int64, name: (inout ByteBuffer) -> Void) -> Int32 {
    var buffer = ByteBuffer(minimumCapacity: 96)
    buffer.append(0, first)
    buffer.append(0, second)
    name(&buffer)
    return Int32(bitPattern: buffer.withBytes { Checksum.crc32(of: $0) })
  }
}

extension StoreTransaction {
  /// Checks a key, prefix, label, author or note before it is saved or looked up.
  ///
  /// - Throws: ``StoreError`` with the code `invalid` if the text contains a NUL, because SQLite would truncate the text there.
  static func checkText(_ text: String?, _ what: String, key: String? = nil) throws {
    guard let text, text.utf8.contains(0) else { return }
    throw StoreError(
      .invalid, "\(what) must not contain NUL (U+0000) because SQLite would truncate the text there", key: key)
  }
}
