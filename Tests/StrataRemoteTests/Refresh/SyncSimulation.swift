import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import StrataTestSupport

/// Simulates one to three clients and a server, with faults and restarts. It records every written value independently of the library.
final class SyncSimulation {
  /// The last value that a client set for a field.
  struct Edit {
    let title: String
    let field: String
    let value: ArchiveValue
  }

  /// The capabilities of the server.
  struct Traits: CustomStringConvertible {
    let sendsETags: Bool, choosesIDs: Bool, honoursKeys: Bool
    let update: EntityMapper.Update
    var requestsAtOnce = 1

    static let all: [Traits] = [true, false].flatMap { sendsETags in
      [(true, true), (false, true), (false, false), (true, false)].flatMap { choosesIDs, honoursKeys in
        EntityMapper.Update.allCases.map {
          Traits(sendsETags: sendsETags, choosesIDs: choosesIDs, honoursKeys: honoursKeys, update: $0)
        }
      }
    }

    var description: String {
      "\(sendsETags ? "strong" : "no") ETags, ids of the \(choosesIDs ? "server" : "client"), keys \(honoursKeys ? "" : "not ")honoured, \(update), \(requestsAtOnce) at once"
    }

    func mappers(isUpdated: Bool) -> [EntityMapper] {
      let ids: EntityMapper.IDs = choosesIDs ? .server : .client
      let traits = ServerTraits(sendsStrongETags: sendsETags, honoursIdempotencyKeys: honoursKeys)
      let projects = EntityMapper(
        Project.self, keys: ["myId": "id"], ids: ids, missing: .delete, update: update, traits: traits)
      if isUpdated {
        return [
          projects,
          EntityMapper(
            UpdatedTodo.self,
            keys: ["details": "description", "myId": "id", "projectID": "project_id", "note": .none], path: "todos",
            ids: ids, missing: .delete, update: update, traits: traits),
        ]
      }
      return [
        projects,
        EntityMapper(
          Todo.self, keys: ["desc": "description", "myId": "id", "projectID": "project_id"], ids: ids, missing: .delete,
          update: update, traits: traits),
      ]
    }
  }

  let seed: UInt64
  let traits: Traits
  private var random: SeededRandom
  private let server = ModelServer(["projects": "[]", "todos": "[]"])
  private var clients: [Client] = []
  private var counter = 0
  private(set) var kills = 0
  private(set) var updates = 0
  /// Every value that the server has ever had, by field.
  private let history = Mutex<[String: Set<ArchiveValue>]>([:])
  /// The names of the projects that any client assigned to each todo, by the todo's title. Neither titles nor names ever change.
  private var projects: [String: Set<String>] = [:]

  private final class Client {
    var file: URL
    var office: SyncReplica
    /// The last values that this client set, by title and field.
    var edits: [String: [String: ArchiveValue]] = [:]
    var inserted: Set<String> = []
    /// Objects that were fetched earlier and will be edited and saved later.
    var forms: [Todo] = []
    /// The reasons why changes of a record need not reach the server, by the record's title.
    var givenUp: [String: Set<String>] = [:]

    init(file: URL, office: SyncReplica) { (self.file, self.office) = (file, office) }
  }

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  init(seed: UInt64) {
    self.seed = seed
    random = SeededRandom(seed: seed)
    var traits = Traits.all[Int(seed % UInt64(Traits.all.count))]
    // The list has five elements, because 5 is coprime to the number of traits: consecutive seeds cover all combinations.
    traits.requestsAtOnce = [1, 1, 2, 4, 1][Int(seed % 5)]
    self.traits = traits
    server.state.withLock { [traits] in
      ($0.sendsETags, $0.honoursKeys, $0.acceptsIDs) = (traits.sendsETags, traits.honoursKeys, !traits.choosesIDs)
    }
  }

  private func chance(_ percent: Int) -> Bool { random.below(100) < percent }

  private func value() -> String {
    counter += 1
    return "v\(counter)"
  }

  func run(in folder: URL, steps: Int = 40) async throws {
    // Creates one to three clients.
    for number in 0...Int(seed % 3) {
      let file = folder.appendingPathComponent("\(seed)-\(number).sqlite")
      clients.append(Client(file: file, office: try await open(file)))
    }
    for _ in 0..<steps { try await step() }
    try await settle()
    try await check()
  }

  private func open(_ file: URL, isUpdated: Bool = false) async throws -> SyncReplica {
    try await SyncReplica(server, file: file, isUpdated: isUpdated, traits: traits)
  }

  /// Reopens the file of a client, like a restarted app.
  private func reopen(_ client: Client) async throws {
    client.office = try await open(client.file, isUpdated: client.office.isUpdated)
  }

  // MARK: Steps

  private func step() async throws {
    let client = clients[random.below(clients.count)]
    setFault()
    defer { server.state.withLock { $0.fault = nil } }
    let step = random.below(18)
    if Self.isTraced { print("— step \(step) of client \(clients.firstIndex { $0 === client } ?? 0)") }
    switch step {
    case 0, 1, 2: try await edit(client)
    case 3: try await insert(client)
    case 4: try await delete(client)
    case 5: try await editServer()
    case 6, 7:
      let projectsFirst = chance(50)
      if projectsFirst { try await tolerant { try await client.office.remote.refresh(Project.self) } }
      try await tolerant { try await client.office.refreshTodos() }
      if !projectsFirst { try await tolerant { try await client.office.remote.refresh(Project.self) } }
    case 8, 9: try await tolerant { try await client.office.remote.send() }
    case 10: try await interrupted(client)
    case 11: try await deleteProject(client)
    case 12: try await sendRefused(client)
    case 13: try await overlapping(client)
    case 14, 15: try await killed(client)
    case 16: try await twice(client)
    default:
      // Updating the app discards its open forms.
      let isUpdated = chance(25) || client.office.isUpdated
      if isUpdated, !client.office.isUpdated { (client.forms, updates) = ([], updates + 1) }
      client.office = try await open(client.file, isUpdated: isUpdated)
    }
    note()
    try await trace(client)
  }

  static let isTraced = ProcessInfo.processInfo.environment["STRATA_SYNC_TRACE"] != nil

  /// Prints the state, to investigate a failure.
  private func trace(_ client: Client) async throws {
    guard Self.isTraced else { return }
    for request in server.requests {
      print("  \(request.method) \(request.url.path) \(request.body.map { String(decoding: $0, as: UTF8.self) } ?? "")")
    }
    server.forget()
    for todo in try await client.office.todos() {
      print("  here  \(todo.myId) \(todo.title) \(todo.desc ?? "-") \(todo.projectID ?? "-")")
    }
    for project in try await client.office.entities.fetchAll(Project.all()) {
      print("  here  \(project.myId) \(project.name)")
    }
    for change in try await client.office.remote.changes() {
      print(
        "  queue \(change.number) \(change.entity) \(change.record) \(change.kind) \(change.state) \(change.columns)")
    }
    server.state.withLock { state in
      for (id, record) in state.lists["todos"] ?? [] {
        print(
          "  there \(id) \(record.json["title"] ?? .null) \(record.json["description"] ?? .null) v\(record.version)")
      }
    }
  }

  private func setFault() {
    guard chance(35) else { return }
    let (kind, after) = (random.below(5), random.below(3))
    let count = Mutex(0)
    let shared = Shared(count)
    server.state.withLock { state in
      state.fault = { _ in
        guard shared.next() == after else { return nil }
        switch kind {
        case 0: return .lost
        case 1: return .answerLost
        case 2: return .status(503)
        case 3: return .body("[{\"id\": \"x\", ")
        default: return .body("")
        }
      }
    }
  }

  private final class Shared: Sendable {
    private let count: Mutex<Int>
    init(_ count: consuming sending Mutex<Int>) { self.count = count }
    func next() -> Int {
      count.withLock {
        $0 += 1
        return $0 - 1
      }
    }
  }

  /// Runs an operation that may fail only because of a fault.
  private func tolerant<T>(_ body: () async throws -> T) async throws {
    try await tolerantly { _ = try await body() }
  }

  private func edit(_ client: Client) async throws {
    let todos = try await client.office.todos()
    guard !todos.isEmpty else { return }
    var todo = todos[random.below(todos.count)]
    if !client.forms.isEmpty, chance(40) {
      todo = client.forms.remove(at: random.below(client.forms.count))
    } else if chance(20) {
      // Does not keep a form for a key that the server may assign to another record, because saving the form would then edit that record.
      let new = try await client.office.remote.changes().filter { $0.kind == .insert }.map(\.record)
      if !new.contains(todo.myId) || todo.myId.hasPrefix("l-") { client.forms.append(todo) }
      return
    }
    let projects = try await client.office.entities.fetchAll(Project.all())
    let before = todo.desc
    let field: String
    let new: ArchiveValue
    switch random.below(3) {
    case 0:
      let value = value()
      (todo.desc, field, new) = (value, "description", .string(value))
    case 1:
      todo.desc = nil
      (field, new) = ("description", .null)
    default:
      guard !projects.isEmpty else { return }
      let project = projects[random.below(projects.count)]
      todo.projectID = project.myId
      (field, new) = ("project_id", .string(project.myId))
      self.projects[todo.title, default: []].insert(project.name)
    }
    // A stale form throws if both sides have changed the value, or if the record was deleted.
    do { try await client.office.save(todo) } catch let error as EntityError where error.code == .conflict {
      return
    }
    // If the form still has the value that was fetched, saving it changes nothing.
    if field == "description", todo.desc != before { client.edits[todo.title, default: [:]][field] = new }
  }

  private func insert(_ client: Client) async throws {
    let title = value()
    let known = try await client.office.entities.fetchAll(Project.all())
    if chance(40) {
      let key = try await key(client, title, Set(known.map(\.myId)))
      try await client.office.entities.save(Project(myId: key, name: title))
      client.inserted.insert(title)
      return
    }
    let project = known.isEmpty || chance(30) ? nil : known[random.below(known.count)]
    let key = try await key(client, title, Set(client.office.todos().map(\.myId)))
    try await client.office.save(Todo(myId: key, title: title, projectID: project?.myId))
    client.inserted.insert(title)
    if let project { projects[title, default: []].insert(project.name) }
  }

  /// Returns a key that no row has: either one that only this app uses, or one that the server may assign to another record.
  private func key(_ client: Client, _ title: String, _ known: Set<String>) async throws -> String {
    let key = "s\(random.below(20) + 1)"
    let waiting = try await client.office.remote.changes().map(\.record)
    // If a record once had this key, the key still refers to that record and must not be used.
    let remote = client.office.remote
    let current = try await client.office.currentTodoKey(of: key)
    guard current == key.databaseValue, try await remote.currentKey(of: key, Project.self) == key.databaseValue else {
      return "l-\(title)"
    }
    return traits.choosesIDs && chance(50) && !known.contains(key) && !waiting.contains(key) ? key : "l-\(title)"
  }

  private func delete(_ client: Client) async throws {
    let todos = try await client.office.todos()
    guard !todos.isEmpty, chance(60) else { return }
    let todo = todos[random.below(todos.count)]
    try await client.office.writer.write { db in _ = try Todo.filter(Column("myId") == todo.myId).deleteAll(db) }
    client.givenUp[todo.title, default: []].insert("*")
    for other in clients { other.givenUp[todo.title, default: []].insert("deleted") }
  }

  /// Moves some todos out of a project, then deletes the project and its other todos.
  private func deleteProject(_ client: Client) async throws {
    let known = try await client.office.entities.fetchAll(Project.all())
    guard !known.isEmpty, chance(40) else { return }
    let project = known[random.below(known.count)]
    if chance(30) {
      try await client.office.entities.save(Project(myId: project.myId, name: project.name), overwriting: true)
    }
    let todos = try await client.office.todos().filter { $0.projectID == project.myId }
    for todo in todos {
      if chance(50) {
        try await client.office.edit(todo.myId) { $0.projectID = nil }
      } else {
        for other in clients { other.givenUp[todo.title, default: []].insert("deleted") }
      }
    }
    for other in clients { other.givenUp[project.name, default: []].insert("deleted") }
    try await client.office.writer.write { db in _ = try Project.filter(Column("myId") == project.myId).deleteAll(db) }
  }

  /// Sends changes while the server refuses some of them, and then retries or discards the refused ones.
  private func sendRefused(_ client: Client) async throws {
    let kind = ["POST", "PATCH", "DELETE"][random.below(3)]
    let status = [403, 409, 422][random.below(3)]
    server.state.withLock { $0.refuses = { $0.method == kind ? status : nil } }
    defer { server.state.withLock { $0.refuses = nil } }
    let remote = client.office.remote
    try await tolerant { try await remote.send() }
    for change in try await remote.changes() where change.state == .refused {
      if chance(60) {
        try await remote.retry(change)
      } else if chance(50) {
        try await takeBack(change, client)
      }
    }
  }

  private func takeBack(_ change: RemoteChange, _ client: Client) async throws {
    if change.entity == "Todo", let title = try await client.office.todo(change.record)?.title {
      client.givenUp[title, default: []].insert("discarded")
    } else if change.kind == .insert,
      let project = try await client.office.entities.fetchOne(Project.filter(Column("myId") == change.record))
    {
      client.givenUp[project.name, default: []].insert("discarded")
    }
    do { try await client.office.remote.discard(change) } catch let error as RemoteError where error.code == .store {
      // The discard fails if other rows still refer to the record.
    }
  }

  /// Sends and refreshes at the same time.
  private func overlapping(_ client: Client) async throws {
    let remote = client.office.remote
    async let sent: Void = tolerantly { _ = try await remote.send() }
    let office = client.office
    async let todos: Void = tolerantly { _ = try await office.refreshTodos() }
    async let projects: Void = tolerantly { _ = try await remote.refresh(Project.self) }
    _ = try await (sent, todos, projects)
  }

  /// Two processes that share one file send at the same time.
  private func twice(_ client: Client) async throws {
    let (first, second) = (client.office.remote, try await open(client.file, isUpdated: client.office.isUpdated).remote)
    async let one: Void = tolerantly { _ = try await first.send() }
    async let other: Void = tolerantly { _ = try await second.send() }
    _ = try await (one, other)
  }

  /// Ends the process of a client while it sends, refreshes or does both. The next process finds the file as it was at that moment.
  private func killed(_ client: Client) async throws {
    kills += 1
    let office = client.office
    let death = SyncDeath(
      of: client.file, after: random.below(10),
      to: client.file.deletingPathExtension().appendingPathExtension("\(kills).sqlite"))
    office.writer.add(transactionObserver: death, extent: .databaseLifetime)
    let arrives = chance(50)
    server.state.withLock { state in
      state.fault = { [fault = state.fault] request in
        guard !death.isDead else { return .lost }
        // Counts the request on the database's queue, so that no other task is inside a transaction.
        office.writer.inDatabase { _ in death.pass() }
        if death.isDead { return arrives ? .answerLost : .lost }
        return fault?(request)
      }
    }
    let work = random.below(3)
    async let sent: Void = tolerantly { if work != 1 { _ = try await office.remote.send() } }
    async let refreshed: Void = tolerantly {
      guard work != 0 else { return }
      _ = try await office.remote.refresh(Project.self)
      try await office.refreshTodos()
    }
    _ = try await (sent, refreshed)
    try death.end(office.writer)
    client.forms = []
    client.file = death.copy
    try await reopen(client)
  }

  private func editServer() async throws {
    let ids = server.state.withLock { $0.lists["todos"]?.map(\.id) ?? [] }
    guard !ids.isEmpty else {
      return server.state.withLock { state in
        state.version += 1
        state.lists["todos"]?.append(
          (
            "z\(state.version)",
            .init(
              json: ["id": .string("z\(state.version)"), "title": .string("server\(state.version)")],
              version: state.version)
          ))
      }
    }
    let id = ids[random.below(ids.count)]
    if chance(20) {
      let title = server.json("todos", id)?["title"]?.stringValue ?? ""
      server.delete("todos", id)
      for other in clients { other.givenUp[title, default: []].insert("deleted") }
      return
    }
    server.edit("todos", id, #"{"description": "\#(value())"}"#)
  }

  private func interrupted(_ client: Client) async throws {
    let pause = random.below(2000)
    let remote = client.office.remote
    let task = Task { [office = client.office] in
      try await remote.send()
      try await office.refreshTodos()
    }
    try await Task.sleep(for: .microseconds(pause))
    task.cancel()
    try await tolerant { try await task.value }
    try await reopen(client)
  }

  private func note() {
    let records = server.state.withLock { ($0.lists["todos"] ?? []).map(\.record.json) }
    history.withLock { history in
      for record in records {
        let title = record["title"]?.stringValue ?? ""
        history["\(title)/description", default: []].insert(record["description"] ?? .null)
        history["title", default: []].insert(.string(title))
      }
      for record in server.state.withLock({ ($0.lists["projects"] ?? []).map(\.record.json) }) {
        history["title", default: []].insert(record["name"] ?? .null)
      }
      for request in server.requests {
        guard let body = request.body, let json = try? JSONReader().read(body) else { continue }
        if let description = json["description"] { history["sent", default: []].insert(description) }
      }
    }
  }

  // MARK: The end

  /// Confirms, retries or discards an uncertain insertion, like a user who looks for the record's title on the server.
  private func decide(_ change: RemoteChange, _ client: Client) async throws {
    let isProject = change.entity == "Project"
    let key = isProject ? "name" : "title"
    let (list, table) = (isProject ? "projects" : "todos", isProject ? "project" : "todo")
    let title = try await client.office.writer.read { db in
      try String.fetchOne(db, sql: "SELECT \(key) FROM \(table) WHERE myId = ?", arguments: [change.record])
    }
    // If the record was deleted locally, its title is unknown. The server may still have the record.
    guard let title else { return try await client.office.remote.discard(change) }
    let id = server.state.withLock { state in
      state.lists[list]?.first { $0.record.json[key]?.stringValue == title }?.id
    }
    if let id { return try await client.office.remote.confirm(change, id: id) }
    try await client.office.remote.retry(change)
  }

  private func settle() async throws {
    server.state.withLock { $0.fault = nil }
    for round in 0..<12 {
      for client in clients {
        try await reopen(client)
        let remote = client.office.remote
        for change in try await remote.changes() where change.state != .refused || round == 0 {
          if change.state == .uncertain { try await decide(change, client) } else { try await remote.retry(change) }
        }
        try await remote.refresh(Project.self)
        try await client.office.refreshTodos()
        for conflict in try await remote.conflicts() {
          let takesServer = chance(50)
          if takesServer {
            let record = conflict.record
            let title = try await client.office.todo(record)?.title ?? ""
            client.givenUp[title, default: []].insert("description")
          }
          do { try await remote.resolve(conflict, takesServer ? .server : .local) } catch let error as RemoteError
            where error.code == .store && takesServer && conflict.key == "projectID"
          {
            // The project was deleted locally.
            try await remote.resolve(conflict, .local)
          }
        }
        try await remote.send()
        note()
        try await trace(client)
      }
      var isSettled = true
      for client in clients {
        try await client.office.remote.refresh(Project.self)
        try await client.office.refreshTodos()
        let left = try await client.office.remote.changes()
        if left.contains(where: { $0.state != .refused }) { isSettled = false }
        if try await !client.office.remote.conflicts().isEmpty { isSettled = false }
      }
      if isSettled { return }
      // A cancelled send may still be waiting for the database, which it needs to end its lease.
      try await Task.sleep(for: .milliseconds(20 * round))
    }
    var left: [String] = []
    for client in clients { left += try await client.office.remote.changes().map { "\($0)" } }
    throw Failure(description: "seed \(seed): it does not settle: \(left)")
  }

  private func check() async throws {
    for (number, client) in clients.enumerated() {
      let changes = try await client.office.remote.changes()
      let refused = Dictionary(grouping: changes, by: \.entity).mapValues { Set($0.map(\.record)) }
      let todos = try await client.office.todos()
      // Each record is the same as on the server, unless the server refused its changes.
      for todo in todos where !(refused["Todo"]?.contains(todo.myId) ?? false) {
        guard let json = server.json("todos", todo.myId) else {
          throw Failure(
            description: "seed \(seed), client \(number): \(todo) is not at the server, and nothing says why")
        }
        guard json["title"]?.stringValue == todo.title, json["description"]?.stringValue == todo.desc else {
          throw Failure(description: "seed \(seed), client \(number): \(todo) is not \(json)")
        }
        // The record is in a project that a client assigned, even if the key of the project has changed since.
        var project = json["project_id"]?.stringValue
        // A deleted project is no longer referenced, unless a refused change keeps its local row.
        if let known = project, server.json("projects", known) == nil,
          changes.isEmpty || todo.projectID != known
        {
          project = nil
        }
        // The server allows a todo to refer to a deleted project.
        let name = project.flatMap { server.json("projects", $0)?["name"]?.stringValue }
        guard project == todo.projectID, name.map({ projects[todo.title]?.contains($0) ?? false }) ?? true else {
          throw Failure(description: "seed \(seed), client \(number): \(todo) is in \(name ?? "none") at the server")
        }
      }
      let here = Set(todos.map(\.myId))
      for id in server.state.withLock({ $0.lists["todos"]?.map(\.id) ?? [] })
      where !here.contains(id) && !(refused["Todo"]?.contains(id) ?? false) {
        throw Failure(description: "seed \(seed), client \(number): the server's \(id) is not here")
      }
      // Each record that was created locally reached the server exactly once, unless it was deleted or discarded.
      for title in client.inserted {
        let known = history.withLock { $0["title"]?.contains(.string(title)) ?? false }
        let isGivenUp = client.givenUp[title] != nil
        guard known || isGivenUp else {
          throw Failure(description: "seed \(seed), client \(number): \(title) never arrived")
        }
        let count = server.state.withLock { state in
          (state.lists["todos"] ?? []).count { $0.record.json["title"]?.stringValue == title }
            + (state.lists["projects"] ?? []).count { $0.record.json["name"]?.stringValue == title }
        }
        guard count <= 1 else {
          throw Failure(description: "seed \(seed), client \(number): \(title) arrived \(count) times")
        }
      }
      // The last value of each edited field reached the server, is in a refused change, or was discarded on purpose.
      for (title, fields) in client.edits {
        for (field, value) in fields {
          if client.givenUp[title] != nil { continue }
          if let todo = todos.first(where: { $0.title == title }), refused["Todo"]?.contains(todo.myId) ?? false {
            continue
          }
          let arrived = history.withLock {
            ($0["\(title)/\(field)"]?.contains(value) ?? false) || ($0["sent"]?.contains(value) ?? false)
          }
          guard arrived else {
            throw Failure(description: "seed \(seed), client \(number): \(field) of \(title) never arrived")
          }
        }
      }
    }
  }
}

/// Runs an operation that may fail only because of a fault.
private func tolerantly(_ body: () async throws -> Void) async throws {
  do { try await body() } catch let error as RemoteError {
    let expected: Set<RemoteError.Code> = [.notConnected, .cutOff, .timedOut, .unavailable, .invalidBody]
    guard expected.contains(error.code) else { throw SyncSimulation.Failure(description: "\(error)") }
  } catch is CancellationError {}
}
