import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import StrataTestSupport
import Testing

/// These tests also run under the thread sanitizer.
@Suite("Concurrency of remote stores", .timeLimit(.minutes(20)))
struct RemoteStoreConcurrencyTests {
  @Test(
    "Tasks can refresh, edit, send, cancel, listen and change the account at once", arguments: [false, true])
  func everythingAtOnce(_ isPool: Bool) async throws {
    let scratch = try Scratch()
    let writer: any DatabaseWriter =
      isPool ? try DatabasePool(path: scratch.path("remote.sqlite")) : try DatabaseQueue()
    let todos = (0..<50).map { #"{"id": "\#($0)", "title": "t\#($0)"}"# }.joined(separator: ", ")
    let office = try await Office(ModelServer(["todos": "[\(todos)]", "projects": "[]"]), writer: writer)
    let remote = office.remote
    try await remote.refresh(Todo.self)
    let listener = Task {
      var count = 0
      for await _ in remote.events() { count += 1 }
      return count
    }
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<60 {
        group.addTask {
          let task = Task {
            switch number % 6 {
            case 0: try await remote.refresh(Todo.self, .all.with(.reload))
            case 1: try await office.edit("\(number % 50)") { $0.title += "!" }
            case 2: try await remote.send()
            case 3: for try await _ in remote.fetch(Todo.all()) {}
            case 4:
              _ = try await remote.changes()
              _ = try await remote.conflicts()
            default:
              try await remote.use(account: number % 12 == 5 ? "ann" : "")
              _ = remote.account
            }
          }
          if number % 7 == 0 { task.cancel() }
          // The account changes and tasks are cancelled in the meantime. The test only looks for data races.
          _ = try? await task.value
        }
      }
    }
    for account in ["", "ann"] {
      try await remote.use(account: account)
      try await remote.send()
    }
    #expect(try await remote.changes().isEmpty)
    try await remote.refresh(Todo.self)
    for todo in try await office.todos() {
      #expect(office.server.json("todos", todo.myId)?["title"]?.stringValue == todo.title)
    }
    listener.cancel()
    #expect(await listener.value > 0)
  }
}
