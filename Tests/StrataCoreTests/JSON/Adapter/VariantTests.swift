import Foundation
import Strata
import StrataTestSupport
import Testing

private protocol Shape: Sendable { var area: Double { get } }

@Model(version: 1)
private struct Circle: Shape, Equatable {
  var radius = 1.0
  var area: Double { radius * radius * 3 }
}

@Model(version: 1)
private struct Square: Shape, Equatable {
  @Field(json: "meta.side") var side = 1.0
  @Field(json: "meta.kind") var kind = "square"
  var area: Double { side * side }
}

@Model(version: 1)
private struct Blob: Shape, Equatable {
  var area = 0.0
}

@Model(version: 1)
private struct Stray: Shape { var area = 0.0 }

private class IceCream { var flavor: String { "plain" } }

@Model(version: 1, superclass: .excluded)
private final class Chocolate: IceCream {
  @Field(json: .path("chocolate_bitterness", .digits)) var bitterness: Int
  override var flavor: String { "chocolate" }
  init(bitterness: Int) { self.bitterness = bitterness }
}

@Model(version: 1)
private enum Charge: Equatable {
  case cash
  case card(number: String, expiry: Date?)
  case wire(Account)
  case split(Int, Int)
}

@Model(version: 1)
private struct Account: Equatable {
  @Field(json: "account.iban") var iban: String
}

extension Charge: JSONTagged {
  static var jsonTagging: JSONTagging { .internal("type", names: ["credit_card": "card", "creditCard": "card"]) }
}

@Model(version: 1)
private enum Event: Equatable, UnknownCaseRepresentable {
  case opened(by: String)
  case moved(Account)
  case number(Int)
  case other
  static var unknownCase: Event { .other }
}

extension Event: JSONTagged {
  static var jsonTagging: JSONTagging { .adjacent("event", "payload") }
}

@Model(version: 1)
private enum Untouched: Equatable { case on(level: Int), off }

@Model(version: 1)
private struct Delivery: Equatable {
  var id: Int
  @Field(json: .entireObject) var event: Event
  var payments: [Charge] = []
}

@Suite("JSON variants")
struct VariantTests {
  private func shapes(_ unknown: JSONCluster<any Shape>.Unknown = .fail) throws -> JSONCluster<any Shape> {
    try JSONCluster(
      by: .key("type"), unknown: unknown, .model("circle", JSONAdapter<Circle>()) { $0 },
      .model("blob", JSONAdapter<Blob>()) { $0 })
  }

  @Test("J-20, J-21, U-20: a cluster reads variants by tag and writes them by type, also in mixed arrays")
  func cluster() throws {
    let document = try json(#"[{"type": "circle", "radius": 2.0}, {"type": "blob", "area": 5.5}]"#)
    let read = try shapes().decodeArray(document)
    #expect(read.map(\.area) == [12, 5.5] && read[0] is Circle)
    #expect(try JSONReader().read(shapes().encodeArray(read)) == document)
    #expect(try text(shapes().encodeValue(Circle())) == #"{"type":"circle","radius":1.0}"#)
  }

  @Test("J-20: missing or unknown tags, non-objects, unregistered types and empty clusters throw")
  func errors() throws {
    let shapes = try shapes()
    #expect(archiveError { try shapes.decode(json(#"{"radius": 1}"#)) }?.code == .missingValue)
    let error = archiveError { try shapes.decode(json(#"{"type": "secret"}"#)) }
    #expect(error?.code == .unknownCase && error?.jsonPath == [.key("type")])
    #expect(error?.description.contains("secret") == false && error?.description.contains("circle") == true)
    for document in ["null", "[]", "3"] {
      #expect(archiveError { try shapes.decode(json(document)) }?.code == .typeMismatch)
    }
    #expect(archiveError { try shapes.encode(Stray()) }?.code == .notEncodable)
    #expect(
      archiveError { try shapes.decodeArray(json(#"[{"type": "circle", "radius": "x"}]"#)) }?.codingPath == [
        .index(0), .key("radius"),
      ])
    #expect(archiveError { try JSONCluster<any Shape>(by: .key("type")) }?.code == .invalidMapping)
    let twice = archiveError {
      try JSONCluster<any Shape>(
        by: .key("type"), unknown: .fallback("x"), .model("a", JSONAdapter<Circle>()) { $0 },
        .model("a", JSONAdapter<Blob>()) { $0 })
    }
    #expect(twice?.all.count == 2)
  }

  @Test(
    "A cluster rejects duplicate keys, including the tag, and reports the line number",
    arguments: [
      #"{"type": "circle", "type": "blob", "radius": 2.0, "area": 5.5}"#,
      #"{"type": "circle", "radius": 2.0, "radius": 3.0}"#,
    ])
  func duplicates(document: String) throws {
    let one = archiveError { try shapes().decode(Data(document.utf8)) }
    #expect(one?.code == .invalidJSON && "\(one.map { "\($0)" } ?? "")".contains("line 1"))
    #expect(archiveError { try shapes().decodeArray(Data("[\(document)]".utf8)) }?.code == .invalidJSON)
  }

  @Test("U-20, U-13: unknown tags throw, use a fallback variant, or are skipped")
  func unknownTags() throws {
    let document = try json(#"[{"type": "circle"}, {"type": "x", "area": 3.0}, {"type": "blob", "area": "x"}]"#)
    #expect(archiveError { try shapes().decodeArray(document) }?.codingPath == [.index(1)])
    #expect(try shapes(.fallback("blob")).decode(#require(document.arrayValue?[1])).area == 3)
    #expect(archiveError { try shapes(.skip).decodeArray(document) }?.codingPath == [.index(2), .key("area")])
    var failures: [ArchiveError] = []
    #expect(try shapes(.skip).decodeArray(document, onInvalid: { failures.append($0) }).count == 1)
    #expect(failures.map(\.code) == [.unknownCase, .typeMismatch])
  }

  @Test("U-20: only documents with an unknown tag are skipped; an unknown case inside a known variant throws")
  func unknownCaseInVariant() throws {
    let payments = try JSONCluster<Charge>(
      by: .key("kind"), unknown: .skip, .model("pay", JSONAdapter<Charge>()) { $0 })
    let document = try json(#"[{"kind": "new"}, {"kind": "pay", "type": "bitcoin"}, {"kind": "pay", "type": "cash"}]"#)
    let error = archiveError { try payments.decodeArray(document) }
    #expect(error?.code == .unknownCase && error?.codingPath == [.index(1)])
    var failures: [ArchiveError] = []
    #expect(try payments.decodeArray(document, onInvalid: { failures.append($0) }) == [.cash])
    #expect(failures.map(\.codingPath) == [[.index(0)], [.index(1)]])
    #expect(archiveError { try payments.decode(json(#"{"kind": "new"}"#)) }?.code == .unknownCase)
  }

  @Test("U-20: a nested cluster applies its own setting for unknown tags")
  func unknownTagInside() throws {
    let document = try json(
      #"[{"type": "round", "kind": "circle"}, {"type": "x"}, {"type": "round", "kind": "oval"}, {"type": "blob"}]"#)
    func cluster(
      _ outer: JSONCluster<any Shape>.Unknown, _ inner: JSONCluster<any Shape>.Unknown
    ) throws -> JSONCluster<any Shape> {
      let round = try JSONCluster<any Shape>(
        by: .key("kind"), unknown: inner, .model("circle", JSONAdapter<Circle>()) { $0 })
      return try JSONCluster(
        by: .key("type"), unknown: outer, .cluster("round", round), .model("blob", JSONAdapter<Blob>()) { $0 })
    }
    #expect(try cluster(.skip, .skip).decodeArray(document).count == 2)
    #expect(archiveError { try cluster(.skip, .fail).decodeArray(document) }?.codingPath == [.index(2)])
    #expect(archiveError { try cluster(.fail, .skip).decodeArray(document) }?.codingPath == [.index(1)])
    #expect(try cluster(.skip, .fallback("circle")).decodeArray(document).count == 3)
    // Each of three nested clusters applies its own setting.
    let wrapped = try json(#"[{"outer": "in", "type": "round", "kind": "oval"}, {"outer": "in", "type": "blob"}]"#)
    for unknown in [JSONCluster<any Shape>.Unknown.skip, .fail] {
      let inner = try cluster(unknown, .skip)
      let outer = try JSONCluster<any Shape>(by: .key("outer"), unknown: .skip, .cluster("in", inner))
      switch unknown {
      case .skip: #expect(try outer.decodeArray(wrapped).count == 1)
      default: #expect(archiveError { try outer.decodeArray(wrapped) }?.code == .unknownCase)
      }
    }
  }

  @Test("Nested clusters decode their own output for every combination of tag locations")
  func nested() throws {
    for place in [Discriminator.key("kind"), .sibling("kind", content: "value"), .sibling("kind", content: "payload")] {
      let inner = try JSONCluster<any Shape>(by: place, .model("circle", JSONAdapter<Circle>()) { $0 })
      for outer in [Discriminator.key("type"), .key("meta.type"), .sibling("type", content: "payload")] {
        let cluster = try JSONCluster<any Shape>(
          by: outer, .cluster("round", inner), .model("blob", JSONAdapter<Blob>()) { $0 })
        let document = try cluster.encode(Circle(radius: 2))
        #expect(try cluster.decode(document).area == 12, "\(String(decoding: document, as: UTF8.self))")
      }
    }
  }

  @Test("U-20: a tag can be nested, held by a model field, next to the payload, or computed")
  func discriminators() throws {
    let deep = try JSONCluster<any Shape>(
      by: .key("meta.kind"), .model("square", JSONAdapter<Square>()) { $0 },
      .model("circle", JSONAdapter<Circle>()) { $0 })
    let square = try json(#"{"meta": {"side": 2.0, "kind": "square"}}"#)
    #expect(try deep.decode(square) as? Square == Square(side: 2))
    #expect(try deep.encodeValue(Square(side: 2)) == square)
    #expect(try text(deep.encodeValue(Circle())) == #"{"meta":{"kind":"circle"},"radius":1.0}"#)
    #expect(archiveError { try deep.encodeValue(Square(kind: "circle")) }?.code == .notEncodable)

    let sibling = try JSONCluster<any Shape>(
      by: .sibling("type", content: "payload"), .model("circle", JSONAdapter<Circle>()) { $0 })
    let wrapped = try json(#"{"type": "circle", "payload": {"radius": 3.0}}"#)
    #expect(try sibling.decode(wrapped).area == 27)
    #expect(try sibling.encodeValue(Circle(radius: 3)) == wrapped)
    #expect(archiveError { try sibling.decode(json(#"{"type": "circle"}"#)) }?.code == .missingValue)

    let custom = try JSONCluster<any Shape>(
      by: .custom { $0["radius"] == nil ? "b" : "c" }, .model("c", JSONAdapter<Circle>()) { $0 },
      .model("b", JSONAdapter<Blob>()) { $0 })
    #expect(try custom.decode(json(#"{"area": 1.0}"#)) is Blob)
    #expect(try text(custom.encodeValue(Circle())) == #"{"radius":1.0}"#)
  }

  @Test("J-21, J-34: a cluster decodes subclasses that their superclass does not list")
  func classes() throws {
    let creams = try JSONCluster<IceCream>(
      by: .key("flavor"), .model("chocolate", JSONAdapter<Chocolate>()) { $0 })
    let document = try json(#"{"flavor": "chocolate", "chocolate_bitterness": "100"}"#)
    let cream = try creams.decode(document)
    #expect(cream.flavor == "chocolate" && (cream as? Chocolate)?.bitterness == 100)
    #expect(try creams.encodeValue(cream) == document)
    #expect(archiveError { try creams.encode(IceCream()) }?.code == .notEncodable)
  }

  /// A cluster that contains itself as a variant.
  private static let looping: Result<JSONCluster<any Shape>, any Error> = Result {
    try JSONCluster<any Shape>(
      by: .key("type"), .cluster("group", try looping.get()), .model("circle", JSONAdapter<Circle>()) { $0 })
  }

  @Test("J-20: a variant can be another cluster, and endless recursion throws invalidMapping")
  func dispatch() throws {
    let round = try JSONCluster<any Shape>(by: .key("kind"), .model("circle", JSONAdapter<Circle>()) { $0 })
    let outer = try JSONCluster<any Shape>(
      by: .key("type"), .cluster("round", round), .model("blob", JSONAdapter<Blob>()) { $0 })
    let document = try json(#"{"type": "round", "kind": "circle", "radius": 2.0}"#)
    #expect(try outer.decode(document).area == 12)
    #expect(try outer.encodeValue(Circle(radius: 2)) == document)
    let endless = try Self.looping.get()
    #expect(archiveError { try endless.decode(json(#"{"type": "group"}"#)) }?.code == .invalidMapping)
    #expect(try endless.decode(json(#"{"type": "circle"}"#)).area == 3)
    #expect(archiveError { try endless.encode(Blob()) }?.code == .notEncodable)
  }

  @Test("J-20, U-20: an enum's tag can be among its associated values, with several names for a case")
  func internalTags() throws {
    let adapter = try JSONAdapter<[Charge]>()
    let payments: [Charge] = [.cash, .card(number: "1", expiry: nil), .wire(Account(iban: "CH")), .split(1, 2)]
    let document = try json(
      #"[{"type": "cash"}, {"type": "credit_card", "number": "1", "expiry": null}, {"type": "wire", "account": {"iban": "CH"}}, {"type": "split", "_0": 1, "_1": 2}]"#
    )
    #expect(try adapter.decode(document) == payments)
    #expect(try adapter.encodeValue(payments) == document)
    #expect(
      try adapter.decode(json(#"[{"type": "creditCard", "number": "2", "more": true}]"#)) == [
        .card(number: "2", expiry: nil)
      ])
    let error = archiveError { try adapter.decode(json(#"[{"type": "card", "number": 2}]"#)) }
    #expect(error?.codingPath == [.index(0), .key("card"), .key("number")])
    for (document, code) in [
      ("[{}]", .missingValue), (#"[{"type": 3}]"#, .typeMismatch), (#"[{"type": "x"}]"#, .unknownCase),
      ("[3]", .typeMismatch),
    ] as [(String, ArchiveError.Code)] {
      #expect(archiveError { try adapter.decode(json(document)) }?.code == code)
    }
  }

  @Test("U-20: an enum's tag can be next to its value, and an unknown tag decodes as the unknown case")
  func adjacentTags() throws {
    let adapter = try JSONAdapter<[Event]>()
    let events: [Event] = [.opened(by: "a"), .moved(Account(iban: "CH")), .number(3), .other]
    let document = try json(
      #"[{"event": "opened", "payload": {"by": "a"}}, {"event": "moved", "payload": {"account": {"iban": "CH"}}}, {"event": "number", "payload": 3}, {"event": "other"}]"#
    )
    #expect(try adapter.decode(document) == events)
    #expect(try adapter.encodeValue(events) == document)
    #expect(try adapter.decode(json(#"[{"event": "later", "payload": 1}]"#)) == [.other])
  }

  @Test("U-20: an enum's tag and payload can be sibling keys in the parent object")
  func tagInParent() throws {
    let adapter = try JSONAdapter<Delivery>()
    let document = try json(
      #"{"event": "moved", "payload": {"account": {"iban": "CH"}}, "id": 4, "payments": [{"type": "cash"}]}"#)
    let delivery = try adapter.decode(document)
    #expect(delivery == Delivery(id: 4, event: .moved(Account(iban: "CH")), payments: [.cash]))
    #expect(try adapter.encodeValue(delivery) == document)
  }

  @Test("An enum without a declared tagging uses its case as the only key; a tag for a missing case throws")
  func externalTags() throws {
    let adapter = try JSONAdapter<Untouched>()
    #expect(try text(adapter.encodeValue(.on(level: 2))) == #"{"on":{"level":2}}"#)
    #expect(try adapter.decode(json(#"{"off": {}}"#)) == .off)
    #expect(archiveError { try JSONAdapter<Mistagged>() }?.code == .invalidMapping)
  }
}

@Model(version: 1)
private enum Mistagged { case a }

extension Mistagged: JSONTagged {
  static var jsonTagging: JSONTagging { .internal("type", names: ["x": "b"]) }
}
