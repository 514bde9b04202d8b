import Foundation
import StrataCore
import Testing

private struct Typed: DescribedModel, Equatable {
  var type: String?
  var x = 1
  var y = 2
  static let fields = Fields(
    Typed.self, name: "TagTyped", version: 1, Field("type", \.type), Field("x", \.x, json: "a.b.x"), Field("y", \.y),
    make: { Typed(type: $0, x: $1, y: $2) })
}

/// A model with a number at the tag's path.
private struct Numbered: DescribedModel, Equatable {
  var type = 7
  var a = [1, 2]
  static let fields = Fields(
    Numbered.self, name: "TagNumbered", version: 1, Field("type", \.type), Field("a", \.a),
    make: { Numbered(type: $0, a: $1) })
}

/// A model with an array at the key of the tag.
private struct Boxed: DescribedModel {
  var type = [1]
  static let fields = Fields(Boxed.self, name: "TagBoxed", version: 1, Field("type", \.type), make: { Boxed(type: $0) })
}

@Suite("JSON: a cluster writes its tag or throws")
struct JSONTagTests {
  private func typed(_ path: String, _ tag: String = "t") throws -> JSONCluster<Typed> {
    try JSONCluster(by: .key(ValuePath(parsing: path)), .model(tag, JSONAdapter<Typed>()) { $0 })
  }

  @Test(
    "A tag is written first in its object, at any depth",
    arguments: [
      ("kind", #"{"kind":"t","type":null,"a":{"b":{"x":1}},"y":2}"#),
      ("a.kind", #"{"a":{"kind":"t","b":{"x":1}},"type":null,"y":2}"#),
      ("a.b.kind", #"{"a":{"b":{"kind":"t","x":1}},"type":null,"y":2}"#),
      ("m.n.kind", #"{"m":{"n":{"kind":"t"}},"type":null,"a":{"b":{"x":1}},"y":2}"#),
    ])
  func places(_ path: String, _ text: String) throws {
    let cluster = try typed(path)
    let model = Typed()
    #expect(try String(decoding: cluster.encode(model), as: UTF8.self) == text)
    #expect(try cluster.decode(cluster.encode(model)) == model)
  }

  @Test("A field that holds the tag keeps its position")
  func own() throws {
    let cluster = try typed("type")
    let text = #"{"type":"t","a":{"b":{"x":1}},"y":2}"#
    #expect(try String(decoding: cluster.encode(Typed(type: "t")), as: UTF8.self) == text)
    let numbers = try JSONCluster<Numbered>(by: .key("type"), .model("7", JSONAdapter<Numbered>()) { $0 })
    #expect(try numbers.decode(numbers.encode(Numbered())) == Numbered())
  }

  @Test(
    "Encoding throws if another value occupies the tag's path or blocks it",
    arguments: ["type", "y", "a", "a.b", "a.b.x", "y.kind", "type.kind", "a.b.x.kind"])
  func taken(_ path: String) throws {
    for model in [Typed(), Typed(type: "other")] {
      // A tag must not replace a null on its path either, because the model would then read a different value.
      let error = #expect(throws: ArchiveError.self) { try typed(path).encodeValue(model) }
      guard error?.code == .notEncodable else {
        Issue.record("\(path): \(String(describing: error))")
        continue
      }
    }
  }

  @Test("Encoding throws if an array or a number occupies the tag's path")
  func others() throws {
    let boxed = try JSONCluster<Boxed>(by: .key("type"), .model("t", JSONAdapter<Boxed>()) { $0 })
    #expect(throws: ArchiveError.self) { try boxed.encode(Boxed()) }
    for path in ["type", "type.kind", "a.kind", "a[0].kind"] {
      let cluster = try JSONCluster<Numbered>(
        by: .key(ValuePath(parsing: path)), .model("t", JSONAdapter<Numbered>()) { $0 })
      let error = #expect(throws: ArchiveError.self) { try cluster.encode(Numbered()) }
      #expect(error?.code == .notEncodable, "\(path)")
    }
  }

  @Test("Nested clusters write all of their tags")
  func nested() throws {
    let inner = try typed("a.kind")
    let outer = try JSONCluster<Typed>(by: .key("a.group"), .cluster("g", inner))
    let value = try outer.encodeValue(Typed())
    #expect(value["a"]?["group"] == "g" && value["a"]?["kind"] == "t" && value["a"]?["b"] == ["x": 1])
    #expect(try outer.decode(value) == Typed())
    let clashing = try JSONCluster<Typed>(by: .key("a.kind"), .cluster("g", inner))
    #expect(throws: ArchiveError.self) { try clashing.encodeValue(Typed()) }
  }

  @Test("A discriminator without a distinct path for the tag throws invalidMapping")
  func noPlace() {
    for discriminator: Discriminator in [.key("a[*].kind"), .key("*"), .sibling("type", content: "type")] {
      let error = #expect(throws: ArchiveError.self) {
        try JSONCluster<Typed>(by: discriminator, .model("t", JSONAdapter<Typed>()) { $0 })
      }
      #expect(error?.code == .invalidMapping)
    }
  }

  @Test("A cluster rejects documents with duplicate keys")
  func duplicates() throws {
    let cluster = try typed("type")
    for text in [
      #"{"type":"t","a":{"b":{"x":1,"x":2}},"y":1}"#, #"{"type":"t","type":"u","a":{"b":{"x":1}},"y":1}"#,
      #"{"type":"t","a":{"b":{"x":1}},"y":1,"y":5}"#,
    ] {
      let error = #expect(throws: ArchiveError.self) { try cluster.decode(Data(text.utf8)) }
      #expect(error?.code == .invalidJSON)
      let inArray = #expect(throws: ArchiveError.self) { try cluster.decodeArray(Data("[\(text)]".utf8)) }
      #expect(inArray?.code == .invalidJSON && inArray?.codingPath.first == .index(0))
    }
  }
}
