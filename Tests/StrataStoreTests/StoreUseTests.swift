import Foundation
import GRDB
import StrataStore
import Testing

@Suite("Misuse of stores")
struct StoreUseTests {
  private static func expectInvalid(_ body: () throws -> Void) {
    let code = code(body)
    #expect(code == .invalid)
  }

  private static func code(_ body: () throws -> Void) -> StoreError.Code? {
    do { try body() } catch { return (error as? StoreError)?.code }
    return nil
  }

  @Test("Calls on a closed in-memory store throw")
  func closed() throws {
    let store = try SnapshotStore(inMemory: StoreOptions())
    try store.write { _ = try $0.save(1, as: "a") }
    try store.close()
    Self.expectInvalid { _ = try store.read { try $0.value(Int.self, for: "a") } }
    Self.expectInvalid { try store.write { _ = try $0.save(2, as: "a") } }
  }

  @Test("Asynchronous calls on a closed in-memory store throw")
  func closedAsync() async throws {
    let store = try SnapshotStore(inMemory: StoreOptions())
    try store.close()
    await #expect(throws: StoreError.self) { try await store.read { try $0.value(Int.self, for: "a") } }
    await #expect(throws: StoreError.self) { try await store.write { _ = try $0.save(2, as: "a") } }
  }

  @Test("A nested transaction on the same thread throws, and the outer one continues")
  func nested() throws {
    let store = try SnapshotStore(inMemory: StoreOptions())
    try store.write { transaction in
      _ = try transaction.save(1, as: "a")
      Self.expectInvalid { try store.write { _ = try $0.save(2, as: "b") } }
      Self.expectInvalid { _ = try store.read { try $0.value(Int.self, for: "a") } }
      _ = try transaction.save(3, as: "c")
    }
    try store.read { transaction in
      Self.expectInvalid { _ = try store.read { try $0.value(Int.self, for: "a") } }
      Self.expectInvalid { try store.write { _ = try $0.save(2, as: "b") } }
      let kept = try transaction.value(Int.self, for: "c")
      #expect(kept == 3)
    }
    let left = try store.read { try $0.value(Int.self, for: "b") }
    #expect(left == nil)
  }

  @Test("A nested transaction throws even if the outer one runs on another thread than its caller")
  func nestedAsync() async throws {
    let store = try SnapshotStore(inMemory: StoreOptions())
    try await store.write { transaction in
      Self.expectInvalid { try store.write { _ = try $0.save(2, as: "b") } }
      _ = try transaction.save(4, as: "d")
    }
    #expect(try await store.read { try $0.value(Int.self, for: "d") } == 4)
    #expect(try await store.read { try $0.value(Int.self, for: "b") } == nil)
  }

  @Test("In a store file, a read inside a save transaction sees the previous state")
  func files() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "strata-use-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }  // The system cleans up what this cannot remove.
    let store = try SnapshotStore(url: folder.appending(path: "store"))
    try store.write { transaction in
      _ = try transaction.save(1, as: "a")
      Self.expectInvalid { try store.write { _ = try $0.save(2, as: "b") } }
      let before = try store.read { try $0.value(Int.self, for: "a") }
      #expect(before == nil)
    }
    try store.read { _ in Self.expectInvalid { _ = try store.read { try $0.value(Int.self, for: "a") } } }
  }

  @Test("Opening a store at a URL that is not a file URL throws fileSystem")
  func urls() throws {
    let url = try #require(URL(string: "https://example.com/store"))
    let code = Self.code { _ = try SnapshotStore(url: url) }
    #expect(code == .fileSystem)
    #expect(!FileManager.default.fileExists(atPath: "/store"))
  }

  @Test("Using a transaction after its closure has returned throws", arguments: [false, true])
  func escaped(isInFile: Bool) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "strata-use-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }  // The system cleans up what this cannot remove.
    let store =
      try isInFile ? SnapshotStore(url: folder.appending(path: "store")) : SnapshotStore(inMemory: StoreOptions())
    var escaped: [StoreTransaction] = []
    try store.write { transaction in
      _ = try transaction.save(1, as: "a")
      escaped.append(transaction)
    }
    try store.read { escaped.append($0) }
    for transaction in escaped {
      let calls: [() throws -> Void] = [
        { _ = try transaction.save(2, as: "a") }, { _ = try transaction.saveArchive(Data(), as: "a") },
        { _ = try transaction.save(["a": 1], as: "a") }, { _ = try transaction.delete("a") },
        { _ = try transaction.restore("a", to: .latest) }, { _ = try transaction.undo("a") },
        { _ = try transaction.redo("a") }, { _ = try transaction.value(Int.self, for: "a") },
        { _ = try transaction.untypedValue(for: "a") }, { _ = try transaction.archive(of: "a") },
        { _ = try transaction.revision(of: "a") }, { _ = try transaction.history(of: "a") },
        { _ = try transaction.revisions(since: 0) }, { try transaction.setLabel("l", of: "a") },
        { try transaction.removeLabel("l", of: "a") }, { _ = try transaction.labels(of: "a") },
      ]
      for (number, call) in calls.enumerated() {
        let found = Self.code(call)
        #expect(found == .invalid, "call \(number)")
      }
    }
    let kept = try store.read { try $0.value(Int.self, for: "a") }
    #expect(kept == 1)
  }
}
