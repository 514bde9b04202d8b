internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// The result of merging a response into the rows.
struct AppliedAnswer: Sendable {
  /// The ids of the response's records, in the order of the response, without nested records.
  var ids: [String] = []
  var report = EntityReport()
  /// The number of records that were skipped because a newer response had been merged, or because the record was
  /// deleted locally.
  var passedOver = 0
  /// The number of values recorded as conflicts.
  var conflicts = 0
  /// The number of rows that were kept although the server no longer has their records, because the rows have unsent
  /// changes or because other rows refer to them.
  var kept = 0
  /// The number of elements of id lists that were left out because their records are not stored yet.
  var awaited = 0
  /// The reason why a change counts as refused although the server reported success; `nil` for any other change.
  var notApplied: RemoteError?

  /// Adds the result of a further part of the same response.
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
  /// Whether no row of the table depends on another row of it: only the primary key and the server's id are unique, the
  /// entity has no relations, and the table has no foreign key to itself.
  fileprivate var isIndependent: Bool {
    type.relations.isEmpty && !table.refersToItself && table.uniqueSlots.isSubset(of: [key.slot, id.slot])
  }
}

/// Merges a response into the rows, in one transaction.
///
///     nodes → match local records → drop outdated and locally deleted ones → merge local changes three ways → rows
///
/// A record without local changes is written directly, because its row serves as the base.
struct AnswerWriter {
  let catalog: RemoteCatalog
  let db: Database
  let account: String
  /// The number of the request. A record is skipped if the response to a request with a greater number was merged into
  /// it.
  let number: Int64
  let changes: LocalChanges
  var result = AppliedAnswer()
  var nodes: EntityNodes
  /// The server's ids, by node index.
  var ids: [DatabaseValue?] = []
  /// The primary keys of stored records, by node index; `nil` for a record that is not stored.
  var records: [DatabaseValue?] = []
  /// References to records that are not stored yet.
  var awaited: [(node: Int, field: MappedEntity.Field, target: Int, id: DatabaseValue)] = []

  /// - Throws: ``RemoteError`` with the code `accountChanged` if the response belongs to a different account, or to a
  ///   request from before a reset.
  init(_ nodes: EntityNodes, _ catalog: RemoteCatalog, account: String, number: Int64, _ db: Database) throws {
    guard try ChangeTriggers.account(catalog.entities, db) == account else {
      throw RemoteError(.accountChanged, "the account changed during the request, so the response was discarded")
    }
    guard try !RemoteTables.isBeforeReset(number, db) else {
      throw RemoteError(.accountChanged, "all rows were removed during the request, so the response was discarded")
    }
    self.nodes = nodes
    self.catalog = catalog
    self.db = db
    self.account = account
    self.number = number
    changes = try LocalChanges(db)
  }

  /// Writes the records that were read from a response.
  ///
  /// A long list of independent records is written in parts, so that only the rows of one part are in memory at a time.
  static func write(
    _ read: ReadRecords, of entity: MappedEntity, _ catalog: RemoteCatalog, account: String, number: Int64,
    copy: HTTPCopy? = nil, isWhole: Bool = false, among condition: Set<ExactValue>? = nil, _ db: Database
  ) throws -> AppliedAnswer {
    // Each part queries the local changes once, so the number of parts is limited.
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

  /// - Parameters:
  ///   - entity: the entity of the root records.
  ///   - copy: the validators of the response, if it contains a single record.
  ///   - isWhole: whether records that are missing from the response no longer exist on the server.
  ///   - condition: the primary keys to which `isWhole` is limited; `nil` for all records.
  ///   - deleted: the records that the response marks as deleted.
  mutating func run(
    _ entity: MappedEntity, copy: HTTPCopy? = nil, isWhole: Bool, among condition: Set<ExactValue>? = nil,
    deleted: EntityNodes? = nil
  ) throws -> AppliedAnswer {
    try findRecords()
    for root in nodes.roots {
      // With an empty id, the path of the record would be the path of the list.
      guard let id = ids[root], let text = try entity.idText(id), !text.isEmpty else {
        throw RemoteError(
          .invalidBody, "a record has no id under \(idPlace(entity)); specify the id property with id: in the mapper",
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
    // Records that refer to each other are inserted one at a time, so foreign keys are checked only at the end.
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

  /// Records that the server has sent these records. Each statement inserts a hundred of them, because one statement
  /// for each record would take a fifth of the time needed for a response.
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
