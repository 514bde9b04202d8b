import Foundation
import GRDB
import StrataCore
import StrataStore
import Testing

@testable import StrataRemote

/// Tests lists that are written in several transactions, and lists that are not.
@Suite("Long lists", .timeLimit(.minutes(20)))
struct LongListTests {
  struct Item: DescribedModel, Entity, Equatable {
    var id: String
    var name: String
    var size: Int?

    static let fields = Fields(
      Item.self, version: 1, Field("id", \.id), Field("name", \.name), Field("size", \.size),
      make: { Item(id: $0, name: $1, size: $2) })
    static let entityMapping = EntityMapping(table: "item")
  }

  private static let count = 11_003

  private static func name(_ number: Int) -> String { "name \(number)" }

  private static func list(_ numbers: some Sequence<Int>, size: (Int) -> Int = { $0 }, _ name: (Int) -> String?) -> Data
  {
    let records = numbers.map { number in
      #"{"id": "\#(number)", "name": \#(name(number).map { "\"\($0)\"" } ?? "null"), "size": \#(size(number))}"#
    }
    return Data("[\(records.joined(separator: ", "))]".utf8)
  }

  /// - Parameter unique: whether sizes are unique, so that rows depend on each other.
  private static func desk(unique: Bool) async throws -> (RemoteStore, DatabaseQueue) {
    let writer = try DatabaseQueue()
    try await writer.write { db in
      try db.execute(
        sql: "CREATE TABLE item (id TEXT PRIMARY KEY, name TEXT NOT NULL, size INTEGER\(unique ? " UNIQUE" : ""))")
    }
    var configuration = RemoteConfiguration(baseURL: ModelServer().base, transport: ModelServer())
    configuration.mappers = [EntityMapper(Item.self, missing: .delete)]
    return (try await RemoteStore(EntityStore(writer, Item.self), configuration), writer)
  }

  @Test(
    "A list merged in several parts gives the same result as one merge and keeps unsent edits",
    arguments: [false, true])
  func parts(unique: Bool) async throws {
    let (remote, writer) = try await Self.desk(unique: unique)
    let first = try await remote.apply(Self.list(1...Self.count, Self.name), to: Item.self)
    #expect(first.inserted == Self.count && first.ids == (1...Self.count).map(String.init))
    try await writer.write { db in
      try db.execute(sql: "UPDATE item SET size = -1 WHERE id = '7000'; DELETE FROM item WHERE id = '6000'")
      try db.execute(sql: "INSERT INTO item VALUES ('new', 'mine', 0)")
    }
    let second = try await remote.apply(
      Self.list(1...Self.count) { $0 % 2 == 0 ? "other \($0)" : Self.name($0) }, to: Item.self)
    #expect((second.updated, second.passedOver, second.inserted) == (Self.count / 2 - 1, 1, 0))
    let rows = try await writer.read { db in
      try Row.fetchAll(db, sql: "SELECT id, name, size FROM item").reduce(into: [:]) { rows, row in
        rows[row["id"] as String] = "\(row["name"] as String) \(row["size"] as Int)"
      }
    }
    var expected: [String: String] = ["new": "mine 0"]
    for number in 1...Self.count where number != 6000 {
      let name = number % 2 == 0 ? "other \(number)" : Self.name(number)
      expected["\(number)"] = "\(name) \(number == 7000 ? -1 : number)"
    }
    #expect(rows == expected)
  }

  @Test("A record that cannot be written in the last part rolls back the first", arguments: [false, true])
  func failure(unique: Bool) async throws {
    let (remote, writer) = try await Self.desk(unique: unique)
    try await remote.apply(Self.list(1...10, Self.name), to: Item.self)
    let error = await #expect(throws: RemoteError.self) {
      try await remote.apply(
        Self.list(1...Self.count) { $0 == Self.count - 1 ? nil : "other" + Self.name($0) }, to: Item.self)
    }
    #expect(
      error?.code == .invalidBody && error?.description.contains("[\(Self.count - 2)]") ?? false,
      "\(error?.description ?? "")")
    try await writer.write { db in
      try db.execute(
        sql:
          "CREATE TRIGGER no BEFORE INSERT ON item WHEN NEW.id = '\(Self.count)' BEGIN SELECT RAISE(ABORT, 'no'); END")
    }
    let other = await #expect(throws: RemoteError.self) {
      try await remote.apply(Self.list(1...Self.count) { "other" + Self.name($0) }, to: Item.self)
    }
    #expect(other?.code == .store)
    let names = try await writer.read { db in try String.fetchAll(db, sql: "SELECT name FROM item ORDER BY size") }
    #expect(names == (1...10).map(Self.name))
  }

  @Test("Records of different parts can swap unique values")
  func exchange() async throws {
    let (remote, writer) = try await Self.desk(unique: true)
    try await remote.apply(Self.list(1...Self.count, Self.name), to: Item.self)
    let last = Self.count
    let swapped = try await remote.apply(
      Self.list(1...last, size: { $0 == 1 ? last : $0 == last ? 1 : $0 }, Self.name), to: Item.self)
    #expect(swapped.updated == 2)
    let size = try await writer.read { db in try Int.fetchOne(db, sql: "SELECT size FROM item WHERE id = '1'") }
    #expect(size == last)
  }

  @Test("If two parts contain the same record, the last one applies", arguments: [false, true])
  func duplicates(unique: Bool) async throws {
    let (remote, writer) = try await Self.desk(unique: unique)
    let refresh = try await remote.apply(
      Self.list(Array(1...Self.count) + [1], size: { $0 }, Self.name), to: Item.self)
    #expect(refresh.inserted == Self.count && refresh.ids.count == Self.count + 1)
    let last = #"{"id": "1", "name": "last", "size": 1}"#
    var text = String(decoding: Self.list(1...Self.count, Self.name), as: UTF8.self)
    text = text.dropLast() + ", \(last)]"
    try await remote.apply(Data(text.utf8), to: Item.self)
    let name = try await writer.read { db in try String.fetchOne(db, sql: "SELECT name FROM item WHERE id = '1'") }
    #expect(name == "last")
  }

  @Test("A record can refer to one that comes much later in the list")
  func forwardReference() async throws {
    let writer = try DatabaseQueue()
    try await writer.write { db in
      try db.execute(
        sql: "CREATE TABLE item (id TEXT PRIMARY KEY, name TEXT NOT NULL REFERENCES item(id), size INTEGER)")
    }
    var configuration = RemoteConfiguration(baseURL: ModelServer().base, transport: ModelServer())
    configuration.mappers = [EntityMapper(Item.self, missing: .delete)]
    let remote = try await RemoteStore(EntityStore(writer, Item.self), configuration)
    let refresh = try await remote.apply(Self.list(1...Self.count) { "\(Self.count + 1 - $0)" }, to: Item.self)
    #expect(refresh.inserted == Self.count)
  }
}
