import Foundation
import StrataCore
import Testing

private enum Pay: String, CaseIterable, EnumModel, Equatable {
  case cash, card, wire
  static let schema = ModelSchema(
    Pay.self, name: "TagPay", version: 1, cases: [.init("cash"), .init("card"), .init("wire")])
  func encodeCase(to writer: inout ArchiveWriter) throws {
    try writer.beginCase(Self.schema, rawValue, count: 0)
    writer.endCase()
  }
  static func make(case name: String, payload: CasePayload) throws -> Pay? { Pay(rawValue: name) }
}

/// The tagging that a test assigns to an enum.
private protocol Names: Sendable { static var tagging: JSONTagging { get } }

private struct Paid<N: Names>: EnumModel, JSONTagged, Equatable {
  var pay: Pay
  static var schema: ModelSchema {
    ModelSchema(
      Paid<N>.self, name: "TagPaid\(N.self)", version: 1, cases: [.init("cash"), .init("card"), .init("wire")])
  }
  static var jsonTagging: JSONTagging { N.tagging }
  func encodeCase(to writer: inout ArchiveWriter) throws {
    try writer.beginCase(Self.schema, pay.rawValue, count: 0)
    writer.endCase()
  }
  static func make(case name: String, payload: CasePayload) throws -> Paid? {
    Pay(rawValue: name).map { Paid(pay: $0) }
  }
}

private enum Taken: Names { static var tagging: JSONTagging { .internal("type", names: ["cash": "card"]) } }
private enum Shared: Names {
  static var tagging: JSONTagging { .external(names: ["money": "card", "money": "cash"]) }
}
private enum Adjacent: Names {
  static var tagging: JSONTagging { .adjacent("type", "value", names: ["a": "card", "wire": "cash"]) }
}
private enum OneKey: Names { static var tagging: JSONTagging { .adjacent("type", "type") } }
private enum Swapped: Names {
  static var tagging: JSONTagging { .internal("type", names: ["cash": "card", "card": "cash", "w": "wire"]) }
}
private enum Several: Names {
  static var tagging: JSONTagging { .external(names: ["c": "card", "c": "card", "card": "card", "k": "card"]) }
}

@Suite("JSON: enum tags")
struct JSONEnumTagTests {
  private func tags<N: Names>(_ names: N.Type) throws -> ArchiveError? {
    do {
      let adapter = try JSONAdapter<[Paid<N>]>()
      let all = Pay.allCases.map { Paid<N>(pay: $0) }
      #expect(try adapter.decode(adapter.encode(all)) == all)
      return nil
    } catch let error as ArchiveError { return error }
  }

  @Test("A tag shared by two cases, or equal to another case's written tag, throws invalidMapping")
  func ambiguous() throws {
    for error in [try tags(Taken.self), try tags(Shared.self), try tags(Adjacent.self)] {
      #expect(error?.code == .invalidMapping)
    }
    #expect(throws: ArchiveError.self) { try Paid<Taken>(fromJSON: Data(#"{"type": "cash"}"#.utf8)) }
  }

  @Test("Using one key for both tag and content throws invalidMapping")
  func oneKey() throws {
    #expect(try tags(OneKey.self)?.code == .invalidMapping)
  }

  @Test("Cases can swap their tags, and a case can have several")
  func unambiguous() throws {
    #expect(try tags(Swapped.self) == nil && tags(Several.self) == nil)
  }
}
