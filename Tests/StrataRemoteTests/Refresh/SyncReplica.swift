import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore

/// The app of a simulated client: its first version, or an update that renamed one column and added another.
struct SyncReplica {
  let isUpdated: Bool
  let writer: DatabaseQueue
  let entities: EntityStore
  let remote: RemoteStore

  /// Opens a database file. The first time the updated app opens it, its table is migrated.
  init(_ server: ModelServer, file: URL, isUpdated: Bool, traits: SyncSimulation.Traits) async throws {
    var settings = GRDB.Configuration()
    settings.busyMode = .timeout(5)
    // The simulation has no power failures, and syncing thousands of commits to disk would take most of its time.
    settings.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = OFF") }
    self.isUpdated = isUpdated
    writer = try DatabaseQueue(path: file.path, configuration: settings)
    try await writer.write { db in
      if try !db.tableExists("todo") { try Office.makeTables(db) }
      if isUpdated, try db.columns(in: "todo").contains(where: { $0.name == "desc" }) {
        try db.execute(sql: "ALTER TABLE todo RENAME COLUMN \"desc\" TO details; ALTER TABLE todo ADD COLUMN note TEXT")
      }
    }
    entities =
      isUpdated
      ? try EntityStore(writer, Project.self, UpdatedTodo.self) : try EntityStore(writer, Project.self, Todo.self)
    var configuration = RemoteConfiguration(baseURL: server.base, transport: server)
    configuration.mappers = traits.mappers(isUpdated: isUpdated)
    configuration.retry = .none
    configuration.requestsAtOnce = traits.requestsAtOnce
    remote = try await RemoteStore(entities, configuration)
  }

  func todos() async throws -> [Todo] {
    guard isUpdated else { return try await entities.fetchAll(Todo.order(Column("myId"))) }
    return try await entities.fetchAll(UpdatedTodo.order(Column("myId"))).map(\.todo)
  }

  func todo(_ id: String) async throws -> Todo? { try await todos().first { $0.myId == id } }

  func save(_ todo: Todo) async throws {
    if isUpdated { try await entities.save(UpdatedTodo(todo)) } else { try await entities.save(todo) }
  }

  func edit(_ id: String, _ change: (inout Todo) -> Void) async throws {
    guard var todo = try await todo(id) else { return }
    change(&todo)
    try await save(todo)
  }

  func refreshTodos() async throws {
    if isUpdated {
      try await remote.refresh(UpdatedTodo.self)
    } else {
      try await remote.refresh(Todo.self)
    }
  }

  func currentTodoKey(of key: String) async throws -> DatabaseValue? {
    if isUpdated { return try await remote.currentKey(of: key, UpdatedTodo.self) }
    return try await remote.currentKey(of: key, Todo.self)
  }
}

/// ``Todo`` after the update.
struct UpdatedTodo: DescribedModel, Entity, Equatable {
  var myId: String
  var title: String
  var details: String?
  var done = false
  var projectID: String?
  var note: String?
  var fetched = RowBase()

  static let fields = Fields(
    UpdatedTodo.self, name: "Todo", version: 2, Field("myId", \.myId), Field("title", \.title),
    Field("details", \.details, formerly: ["desc"]), Field("done", \.done, default: false),
    Field("projectID", \.projectID), Field("note", \.note), Field("fetched", \.fetched, default: RowBase()),
    make: {
      UpdatedTodo(myId: $0, title: $1, details: $2, done: $3, projectID: $4, note: $5, fetched: $6)
    })
  static let entityMapping = EntityMapping(table: "todo")

  var todo: Todo {
    Todo(myId: myId, title: title, desc: details, done: done, projectID: projectID, fetched: fetched)
  }
}

extension UpdatedTodo {
  init(_ todo: Todo) {
    self.init(
      myId: todo.myId, title: todo.title, details: todo.desc, done: todo.done, projectID: todo.projectID,
      fetched: todo.fetched)
  }
}

/// Simulates the end of a process at one of its commits or requests. The next process opens a copy of the file from that moment.
final class SyncDeath: TransactionObserver, Sendable {
  let copy: URL
  private let file: URL
  private let left: Mutex<Int>
  private let failure = Mutex<(any Error)?>(nil)

  /// - Parameter steps: the number of commits and requests before the end.
  init(of file: URL, after steps: Int, to copy: URL) {
    self.file = file
    self.copy = copy
    left = Mutex(steps)
  }

  var isDead: Bool { left.withLock { $0 < 0 } }

  /// Counts a commit or a request, and copies the file if it is the last one. Nothing else may write to the database meanwhile.
  func pass() {
    let isEnd = left.withLock { left in
      left -= 1
      return left == -1
    }
    guard isEnd else { return }
    do { try FileManager.default.copyItem(at: file, to: copy) } catch { failure.withLock { $0 = error } }
  }

  /// Ends the simulated process if it has not ended yet.
  func end(_ writer: DatabaseQueue) throws {
    writer.inDatabase { _ in
      left.withLock { $0 = min($0, 0) }
      pass()
    }
    if let error = failure.withLock({ $0 }) { throw error }
  }

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseDidCommit(_ db: Database) { pass() }
  func databaseDidRollback(_ db: Database) {}
}
