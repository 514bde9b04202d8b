internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// Handles the successful responses to requests that send changes.
extension ChangeSender {
  func acknowledge(
    _ change: UnsentChange, _ entity: MappedEntity, _ request: HTTPRequest, _ response: HTTPResponse, _ number: Int64,
    _ asked: Date
  ) async throws -> AppliedAnswer? {
    let (catalog, clock) = (session.catalog, session.clock)
    let hasContent = !response.body.isEmpty && response.status != 204
    var nodes: EntityNodes?
    var id: ArchiveValue?
    if hasContent, request.method == "DELETE" {
      // A body that is not JSON may be an HTML page from a proxy, which does not prove that the server has deleted the
      // record.
      guard (try? JSONReader().read(response.body)) != nil else {  // The cause does not matter.
        throw RemoteError(.invalidBody, "the response to DELETE is not JSON", entity: entity.name)
      }
    } else if hasContent, request.method != "POST" || response.headers["Location"] == nil || Self.isJSON(response) {
      let body = try RemoteBody(response.body, of: entity, isOne: true)
      guard !body.isList, let record = body.records.first else {
        throw RemoteError(
          .invalidBody, "the response to \(request.method) is a list, not a record", entity: entity.name)
      }
      nodes = try entity.nodes(of: [record], catalog)
      if let nodes, let root = nodes.roots.first { id = nodes.nodes[root].values[entity.id.attribute] }
    }
    var named: DatabaseValue?
    if let id, !id.isNull { named = try entity.stored(id, entity.id.attribute) }
    if named == nil { named = try knownID(of: change, entity, request, response) }
    if id?.isNull ?? true, let root = nodes?.roots.first {
      // If the body has no id, it is merged into the record whose id is already known.
      if let named {
        nodes?.nodes[root].values[entity.id.attribute] = try entity.value(named, entity.id.attribute)
      } else {
        nodes = nil
      }
    }
    let copy = HTTPCopy(
      request: HTTPRequest("GET", request.url),
      response: HTTPResponse(200, headers: response.headers, url: request.url),
      requestedAt: asked, receivedAt: clock.now())
    let answered = session.nextNumber()
    return try await session.write { [nodes, named] db in
      guard try ChangeTriggers.account(catalog.entities, db) == account else {
        throw RemoteError(
          .accountChanged, "the account changed while a change was being sent; the change will be sent again")
      }
      try StoredCopies.forget(url: request.url.absoluteString, db)
      return try Acknowledgement(catalog: catalog, entity: entity, sent: change, db: db).run(
        nodes, id: named, copy: copy, number: number, answered: answered)
    }
  }

  /// Whether the `Content-Type` of a response is JSON. A response without `Content-Type` is treated as JSON too.
  private static func isJSON(_ response: HTTPResponse) -> Bool {
    response.headers["Content-Type"].map { $0.lowercased().contains("json") } ?? true
  }

  /// Returns the id of the record that a request has changed, for a response without an id in its body. For a new record, this is the
  /// last path component of `Location`, or the key that the app has assigned.
  private func knownID(
    of change: UnsentChange, _ entity: MappedEntity, _ request: HTTPRequest, _ response: HTTPResponse
  ) throws -> DatabaseValue? {
    guard request.method == "POST" else { return change.id.isNull ? nil : change.id }
    // The path is split before it is decoded, because an id can contain an encoded slash.
    let path = response.headers["Location"].flatMap { URLComponents(string: $0) }?.percentEncodedPath
    if let last = path?.split(separator: "/").last, let text = last.removingPercentEncoding {
      return try entity.stored(idText: text)
    }
    return entity.mapper.ids == .client ? change.record : nil
  }
}

extension MappedEntity {
  /// Converts an id from a URL path to the database value that is stored in the column for the server's id.
  ///
  /// - Throws: ``RemoteError`` with the code `invalidBody` if the column cannot store the id.
  func stored(idText text: String) throws -> DatabaseValue {
    let candidates: [ArchiveValue] = [
      .string(text), Int64(text).map { .int($0) } ?? .null, UUID(uuidString: text).map { .uuid($0) } ?? .null,
      URL(string: text).map { .url($0) } ?? .null,
    ]
    for candidate in candidates where !candidate.isNull {
      // `try?` skips a candidate whose type the column cannot store.
      if let stored = try? stored(candidate, id.attribute) { return stored }
    }
    throw RemoteError(
      .invalidBody,
      "the id property cannot store the id from the response's Location header", entity: name)
  }
}
