import Foundation
import StrataCore
import Testing

private struct Named: DescribedModel, Validating {
  var name: String
  static let fields = Fields(
    Named.self, name: "SkipNamed", version: 1, Field("name", \.name), make: { Named(name: $0) })
  static let validation = Validation<Named>(.check("name", \.name, .nonEmpty))
}

private struct Row: DescribedModel {
  var inner: Named
  var count: Int
  static let fields = Fields(
    Row.self, name: "SkipRow", version: 1, Field("inner", \.inner), Field("count", \.count),
    make: { Row(inner: $0, count: $1) })
}

private struct Table: DescribedModel {
  var rows: [Row]
  static let fields = Fields(
    Table.self, name: "SkipTable", version: 1, Field("rows", \.rows, json: .path("rows").skippingInvalid, default: []),
    make: { Table(rows: $0) })
}

@Suite("JSON: what is skipped says nothing about what follows")
struct JSONSkippingTests {
  /// Breaks a rule, and is then no element at all.
  private static let both = #"{"inner": {"name": ""}, "count": "x"}"#
  private static let good = #"{"inner": {"name": "ok"}, "count": 1}"#
  private static let broken = #"{"inner": {"name": ""}, "count": 2}"#
  private static let text = "[\(both), \(good), \(broken), \(good)]"

  @Test("An element that is skipped for two reasons does not take the next one with it")
  func elements() throws {
    let adapter = try JSONAdapter<Row>()
    #expect(try adapter.decodeArray(Data(Self.text.utf8), onInvalid: .skip).map(\.count) == [1, 1])
    var report = JSONArrayReport()
    #expect(try adapter.decodeArray(Data(Self.text.utf8), report: &report).count == 2)
    #expect(report.count == 4 && report.failures.map(\.code) == [.typeMismatch, .invalid])
    #expect(report.failures.map { $0.codingPath.first } == [.index(0), .index(2)])
    let error = #expect(throws: ArchiveError.self) {
      try adapter.decodeArray(Data(Self.text.utf8), errors: .collectAll)
    }
    #expect(error?.all.map(\.code) == [.typeMismatch, .invalid])
  }

  @Test("So it is in a field that skips; a broken rule of an element that is one stays an error")
  func field() throws {
    func rows(_ elements: String...) throws -> [Row] {
      try Table(fromJSON: Data("{\"rows\": [\(elements.joined(separator: ", "))]}".utf8)).rows
    }
    #expect(try rows(Self.both, Self.good, Self.both).map(\.count) == [1])
    let error = #expect(throws: ArchiveError.self) { try rows(Self.both, Self.broken) }
    #expect(error?.code == .invalid)
    #expect(error?.failures.map { $0.path } == [[.key("rows"), .index(0), .key("inner"), .key("name")]])
  }
}
