import Foundation
import Strata
import StrataTestSupport
import Testing

@Model(version: 1)
struct Scalars: Equatable {
  var int: Int, int8: Int8, int16: Int16, int32: Int32, int64: Int64, int128: Int128
  var uint: UInt, uint8: UInt8, uint16: UInt16, uint32: UInt32, uint64: UInt64, uint128: UInt128
  var bool: Bool
  var float: Float
  var double: Double
  var string: String
  var data: Data
  var date: Date
  var url: URL
  var uuid: UUID
  var decimal: Decimal
}

@Model(version: 1)
struct Composites: Equatable {
  var none: Int?
  var some: Int?
  var twice: String??
  var long: Optional<Double>
  var array: [Int]
  var nested: [[String?]]
  var set: Set<UUID>
  var byName: [String: Date]
  var byNumber: [Int: [String]]
  var state: State
  var priority: Priority?
  var payment: Payment
  var directions: Set<Direction>
  var expression: Expression
  var plain: Plain
  var plains: [Plain]?
  var forced: Int!
  var value: ArchiveValue
}

@Model(version: 1)
struct Tree: Equatable {
  var name: String
  var children: [Tree] = []
  var byName: [String: Tree] = [:]
}

@Suite struct PropertyTypeTests {
  @Test func scalars() throws {
    let high = Scalars(
      int: .max, int8: .max, int16: .max, int32: .max, int64: .max, int128: .max, uint: .max, uint8: .max,
      uint16: .max, uint32: .max, uint64: .max, uint128: .max, bool: true, float: .pi, double: .pi,
      string: "é\0🜁",
      data: Data([0, 255]), date: Date(timeIntervalSince1970: 1.25),
      url: try #require(URL(string: "https://a.b/c")),
      uuid: UUID(), decimal: try #require(Decimal(string: "1.10")))
    #expect(try archived(high) == high)
    let low = Scalars(
      int: .min, int8: .min, int16: .min, int32: .min, int64: .min, int128: .min, uint: 0, uint8: 0,
      uint16: 0,
      uint32: 0, uint64: 0, uint128: 0, bool: false, float: -0.0, double: -.infinity, string: "",
      data: Data(),
      date: .distantPast, url: try #require(URL(string: "file:///")), uuid: UUID(), decimal: -3)
    #expect(try archived(low) == low)
    #expect(try archived([high, low]) == [high, low])
  }

  @Test func composites() throws {
    let composites = Composites(
      some: 3, twice: "t", long: nil, array: [1, -1], nested: [[], ["a", nil]], set: [UUID(), UUID()],
      byName: ["now": Date(timeIntervalSince1970: 9)], byNumber: [-1: ["a"], 300: []], state: .closed,
      priority: .high, payment: .card(number: "4", expiry: nil), directions: [.up, .left],
      expression: .list([.sum(.number(1), .number(2)), .list([])]), plain: Plain(),
      plains: [Plain(text: "y")],
      forced: 4, value: .array([.null, .bool(true)]))
    #expect(try archived(composites) == composites)
  }

  @Test(arguments: [
    Payment.cash, .card(number: "1", expiry: Date(timeIntervalSince1970: 0)), .split(4, Plain()),
    .default(in: [.open, .closed]),
  ])
  func payloads(_ payment: Payment) throws { #expect(try archived(payment) == payment) }

  @Test("The schema of an enum lists the labels of its associated values in order")
  func labels() {
    func labels<M: VersionedModel>(_ type: M.Type) -> [[String]] { type.schema.cases.map(\.labels) }
    #expect(labels(Payment.self) == [[], ["number", "expiry"], ["_0", "_1"], ["in"]])
    #expect(labels(Expression.self) == [["_0"], ["_0", "_1"], ["_0"]])
    #expect(labels(Direction.self) == [[], [], []])
    #expect(Payment.schema.cases.allSatisfy { $0.labels.count == $0.payload.count })
  }

  enum Before {
    @Model(version: 1, name: "Way")
    enum Way: Equatable { case cash, card }
  }

  enum After {
    @Model(version: 1, name: "Way")
    enum Way: Equatable { case cash, cheque, card }
  }

  @Test("A-17: archives still open after a case is inserted before another one")
  func caseInBetween() throws {
    let data = try ArchiveEncoder().encode([Before.Way.card, .cash])
    #expect(try ArchiveDecoder().decode([After.Way].self, from: data) == [.card, .cash])
  }

  @Test func caseUnderFormerName() throws {
    let record = ModelRecord(
      typeName: "Direction", modelVersion: 2,
      object: ArchiveObject([ArchiveObject.Entry(key: "gauche", value: .object(ArchiveObject()))]))
    #expect(try ArchiveDecoder().decode(Direction.self, from: ArchiveEncoder().encode(record)) == .left)
    #expect(try archived(Direction.down) == .down)
  }

  @Test func recursion() throws {
    let tree = Tree(name: "a", children: [Tree(name: "b", byName: ["c": Tree(name: "c")])])
    #expect(try archived(tree) == tree)
  }
}
