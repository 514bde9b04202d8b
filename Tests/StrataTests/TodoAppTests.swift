import Foundation
import GRDB
import Strata
import StrataRemote
import StrataStore
import StrataTestSupport
import StrataCore
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// The two programs of Docs/Todo.md. The tests run both programs, and compare them with the page.

// Todo:begin
@Model(version: 1)
struct Item {
  let id: String
  var title: String
  var isDone = false
  var fetched = RowBase()
}

extension Item: Entity {
  static let entityMapping = EntityMapping(table: "item")
}

/// A to-do list that works offline. The user enters each command as a line in the terminal.
struct TodoApp {
  private let entities: EntityStore
  private let remote: RemoteStore

  init(_ queue: DatabaseQueue, _ url: URL, _ transport: any HTTPTransport = URLSessionTransport()) async throws {
    try await queue.write { db in
      try db.create(table: "item", options: .ifNotExists) { table in
        table.primaryKey("id", .text)
        table.column("title", .text).notNull()
        table.column("isDone", .boolean).notNull()
      }
    }
    entities = try EntityStore(queue, Item.self)
    let mapper = EntityMapper(Item.self, keys: ["isDone": "done"], missing: .delete)
    remote = try await RemoteStore(
      entities, RemoteConfiguration(baseURL: url, mappers: mapper, transport: transport))
  }

  func run(_ line: String) async throws -> String {
    let words = line.split(separator: " ", maxSplits: 2).map(String.init)
    switch (words.first, words.count) {
    case ("add", 2...):
      try await entities.save(Item(id: UUID().uuidString, title: words.dropFirst().joined(separator: " ")))
    case ("edit", 3): try await edit(words[1]) { $0.title = words[2] }
    case ("done", 2): try await edit(words[1]) { $0.isDone = true }
    case ("remove", 2): _ = try await entities.writer.write { db in try Item.deleteOne(db, key: words[1]) }
    case ("sync", 1): return "\(try await remote.sync().sending)"
    case ("mine", 2), ("theirs", 2):
      for conflict in try await remote.conflicts() where conflict.record == words[1] {
        try await remote.resolve(conflict, words[0] == "mine" ? .local : .server)
      }
    case ("conflicts", 1):
      return try await remote.conflicts().map { "\($0.record) \($0.path): \($0.local), theirs \($0.server)" }
        .joined(separator: "\n")
    default: break
    }
    return try await entities.fetchAll(Item.order(Column("title"))).map {
      "\($0.isDone ? "x" : "-") \($0.id) \($0.title)"
    }
    .joined(separator: "\n")
  }

  private func edit(_ id: String, _ change: (inout Item) -> Void) async throws {
    guard var item = try await entities.fetchOne(Item.filter(key: id)) else { return }
    change(&item)
    try await entities.save(item)
  }
}
// Todo:end

// TodoByHand:begin
/// A row with the last values from the server, and with the local changes since then.
struct PlainItem: Codable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "item"
  var id: String
  var title: String
  var isDone: Bool
  /// The server's values on which the local changes are based; `nil` for a new item.
  var base: Wire?
  var etag: String?
  /// The server's values if they conflict with local changes; otherwise `nil`.
  var conflict: Wire?
  var isDeleted = false
  /// The idempotency key of the request for a new item. A server that supports such keys creates the item only once.
  var key: String?
  var wasSent = false

  struct Wire: Codable, Equatable {
    var id: String?
    var title: String
    var done: Bool
  }

  var wire: Wire { Wire(id: base?.id, title: title, done: isDone) }
  var isDirty: Bool { base == nil || isDeleted || wire != base }
}

struct PlainTodoApp: Sendable {
  typealias Transport = @Sendable (URLRequest) async throws -> (Data, HTTPURLResponse)
  enum Failure: Error { case status(Int), uncertain(String) }

  private let queue: DatabaseQueue
  private let url: URL
  private let send: Transport

  init(_ queue: DatabaseQueue, _ url: URL, _ send: @escaping Transport) async throws {
    (self.queue, self.url, self.send) = (queue, url, send)
    try await queue.write { db in
      try db.create(table: "item", options: .ifNotExists) { table in
        table.primaryKey("id", .text)
        table.column("title", .text).notNull()
        table.column("isDone", .boolean).notNull()
        table.column("base", .jsonText)
        table.column("etag", .text)
        table.column("conflict", .jsonText)
        table.column("isDeleted", .boolean).notNull()
        table.column("key", .text)
        table.column("wasSent", .boolean).notNull()
      }
    }
  }

  func run(_ line: String) async throws -> String {
    let words = line.split(separator: " ", maxSplits: 2).map(String.init)
    switch (words.first, words.count) {
    case ("add", 2...):
      try await queue.write { db in
        try PlainItem(
          id: UUID().uuidString, title: words.dropFirst().joined(separator: " "), isDone: false, key: UUID().uuidString
        ).insert(db)
      }
    case ("edit", 3): try await edit(words[1]) { $0.title = words[2] }
    case ("done", 2): try await edit(words[1]) { $0.isDone = true }
    case ("remove", 2):
      try await queue.write { db in
        guard var item = try PlainItem.fetchOne(db, key: words[1]) else { return }
        item.isDeleted = true
        if item.base == nil, !item.wasSent { _ = try item.delete(db) } else { try item.update(db) }
      }
    case ("sync", 1):
      let sent = try await sendAll()
      try await refresh()
      return "\(sent) sent"
    case ("mine", 2), ("theirs", 2):
      try await edit(words[1]) { item in
        guard let theirs = item.conflict else { return }
        if words[0] == "theirs" { (item.title, item.isDone) = (theirs.title, theirs.done) }
        (item.base, item.conflict) = (theirs, nil)
      }
    case ("conflicts", 1):
      return try await items().filter { $0.conflict != nil }.map { item in
        "\(item.id) title: \(item.title), theirs \(item.conflict?.title ?? "")"
      }.joined(separator: "\n")
    default: break
    }
    return try await items().filter { !$0.isDeleted }.map { "\($0.isDone ? "x" : "-") \($0.id) \($0.title)" }
      .joined(separator: "\n")
  }

  private func items() async throws -> [PlainItem] {
    try await queue.read { db in try PlainItem.order(Column("title")).fetchAll(db) }
  }

  private func edit(_ id: String, _ change: @Sendable (inout PlainItem) -> Void) async throws {
    try await queue.write { db in
      guard var item = try PlainItem.fetchOne(db, key: id) else { return }
      change(&item)
      try item.update(db)
    }
  }

  /// Merges the server's values into a row, field by field.
  private static func merge(_ theirs: PlainItem.Wire, _ etag: String?, into item: inout PlainItem) {
    let base = item.base ?? theirs
    var conflicts = false
    func merged<T: Equatable>(_ base: T, _ mine: T, _ theirs: T) -> T {
      if mine == base { return theirs }
      if theirs != base, theirs != mine { conflicts = true }
      return mine
    }
    (item.title, item.isDone) = (
      merged(base.title, item.title, theirs.title), merged(base.done, item.isDone, theirs.done)
    )
    item.conflict = conflicts ? theirs : nil
    if !conflicts { item.base = theirs }
    item.etag = etag
  }

  private func answer(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
    for attempt in 0... {
      let (data, response) = try await send(request)
      guard [429, 502, 503, 504].contains(response.statusCode), attempt < 3, request.httpMethod == "GET" else {
        return (data, response)
      }
      try await Task.sleep(for: .milliseconds(500 << attempt))
    }
    throw Failure.status(503)
  }

  private func refresh() async throws {
    let (data, response) = try await answer(URLRequest(url: url.appending(path: "items")))
    guard response.statusCode == 200 else { throw Failure.status(response.statusCode) }
    let theirs = try JSONDecoder().decode([PlainItem.Wire].self, from: data)
    try await queue.write { db in
      var known = Set<String>()
      for wire in theirs {
        guard let id = wire.id else { continue }
        known.insert(id)
        if var item = try PlainItem.fetchOne(db, key: id) {
          guard !item.isDeleted else { continue }
          Self.merge(wire, nil, into: &item)
          try item.update(db)
        } else {
          try PlainItem(id: id, title: wire.title, isDone: wire.done, base: wire).insert(db)
        }
      }
      for item in try PlainItem.fetchAll(db) where !known.contains(item.id) && !item.isDirty { try item.delete(db) }
    }
  }

  private func sendAll() async throws -> Int {
    var sent = 0
    for item in try await items() where item.isDirty && item.conflict == nil {
      if try await sendOne(item) { sent += 1 }
    }
    return sent
  }

  private func sendOne(_ item: PlainItem) async throws -> Bool {
    var item = item
    let one = url.appending(path: "items").appending(path: item.base?.id ?? "")
    if item.base != nil {
      // The item is fetched first, because a PATCH must not overwrite a change that was not fetched.
      let (data, response) = try await answer(URLRequest(url: one))
      if response.statusCode == 404 {
        return try await queue.write { [item] db in try item.delete(db) }
      }
      guard response.statusCode == 200 else { throw Failure.status(response.statusCode) }
      let theirs = try JSONDecoder().decode(PlainItem.Wire.self, from: data)
      let etag = response.value(forHTTPHeaderField: "ETag")
      if item.isDeleted, theirs != item.base { item.isDeleted = false }
      Self.merge(theirs, etag, into: &item)
      try await queue.write { [item] db in try item.update(db) }
      guard item.isDirty, item.conflict == nil else { return false }
    } else if item.wasSent {
      throw Failure.uncertain(item.id)
    }
    var request = URLRequest(url: item.base == nil ? url.appending(path: "items") : one)
    request.httpMethod = item.base == nil ? "POST" : item.isDeleted ? "DELETE" : "PATCH"
    if let etag = item.etag { request.setValue(etag, forHTTPHeaderField: "If-Match") }
    if let key = item.key { request.setValue(key, forHTTPHeaderField: "Idempotency-Key") }
    if !item.isDeleted {
      request.setValue("application/merge-patch+json", forHTTPHeaderField: "Content-Type")
      request.httpBody = try JSONEncoder().encode(item.wire)
    }
    item.wasSent = true
    try await queue.write { [item] db in try item.update(db) }
    let (data, response): (Data, HTTPURLResponse)
    do { (data, response) = try await answer(request) } catch let error as URLError
      where [.notConnectedToInternet, .cannotConnectToHost, .cannotFindHost].contains(error.code)
    {
      // The request never reached the server.
      try await edit(item.id) { $0.wasSent = false }
      throw error
    }
    guard response.statusCode != 412 else { return false }
    guard 200...299 ~= response.statusCode else { throw Failure.status(response.statusCode) }
    let wire = item.isDeleted ? nil : try JSONDecoder().decode(PlainItem.Wire.self, from: data)
    return try await queue.write { [item] db in
      guard let wire, let id = wire.id else { return try item.delete(db) }
      // The item may have been edited while the request was in flight.
      guard var now = try PlainItem.fetchOne(db, key: item.id) else { return true }
      try now.delete(db)
      let sent = item.wire
      if now.title == sent.title { now.title = wire.title }
      if now.isDone == sent.done { now.isDone = wire.done }
      (now.id, now.base, now.key, now.wasSent) = (id, wire, nil, false)
      try now.insert(db)
      return true
    }
  }
}
// TodoByHand:end

/// A server with a to-do list, which both programs use.
private final class ItemServer: HTTPTransport {
  private struct State {
    var items: [(id: String, title: String, done: Bool, version: Int)] = [
      ("1", "Milk", false, 1), ("2", "Oats", false, 1),
    ]
    var version = 1
    var isDown = false
  }
  private let state = Mutex(State())

  var isDown: Bool { state.withLock { $0.isDown } }
  func setDown(_ isDown: Bool) { state.withLock { $0.isDown = isDown } }
  var titles: [String] { state.withLock { $0.items.map(\.title).sorted() } }
  func edit(_ id: String, _ title: String) {
    state.withLock { state in
      state.version += 1
      for place in state.items.indices where state.items[place].id == id {
        (state.items[place].title, state.items[place].version) = (title, state.version)
      }
    }
  }

  func answer(_ method: String, _ path: String, _ body: Data?, _ match: String?) throws -> (Int, Data, String?) {
    try state.withLock { state in
      guard !state.isDown else { throw RemoteError(.notConnected, "no connection") }
      func json(_ item: (id: String, title: String, done: Bool, version: Int)) -> String {
        #"{"id": "\#(item.id)", "title": "\#(item.title)", "done": \#(item.done)}"#
      }
      let id = String(path.split(separator: "/").last ?? "")
      let place = state.items.firstIndex { $0.id == id }
      let change = try body.map { try JSONReader().read($0) }
      if method == "GET", id == "items" {
        return (200, Data("[\(state.items.map(json).joined(separator: ", "))]".utf8), nil)
      }
      state.version += method == "GET" ? 0 : 1
      if method == "POST" {
        state.items.append(("s\(state.version)", change?["title"]?.stringValue ?? "", false, state.version))
      }
      guard let place = method == "POST" ? state.items.count - 1 : place else { return (404, Data(), nil) }
      if let match, match != "\"\(state.items[place].version)\"" { return (412, Data(), nil) }
      if method == "DELETE" {
        state.items.remove(at: place)
        return (204, Data(), nil)
      }
      if method == "PATCH" {
        if let title = change?["title"]?.stringValue { state.items[place].title = title }
        if let done = change?["done"]?.boolValue { state.items[place].done = done }
        state.items[place].version = state.version
      }
      return (200, Data(json(state.items[place]).utf8), "\"\(state.items[place].version)\"")
    }
  }

  func send(_ request: HTTPRequest, sizeLimit: Int, timeout: Duration) async throws -> HTTPResponse {
    let (status, data, etag) = try answer(request.method, request.url.path, request.body, request.headers["If-Match"])
    return HTTPResponse(status, headers: etag.map { ["ETag": $0] } ?? [:], body: data, url: request.url)
  }
}

@Suite("The to-do app, with Strata and by hand")
struct TodoAppTests {
  private func run(_ server: ItemServer, _ run: (String) async throws -> String) async throws {
    _ = try await run("sync")
    #expect(try await run("list") == "- 1 Milk\n- 2 Oats")
    server.setDown(true)
    _ = try await run("edit 1 Oat milk")
    _ = try await run("done 2")
    _ = try await run("add Bread")
    #expect(try await run("list").contains("Oat milk"))
    await #expect(throws: (any Error).self) { _ = try await run("sync") }
    server.edit("1", "Soy milk")
    server.setDown(false)
    // The request for the new item failed without a connection, so it never reached the server.
    // One of these runs is needed only because of the back-off after the failed attempt.
    for _ in 0..<3 { _ = try? await run("sync") }
    #expect(try await run("conflicts").contains("theirs"))
    _ = try await run("mine 1")
    _ = try await run("sync")
    #expect(server.titles == ["Bread", "Oat milk", "Oats"])
    #expect(try await run("list").contains("x 2 Oats"))
    _ = try await run("remove 2")
    _ = try await run("sync")
    #expect(server.titles == ["Bread", "Oat milk"])
  }

  @Test("The app with Strata works offline and synchronizes")
  func strata() async throws {
    let server = ItemServer()
    let url = try #require(URL(string: "https://example.com/api"))
    let app = try await TodoApp(DatabaseQueue(), url, server)
    try await run(server) { try await app.run($0) }
  }

  @Test("The handwritten app works offline and synchronizes")
  func byHand() async throws {
    let server = ItemServer()
    let url = try #require(URL(string: "https://example.com/api"))
    let app = try await PlainTodoApp(DatabaseQueue(), url) { request in
      let url = try #require(request.url)
      guard !server.isDown else { throw URLError(.notConnectedToInternet) }
      let (status, data, etag) = try server.answer(
        request.httpMethod ?? "GET", url.path, request.httpBody, request.value(forHTTPHeaderField: "If-Match"))
      let headers = etag.map { ["ETag": $0] } ?? [:]
      return (
        data, try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: headers))
      )
    }
    try await run(server) { try await app.run($0) }
  }

  @Test("The page contains the code of both apps and their line counts")
  func page() throws {
    let page = try Repository.text("Docs/Todo.md")
    let blocks = page.components(separatedBy: "```swift\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }
    let programs = try ["Todo", "TodoByHand"].map { try Repository.examples($0).joined() }
    func lines(_ text: String) -> [String] {
      text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
    #expect(blocks.map(lines) == programs.map(lines))
    let counts = programs.map { lines($0).count { !$0.hasPrefix("//") } }
    #expect(page.contains("\(counts[0]) lines") && page.contains("\(counts[1]) lines"), "\(counts)")
  }
}
