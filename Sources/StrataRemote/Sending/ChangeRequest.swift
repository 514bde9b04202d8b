internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// Creates the request for a change and stores its content, so that a repeated request is identical to the first one.
struct ChangeRequest {
  /// The next action for a change.
  enum Outcome: Sendable {
    /// The request is stored in the queue and can be sent. `isNew` is true if it was just created, and false if an
    /// earlier request is repeated.
    case ready(UnsentChange, isNew: Bool)
    /// The request was sent before, but its outcome is unknown. The server's record must be fetched first, because
    /// sending the request again could overwrite a change by another client.
    case uncertain(UnsentChange)
    /// Nothing remains to be sent for the change.
    case nothing
    /// The change waits for another change, or another store is already sending it.
    case waits
    /// All edits of the change are in conflict, so the change waits until the conflicts are resolved.
    case held
    /// The record is one of several new records that require references to each other, so none of them can be sent
    /// first.
    case stuck
    /// The change is a deletion. It waits until changes to other records have removed the references to the deleted record from the
    /// server.
    case behind
    /// The update was turned into an insertion, because the server does not have the record. The request must be
    /// prepared again.
    case again
    /// The server's record must be fetched first, because a conditional request needs an ETag or modification time that is not known, or
    /// because a `PUT` request needs the whole record.
    case needsRecord

    /// The reason why the change waits, for display; `nil` if it waits neither for another change nor for a conflict to be resolved.
    var reason: String? {
      switch self {
      case .waits: "the change cannot be sent until the referenced record exists on the server"
      case .held: "the change cannot be sent until its conflict is resolved"
      case .behind:
        "the deletion cannot be sent until the changes that remove references to the record have been sent"
      case .ready, .uncertain, .nothing, .stuck, .again, .needsRecord: nil
      }
    }
  }

  let catalog: RemoteCatalog
  let entity: MappedEntity
  let change: UnsentChange
  /// The server's record as JSON, if it was fetched for this request; otherwise `nil`.
  let fetched: ArchiveValue?
  /// The number that the request gets if it is a new request.
  let number: Int64
  let db: Database

  private struct Content {
    let verb: String
    let body: ArchiveValue?
    let sent: [String: DatabaseValue]
  }

  func prepare() throws -> Outcome {
    if let request = change.request {
      let isOutdated = change.kind == .delete && request.verb != "POST" && request.verb != "DELETE"
      guard isOutdated else { return entity.canRepeat(request) ? .ready(change, isNew: false) : .uncertain(change) }
      try change.discardRequest(db, keepsSent: true)
    }
    var headers = HTTPHeaders()
    let content: Content
    switch change.kind {
    case .delete:
      guard try entity.idText(change.id) != nil else {
        try change.remove(db)
        return .nothing
      }
      // Changes to records that refer to the deleted record are sent first. Otherwise the server could delete or change those records
      // together with this one.
      guard try !SendingOrder(catalog, db).isBehind(entity, change.record) else { return .behind }
      content = Content(verb: "DELETE", body: nil, sent: [:])
    case .insert:
      guard var row = try entity.row(change.record, db) else {
        try change.remove(db)
        return .nothing
      }
      // If new records refer to each other in a cycle, one of them is first sent without its reference. The reference
      // is sent after the other records exist.
      let order = SendingOrder(catalog, db)
      for field in try order.circular(entity, change.record, row) { row[field.slot] = .null }
      guard try !waits(for: entity.fields.filter(\.isSent), row) else {
        return try order.isStuck(entity, change.record) ? .stuck : .waits
      }
      var body = try json(row, entity.fields.filter(\.isSent))
      if entity.mapper.ids == .client {
        body = JSONMergePatch.apply(try entity.json(ofID: row[entity.id.slot]), to: body)
      }
      content = Content(verb: "POST", body: body, sent: values(row))
    case .update:
      guard let row = try entity.row(change.record, db) else {
        try change.remove(db)
        return .nothing
      }
      guard try entity.idText(row[entity.id.slot]) ?? entity.idText(change.id) != nil else {
        // The server does not have the record, so it is sent as a new record.
        try change.becomeNew(db)
        return .again
      }
      // `PUT` replaces the whole record. The server's record is therefore fetched first, to copy the fields that the model does not
      // know.
      if entity.mapper.update == .put, fetched == nil { return .needsRecord }
      let (found, waits) = try update(row)
      guard let found else {
        guard
          try db.exists(
            "SELECT 1 FROM strata_remote_edits WHERE entity = ? AND record = ?", [entity.name, change.record])
        else {
          try change.remove(db)
          return .nothing
        }
        return waits ? .waits : .held
      }
      content = found
    }
    if change.kind != .insert, entity.mapper.precondition != .none {
      headers = try condition()
      let isStrict = entity.mapper.traits.sendsStrongETags
      if isStrict ? headers["If-Match"] == nil : headers.fields.isEmpty, entity.mapper.precondition == .fetchFirst {
        guard fetched != nil else { return .needsRecord }
        guard !isStrict else {
          throw RemoteError(
            .refused,
            "the mapper's traits require strong ETags, but the server sent no strong ETag for the record; correct the "
              + "traits",
            entity: entity.name)
        }
      }
    }
    return try .ready(write(content, headers), isNew: true)
  }

  /// - Returns: `content`, the content of the update, or `nil` if there is nothing to send now, and `waits`, whether the change waits
  ///   for another change.
  private func update(_ row: [DatabaseValue]) throws -> (content: Content?, waits: Bool) {
    let bases = try LocalChanges(db).bases(entity, change.record)
    let held = try LocalChanges(db).conflicts(entity, change.record)
    let isPut = entity.mapper.update == .put
    var changed: [MappedEntity.Field] = []
    // The values to send. A local value that is in conflict is replaced with the merge base, so that it is not sent.
    var row = row
    for field in entity.fields where field.isSent {
      guard let base = bases[field.column] else { continue }
      if base.isExactly(row[field.slot]) {
        try LocalChanges(db).setBase(entity, change.record, field.column, nil)
        continue
      }
      for conflict in held where conflict.field == field.column {
        row[field.slot] = try entity.replacing(conflict.part, of: row[field.slot], in: field, by: base)
      }
      if !base.isExactly(row[field.slot]) { changed.append(field) }
    }
    // A `PUT` request contains all values of the record, so it waits until all conflicts of the record are resolved.
    guard !changed.isEmpty, !(isPut && !held.isEmpty) else { return (nil, false) }
    guard try !waits(for: changed, row) else { return (nil, true) }
    var before = row
    for field in changed { before[field.slot] = bases[field.column] ?? .null }
    let (old, new) = (try json(before, changed), try json(row, changed))
    var body = JSONMergePatch.patch(from: old, to: new)
    if isPut {
      let whole = JSONMergePatch.apply(body, to: fetched ?? [:])
      body = Self.settingNulls(of: new, in: whole)
    } else {
      try checkNulls(of: new, in: JSONMergePatch.apply(body, to: old), row, changed)
      if body == [:] {
        // The old and the new values are encoded as the same JSON, so these edits need not be sent.
        for field in changed where !held.contains(where: { $0.field == field.column }) {
          try LocalChanges(db).setBase(entity, change.record, field.column, nil)
        }
        return (nil, false)
      }
    }
    return (Content(verb: isPut ? "PUT" : "PATCH", body: body, sent: values(row, changed)), false)
  }

  /// Throws an error with the code `refused` if a merge patch cannot express a change, because a null in a merge patch
  /// means that the key is removed. For an optional property, that has the same effect as null. In a dictionary,
  /// however, a key with a null value would be lost.
  private func checkNulls(
    of new: ArchiveValue, in patched: ArchiveValue, _ row: [DatabaseValue], _ changed: [MappedEntity.Field]
  ) throws {
    guard let path = new.nullMissing(in: patched) else { return }
    let nodes = try entity.nodes(of: [patched], catalog)
    for field in changed {
      guard case .attribute(let place) = field.source, let root = nodes.roots.first else { continue }
      let read = try entity.stored(nodes.nodes[root].values[place] ?? .null, place)
      guard read.isExactly(row[field.slot]) else {
        throw RemoteError(
          .refused,
          "a merge patch cannot set a key of the dictionary “\(field.key)” to null; set the mapper's parameter "
            + "'update' to .put",
          entity: entity.name,
          underlying: ArchiveError(
            .notEncodable,
            "a merge patch cannot contain null as a value because null removes the key", path: path))
      }
    }
  }

  private func values(_ row: [DatabaseValue], _ fields: [MappedEntity.Field]? = nil) -> [String: DatabaseValue] {
    let fields = fields ?? entity.fields.filter(\.isSent)
    return Dictionary(fields.map { ($0.column, row[$0.slot]) }, uniquingKeysWith: { first, _ in first })
  }

  /// Whether any of the fields refers to a new record that the server does not have yet.
  private func waits(for fields: [MappedEntity.Field], _ row: [DatabaseValue]) throws -> Bool {
    let changes = try LocalChanges(db)
    for field in fields {
      guard let number = field.target, let target = catalog.entity(ofType: number), !row[field.slot].isNull else {
        continue
      }
      if try changes.kind(target, row[field.slot]) == .insert { return true }
    }
    return false
  }

  // MARK: JSON

  private func record(_ row: [DatabaseValue]) throws -> ModelRecord {
    var values = [ArchiveValue](repeating: .null, count: entity.type.schema.fields.count)
    for (place, attribute) in entity.type.attributes.enumerated() {
      values[attribute.place] = try entity.value(row[attribute.slot], place)
    }
    return ModelRecord(shape: entity.type.schema.fullShape, values: values)
  }

  private func json(_ row: [DatabaseValue], _ fields: [MappedEntity.Field]) throws -> ArchiveValue {
    let awaited = try awaited(row, fields)
    var (row, keys) = (row, Set<String>())
    for field in fields {
      if case .attribute = field.source, let id = awaited[field.column] { row[field.slot] = id }
    }
    for field in fields { if case .attribute = field.source { keys.insert(field.key) } }
    var body = try entity.adapter.json(of: record(row), fields: keys)
    for field in fields {
      guard case .relation = field.source, let type = field.target, let target = catalog.entity(ofType: type),
        let path = field.referencePath
      else { continue }
      var value = ArchiveValue.null
      let id = try row[field.slot].isNull ? awaited[field.column] : target.row(row[field.slot], db)?[target.id.slot]
      if let id {
        let json = try target.json(ofID: id)
        value = entity.mapper.references[field.key] == nil ? json : try target.idValue(in: json)
      }
      body = JSONMergePatch.apply(Self.nested(value, path.components[...]), to: body)
      // The null is set separately, because a merge patch cannot set a key to null.
      if value.isNull { body = Self.setNull(body, path.components[...]) }
    }
    return body
  }

  /// Returns the server's ids of pending references, by column name. The column of a pending reference is null until
  /// the referenced record is stored.
  private func awaited(_ row: [DatabaseValue], _ fields: [MappedEntity.Field]) throws -> [String: DatabaseValue] {
    guard fields.contains(where: { $0.target != nil && row[$0.slot].isNull }) else { return [:] }
    let ids = try db.pairs(
      """
      SELECT field, id FROM strata_remote_awaited AS a WHERE entity = ?1 AND record = ?2 AND NOT EXISTS (SELECT 1
        FROM strata_remote_edits AS e WHERE e.entity = ?1 AND e.record = ?2 AND e.field = a.field)
      """, [entity.name, change.record])
    return ids.filter { id in fields.contains { $0.column == id.key && row[$0.slot].isNull } }
  }

  private static func nested(_ value: ArchiveValue, _ steps: ArraySlice<ValuePath.Component>) -> ArchiveValue {
    guard case .key(let key)? = steps.first else { return value }
    return .object(ArchiveObject([.init(key: key, value: nested(value, steps.dropFirst()))]))
  }

  /// Returns `whole` with the nulls of `new` added again, because applying a merge patch has removed the keys with null values.
  private static func settingNulls(of new: ArchiveValue, in whole: ArchiveValue) -> ArchiveValue {
    guard case .object(let new) = new, case .object(var result) = whole else { return whole }
    for entry in new.entries {
      if let inner = result[entry.key] {
        result[entry.key] = settingNulls(of: entry.value, in: inner)
      } else if entry.value.isNull {
        result[entry.key] = .null
      }
    }
    return .object(result)
  }

  private static func setNull(_ body: ArchiveValue, _ steps: ArraySlice<ValuePath.Component>) -> ArchiveValue {
    guard case .key(let key)? = steps.first, case .object(var object) = body else { return body }
    object[key] = steps.count == 1 ? .null : setNull(object[key] ?? [:], steps.dropFirst())
    return .object(object)
  }

  // MARK: Conditions

  /// Returns the header fields of a conditional request, which the server refuses if the record has changed (RFC 9110,
  /// section 13). Returns no fields if neither an ETag nor a modification time of the record is known.
  private func condition() throws -> HTTPHeaders {
    let row = try Row.fetchOne(
      db.cachedStatement(sql: "SELECT etag, modified FROM strata_remote_records WHERE entity = ? AND record = ?"),
      arguments: [entity.name, change.record])
    if let etag = row?["etag"] as String?, !etag.hasPrefix("W/") { return ["If-Match": etag] }
    if let modified = row?["modified"] as String? { return ["If-Unmodified-Since": modified] }
    return [:]
  }

  private func write(_ content: Content, _ conditions: HTTPHeaders) throws -> UnsentChange {
    var headers = conditions
    if content.body != nil {
      headers["Content-Type"] = content.verb == "PATCH" ? entity.mapper.traits.patchType.rawValue : "application/json"
    }
    return try change.storeRequest(
      .init(
        verb: content.verb, body: content.body.map { try JSONWriter().write($0) }, headers: headers,
        values: content.sent),
      number: number, db)
  }
}

extension MappedEntity {
  /// Whether a request with an unknown outcome may be sent again, because the server would not execute it twice.
  func canRepeat(_ request: UnsentChange.StoredRequest) -> Bool {
    request.verb == "POST" ? mapper.ids == .server && mapper.traits.honoursIdempotencyKeys : request.isConditional
  }

  /// Returns the JSON of a record that contains only the given id.
  func json(ofID stored: DatabaseValue) throws -> ArchiveValue {
    var values = [ArchiveValue](repeating: .null, count: type.schema.fields.count)
    values[type.attributes[id.attribute].place] = try value(stored, id.attribute)
    return try adapter.json(of: ModelRecord(shape: type.schema.fullShape, values: values), fields: [idKey])
  }

  /// Returns the id in a record's JSON, or null if there is none.
  func idValue(in json: ArchiveValue) throws -> ArchiveValue {
    try adapter.places(ofField: idKey)?.written.first?.value(in: json) ?? .null
  }
}
