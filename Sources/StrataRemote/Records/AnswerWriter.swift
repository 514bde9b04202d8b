internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// The result of merging a response into the database.
struct AppliedAnswer: Sendable {
  /// The ids of the records in the response, in the order of the response. Nested records are not included.
  var ids: [String] = []
  var report = EntityReport()
  /// The number of records that were skipped, either because a newer response had already been merged, or because the
  /// record had been deleted locally.
  var passedOver = 0
  /// The number of values recorded as conflicts.
  var conflicts = 0
  /// The number of rows that were kept although the server no longer has their records. Such rows have unsent changes,
  /// or other rows refer to them.
  var kept = 0
  /// The number of ids that were left out of lists of related records, because the records with these ids are not
  /// stored yet.
  var awaited = 0
  /// An error if the server reported success without applying the sent change; otherwise `nil`.
  var notApplied: RemoteError?

  /// Adds the result of another part of the same response.
  mutating func add(_ other: AppliedAnswer) {
    ids += other.ids
    report.add(other.report)
    passedOver += other.passedOver
    conflicts += other.conflicts
    kept += other.kept
    awaited += other.awaited
  }
}

extension MappedEntity {
  /// Whether the rows of the table can be written independently of each other, in parts. This is possible if only the
  /// primary key and the server's id are unique, the entity has no relations, and the table has no foreign key to
  /// itself.
  fileprivate var isIndependent: Bool {
    type.relations.isEmpty && !table.refersToItself && table.uniqueSlots.isSubset(of: [key.slot, id.slot])
  }
}

/// Merges the records of a response into the rows of the database, in one transaction.
///
///     nodes → match local records → drop outdated and locally deleted nodes → merge local changes three ways → rows
///
/// A record without local changes is written without a merge, because it has no local values that could be lost.
struct AnswerWriter {
  let catalog: RemoteCatalog
  let db: Database
  let account: String
  /// The number of the request that this response answers. A record is skipped if the response to a later request has
  /// already been merged into it.
  let number: Int64
  let changes: LocalChanges
  var result = AppliedAnswer()
  var nodes: EntityNodes
  /// The server's id of each node, by node index; `nil` for a node without an id.
  var ids: [DatabaseValue?] = []
  /// The primary key of each node's record, by node index; `nil` if the record is not stored.
  var records: [DatabaseValue?] = []
  /// The pending references of nodes to records that are not stored yet.
  var awaited: [(node: Int, field: MappedEntity.Field, target: Int, id: DatabaseValue)] = []

  /// - Throws: ``RemoteError`` with the code `accountChanged` if the request was sent for a different account, or
  ///   before the data was reset.
  init(_ nodes: EntityNodes, _ catalog: RemoteCatalog, account: String, number: Int64, _ db: Database) throws {
    guard try ChangeTriggers.account(catalog.entities, db) == account else {
      throw RemoteError(.accountChanged, "the account changed during the request, so the response was discarded")
    }
    guard try !RemoteTables.isBeforeReset(number, db) else {
      throw RemoteError(.accountChanged, "the store was reset during the request, so the response was discarded")
    }
    self.nodes = nodes
    self.catalog = catalog
    self.db = db
    self.account = account
    self.number = number
    changes = try LocalChanges(db)
  }

  /// Writes the decoded records of a response.
  ///
  /// A long list of independent records is written in parts, so that only the rows of one part are in memory at the
  /// same time.
  static func write(
    _ read: ReadRecords, of entity: MappedEntity, _ catalog: RemoteCatalog, account: String, number: Int64,
    copy: HTTPCopy? = nil, isWhole: Bool = false, among condition: Set<ExactValue>? = nil, _ db: Database
  ) throws -> AppliedAnswer {
    // The number of parts is limited, because the local changes are queried once for each part.
    let size = max(5_000, read.nodes.roots.count / 20)
    var parts = entity.isIndependent ? read.nodes.parts(of: size)[...] : [read.nodes]
    var result = AppliedAnswer()
    while let nodes = parts.popFirst() {
      var writer = try AnswerWriter(nodes, catalog, account: account, number: number, db)
      let isLast = parts.isEmpty
      result.add(
        try writer.run(
          entity, copy: copy, isWhole: isWhole && isLast, among: condition, deleted: isLast ? read.deleted : nil))
    }
    return result
  }

  /// Writes the nodes.
  ///
  /// - Parameters:
  ///   - entity: the entity of the root records.
  ///   - copy: the header fields of the response, such as its ETag, if the response contains a single record.
  ///   - isWhole: whether local records that are missing from the response are deleted, because they no longer exist on
  ///     the server.
  ///   - condition: the primary keys of the records that `isWhole` applies to, or `nil` for all records of the entity.
  ///   - deleted: the records that the response marks as deleted.
  mutating func run(
    _ entity: MappedEntity, copy: HTTPCopy? = nil, isWhole: Bool, among condition: Set<ExactValue>? = nil,
    deleted: EntityNodes? = nil
  ) throws -> AppliedAnswer {
    try findRecords()
    for root in nodes.roots {
      // An empty id is refused, because the URL for the record would then be the URL of the list.
      guard let id = ids[root], let text = try entity.idText(id), !text.isEmpty else {
        throw RemoteError(
          .invalidBody,
          "a record has no id under \(idPlace(entity)); specify the id property with the mapper's parameter 'id'",
          entity: entity.name)
      }
      result.ids.append(text)
    }
    try rekeyNewRecords()
    try dropOutdated()
    if !changes.isEmpty {
      for number in nodes.nodes.indices where records[number] == nil { try findNew(number) }
      let changed = try changedRecords()
      for number in nodes.nodes.indices {
        guard let record = records[number], changed[nodes.nodes[number].type]?.contains(ExactValue(record)) ?? false
        else {
          continue
        }
        try reconcile(number)
      }
      try keepLists()
    }
    try resolveReferences()
    // Records that refer to each other are inserted one after the other, so foreign keys are checked only at the end of
    // the transaction.
    let types = Set(nodes.nodes.map(\.type))
    let leads = types.contains { type in
      catalog.entity(ofType: type)?.fields.contains { $0.target.map(types.contains) ?? false } ?? false
    }
    if leads { try db.execute(sql: "PRAGMA defer_foreign_keys = ON") }
    let writer = EntityWriter(nodes, catalog.store.catalog, matching: nil, db)
    result.report = try ChangeTriggers.withoutRecording(db) { try writer.run() }
    for place in nodes.nodes.indices { records[place] = writer.primaryKey(ofNode: place)?.first }
    try noteRecords(copy, entity)
    try noteAwaited()
    if isWhole { try deleteMissing(entity, among: condition) }
    if let deleted { try delete(deleted, entity) }
    return result
  }

  private func idPlace(_ entity: MappedEntity) -> String {
    entity.adapter.places(ofField: entity.idKey)?.read.map(\.description).joined(separator: ", ") ?? entity.idKey
  }

  func entity(_ node: Int) -> MappedEntity? { catalog.entity(ofType: nodes.nodes[node].type) }

  private func noteRecords(_ copy: HTTPCopy?, _ entity: MappedEntity) throws {
    let root = nodes.roots.count == 1 ? nodes.roots.first : nil
    var seen: [Int: [DatabaseValue]] = [:]
    for place in nodes.nodes.indices {
      guard let entity = self.entity(place), ids[place] != nil, let record = records[place], !isReference(place) else {
        continue
      }
      guard place == root, let copy else {
        seen[nodes.nodes[place].type, default: []].append(record)
        continue
      }
      seen[nodes.nodes[place].type, default: []] += []
      try noteRecords([record], of: entity, copy)
    }
    for (type, records) in seen.sorted(by: { $0.key < $1.key }) {
      guard let entity = catalog.entity(ofType: type) else { continue }
      try noteRecords(records, of: entity, nil)
      try RemoteTables.noteApplied(entity, number, db)
    }
  }

  /// Stores the fact that the server has sent the given records. Each statement inserts up to a hundred records. With one statement per
  /// record, the inserts would take a fifth of the time needed to merge a response.
  private func noteRecords(_ records: [DatabaseValue], of entity: MappedEntity, _ copy: HTTPCopy?) throws {
    var rest = records[...]
    while !rest.isEmpty {
      let count = rest.count < 100 ? 1 : 100
      let values = [String](repeating: "(?)", count: count).joined(separator: ", ")
      let statement = try db.cachedStatement(
        sql: """
          INSERT INTO strata_remote_records SELECT ?, column1, ?, ?, ? FROM (VALUES \(values)) WHERE true
          ON CONFLICT (entity, record) DO UPDATE
          SET applied = excluded.applied, etag = excluded.etag, modified = excluded.modified WHERE excluded.applied >= applied
          """)
      let shared: StatementArguments = [entity.name, number, copy?.etag, copy?.strongLastModified]
      try statement.execute(arguments: shared + StatementArguments(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
  }
}
