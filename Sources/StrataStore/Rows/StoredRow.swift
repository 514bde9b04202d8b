internal import Foundation
internal import GRDB
internal import StrataCore

/// A row of the table of revisions.
struct StoredRow {
  /// How a row stores the content of its revision.
  enum Form: Int {
    /// The row itself contains the content, unchanged.
    case whole = 0
    /// The content is stored in a blob, which other rows may share.
    case blob = 1
    /// The content is a delta of an earlier revision.
    case delta = 2
    /// The revision is a deletion and has no content.
    case tombstone = 3
  }

  var id: Int64
  var key: Int64
  /// The number of the revision within the history of its key, counted from 1.
  var seq: Int64
  /// The time of the save, in milliseconds since 1970.
  var time: Int64
  var definition: Int64?
  var form: Form
  var action: StoreRevision.Action
  var content: Data?
  var base: Int64?
  var blob: Int64?
  /// For a restore, an undo or a redo, the number of the revision that this revision repeats. Otherwise `nil`.
  var origin: Int64?
  var author: String?
  var note: String?

  static let columns = "id, key, seq, time, definition, kind, crc, content, base, blob, origin, author, note"

  static let qualifiedColumns = columns.split(separator: ", ").map { "r." + $0 }.joined(separator: ", ")

  /// The value of the `kind` column, which combines the form and the action in one number.
  var kind: Int { form.rawValue * 8 + action.rawValue }

  /// The checksum of all other columns of the row.
  var checksum: Int32 {
    var buffer = ByteBuffer(minimumCapacity: 96 + (content?.count ?? 0))
    for number in [id, key, seq, time, definition ?? -1, Int64(kind), base ?? -1, blob ?? -1, origin ?? -1] {
      buffer.append(0, number)
    }
    for text in [author, note] {
      guard let text else {
        buffer.append(0)
        continue
      }
      buffer.append(1, Int64(text.utf8.count))
      buffer.append(text)
    }
    if let content {
      buffer.append(1)
      buffer.append(content.bytes)
    }
    return Int32(bitPattern: buffer.withBytes { Checksum.crc32(of: $0) })
  }
}

extension StoredRow {
  /// Reads a row whose first columns are ``columns``.
  ///
  /// - Throws: ``StoreError`` with the code `damaged` if the checksum is wrong or a column has an invalid value.
  init(_ row: StatementRow) throws {
    let kind: Int = try row.column(5)
    guard kind >= 0, let form = Form(rawValue: kind / 8), let action = StoreRevision.Action(rawValue: kind % 8) else {
      throw StoreError(.damaged, "a row has an invalid kind; check the store, then salvage it")
    }
    try self.init(
      id: row.column(0), key: row.column(1), seq: row.column(2), time: row.column(3), definition: row.nullable(4),
      form: form, action: action, content: row.nullable(7), base: row.nullable(8), blob: row.nullable(9),
      origin: row.nullable(10), author: row.nullable(11), note: row.nullable(12))
    // Identifiers and revision numbers start at 1. Later calculations with them rely on this.
    guard id > 0, seq > 0 else {
      throw StoreError(.damaged, "a row has an invalid id or revision number; check the store, then salvage it")
    }
    guard try Int64(checksum) == row.column(6) as Int64 else {
      throw StoreError(.damaged, "the checksum of a row is wrong; check the store, then salvage it", revision: Int(seq))
    }
  }

  /// Returns the first row of a statement, or `nil` if there is none.
  static func fetch(_ statement: Statement, _ arguments: StatementArguments) throws -> StoredRow? {
    try StatementRow.first(of: statement, arguments) { try StoredRow($0) }
  }
}

extension Date {
  /// The time in milliseconds since 1970, as stored in rows.
  var milliseconds: Int64 { Int64(clamping: (timeIntervalSince1970 * 1000).rounded()) }

  init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}

extension Int64 {
  /// Creates an integer from a rounded value. A value outside the range of `Int64` is clamped, and NaN becomes 0.
  fileprivate init(clamping value: Double) {
    guard !value.isNaN else {
      self = 0
      return
    }
    self = Int64(exactly: value) ?? (value < 0 ? .min : .max)
  }
}
