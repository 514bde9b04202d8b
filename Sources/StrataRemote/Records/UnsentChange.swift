internal import Foundation
internal import GRDB
internal import StrataStore

/// A record with unsent changes, as a row of the change queue.
struct UnsentChange: Sendable {
  let number: Int64
  let account: String
  let entity: String
  let record: DatabaseValue
  /// The server's id of the record, or null if the server does not have the record yet.
  let id: DatabaseValue
  let kind: RemoteChange.Kind
  let state: RemoteChange.State
  let attempts: Int
  let code: String?
  let reason: String?
  let status: Int?
  /// The request that was stored for this change, or `nil` if there is none. The URL and the authorization are not stored, because each
  /// attempt creates them anew.
  let request: StoredRequest?

  struct StoredRequest: Sendable {
    let verb: String
    let body: Data?
    let headers: [HTTPHeaders.Field]
    let key: String
    /// The number of the request's first attempt. A response that arrives late may answer that attempt.
    let number: Int64

    /// Whether the request has `If-Match`. The server then executes the request only if the record is unchanged, so the
    /// request can be repeated without fetching the record first.
    var isConditional: Bool { headers.contains { $0.name.lowercased() == "if-match" } }
  }

  init(_ row: Row) {
    number = row["number"]
    account = row["account"]
    entity = row["entity"]
    record = row["record"]
    id = row["id"]
    kind = RemoteChange.Kind(rawValue: row["kind"]) ?? .update
    attempts = row["attempts"]
    code = row["code"]
    reason = row["reason"]
    status = row["status"]
    request = Self.storedRequest(row)
    let isRefused = row["state"] == "refused"
    // This code means that the outcome of a `POST` is unknown, and that the library has no way to ask the server about it.
    let isUncertain = code == RemoteError.Code.uncertain.rawValue
    state = isRefused ? .refused : request == nil ? .waiting : isUncertain ? .uncertain : .sending
  }

  private static func storedRequest(_ row: Row) -> StoredRequest? {
    guard let verb = row["verb"] as String?, let key = row["idempotency_key"] as String?,
      let number = row["request"] as Int64?
    else { return nil }
    let lines = (row["headers"] as String? ?? "").split(separator: "\n")
    let headers = lines.compactMap { line -> HTTPHeaders.Field? in
      guard let colon = line.firstIndex(of: ":") else { return nil }
      return .init(String(line[..<colon]), String(line[line.index(after: colon)...]))
    }
    return StoredRequest(verb: verb, body: row["body"], headers: headers, key: key, number: number)
  }

  static func fetch(_ number: Int64, _ db: Database) throws -> UnsentChange? {
    try Row.fetchOne(
      db.cachedStatement(sql: "SELECT * FROM strata_remote_changes WHERE number = ?"), arguments: [number]
    ).map(UnsentChange.init)
  }

  static func fetch(_ entity: MappedEntity, _ record: DatabaseValue, _ db: Database) throws -> UnsentChange? {
    try Row.fetchOne(
      db.cachedStatement(sql: "SELECT * FROM strata_remote_changes WHERE entity = ? AND record = ?"),
      arguments: [entity.name, record]
    ).map(UnsentChange.init)
  }

  static func fetchAll(account: String?, _ db: Database) throws -> [UnsentChange] {
    try Row.fetchAll(
      db, sql: "SELECT * FROM strata_remote_changes WHERE ?1 IS NULL OR account = ?1 ORDER BY number",
      arguments: [account]
    ).map(UnsentChange.init)
  }

  func sent(_ db: Database) throws -> [String: DatabaseValue] {
    try db.pairs("SELECT field, value FROM strata_remote_sent WHERE number = ?", [number])
  }
}
