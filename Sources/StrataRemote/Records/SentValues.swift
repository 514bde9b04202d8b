internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// The values of a record that were sent in a request whose response has not arrived. It is unknown whether the server
/// has received them.
struct SentValues {
  /// The sent values, by column name. Empty if no response is outstanding.
  let values: [String: DatabaseValue]
  private let entity: MappedEntity
  private let record: DatabaseValue
  private let db: Database

  init(_ entity: MappedEntity, _ record: DatabaseValue, _ db: Database) throws {
    (self.entity, self.record, self.db) = (entity, record, db)
    values = try db.pairs(
      """
      SELECT s.field, s.value FROM strata_remote_sent AS s JOIN strata_remote_changes AS c ON c.number = s.number
      WHERE c.entity = ? AND c.record = ?
      """, [entity.name, record])
  }

  /// Replaces a column's sent value with the server's value. Called when the row is set to the server's value too, because the column
  /// then has nothing left to send.
  func replace(_ column: String, by value: DatabaseValue) throws {
    guard let known = values[column], !known.isExactly(value) else { return }
    try db.execute(
      cached: """
        UPDATE strata_remote_sent SET value = ? WHERE field = ?
          AND number IN (SELECT number FROM strata_remote_changes WHERE entity = ? AND record = ?)
        """, [value, column, entity.name, record])
  }

  /// Whether the server's value shows that the server has received the sent value. Surrounding white space is ignored,
  /// because many servers trim text.
  private static func hasArrived(_ sent: ArchiveValue, _ server: ArchiveValue) -> Bool {
    guard case .string(let sent) = sent, case .string(let server) = server else {
      return sent == server
    }
    return sent.trimmingCharacters(in: .whitespacesAndNewlines)
      == server.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Returns the latest value that the app and the server are known to have had in common: the sent value if the server
  /// has received it, otherwise the value before the edit. Objects are compared key by key.
  static func shared(_ before: ArchiveValue, _ sent: ArchiveValue, _ server: ArchiveValue) -> ArchiveValue {
    if hasArrived(sent, server) { return sent }
    guard case .object(var result) = before, case .object(let sent) = sent, case .object(let server) = server else {
      return before
    }
    for key in Set(result.entries.map(\.key) + sent.entries.map(\.key)).sorted() {
      switch (sent[key], server[key]) {
      case (nil, nil): result[key] = nil
      case (let sent?, let server?):
        if let before = result[key] {
          result[key] = shared(before, sent, server)
        } else if hasArrived(sent, server) {
          result[key] = sent
        }
      default: break
      }
    }
    return .object(result)
  }
}
