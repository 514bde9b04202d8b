import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// A case from the tables in Docs/Merging.md, written by hand: three values of one field, and the result that the oracle must give.
private struct OracleCase: Sendable, CustomTestStringConvertible {
  let name: String
  let shape: Shape
  /// JSON, `unknown` if the base is unknown, or `–` if there is no value.
  let base: String
  let here: String
  let server: String
  let becomes: String
  var conflicts: [String] = []

  var testDescription: String { "\(name): \(base) | \(here) | \(server)" }

  init(
    _ name: String, _ shape: Shape, _ base: String, _ here: String, _ server: String, _ becomes: String,
    _ conflicts: String...
  ) {
    (self.name, self.shape, self.base, self.here, self.server) = (name, shape, base, here, server)
    (self.becomes, self.conflicts) = (becomes, conflicts)
  }

  private static let automatic = Shape.leaf(.automatic)
  private static let named = ModelShape(
    name: "N", version: 1, identity: "id",
    fields: [.init("id", automatic), .init("n", automatic, ""), .init("own", automatic, "", isInJSON: false)])
  private static let counts = Shape.dictionary(automatic)
  private static let places = Shape.dictionary(.model(.place))

  static let all: [OracleCase] = [
    .init("automatic", automatic, "unknown", #""a""#, #""b""#, #""b""#),
    .init("automatic", automatic, "unknown", #""a""#, "null", "null"),
    .init("automatic", automatic, "unknown", #""a""#, "–", #""a""#),
    .init("automatic", automatic, #""a""#, #""b""#, #""a""#, #""b""#),
    .init("automatic", automatic, #""a""#, #""a""#, "null", "null"),
    .init("automatic", automatic, #""a""#, #""b""#, #""b""#, #""b""#),
    .init("automatic", automatic, #""a""#, #""b""#, #""c""#, #""b""#, "in"),
    .init(
      "automatic", .model(.place), #"{"city": "Bern", "zip": 1}"#, #"{"city": "Thun", "zip": 1}"#,
      #"{"city": "Bern", "zip": 2}"#, #"{"city": "Thun", "zip": 2}"#),
    .init("automatic", counts, #"{"a": 1, "b": 2}"#, #"{"a": 1, "b": 2, "c": 3}"#, #"{"b": 2}"#, #"{"b": 2, "c": 3}"#),
    .init("conflict", .leaf(.conflict), "unknown", #""a""#, #""b""#, #""a""#, "in"),
    .init("conflict", .leaf(.conflict), #""a""#, #""b""#, #""c""#, #""b""#, "in"),
    .init("conflict", .leaf(.conflict), #""a""#, #""a""#, #""c""#, #""c""#),
    .init("serverWins", .leaf(.serverWins), "unknown", #""a""#, "null", "null"),
    .init("serverWins", .leaf(.serverWins), #""a""#, #""b""#, #""c""#, #""c""#),
    .init("serverWins", .leaf(.serverWins), #""a""#, #""b""#, #""a""#, #""b""#),
    .init("localWins", .leaf(.localWins), "unknown", #""a""#, #""b""#, #""a""#),
    .init("localWins", .leaf(.localWins), #""a""#, #""b""#, #""c""#, #""b""#),
    .init("localWins", .leaf(.localWins), #""a""#, #""a""#, #""c""#, #""c""#),
    .init("max", .leaf(.max), "unknown", "3", "5", "5"), .init("max", .leaf(.max), "1", "3", "2", "3"),
    .init("max", .leaf(.max), "9", "3", "5", "5"), .init("max", .leaf(.max), "5", "5", "3", "3"),
    .init("max", .leaf(.max), "1", "null", "2", "2"),
    .init("sumOfDeltas", .leaf(.sumOfDeltas), "10", "12", "15", "17"),
    .init("sumOfDeltas", .leaf(.sumOfDeltas), "10", "11", "11", "12"),
    .init("sumOfDeltas", .leaf(.sumOfDeltas), "10", "11", "10", "11"),
    .init("sumOfDeltas", .leaf(.sumOfDeltas), "null", "2", "3", "5"),
    .init("sumOfDeltas", .leaf(.sumOfDeltas), "unknown", "11", "15", "15"),
    .init(
      "byID", .list(named), #"[{"id": 1, "n": "a"}]"#, #"[{"id": 1, "n": "b"}]"#,
      #"[{"id": 1, "n": "a"}, {"id": 2, "n": "c"}]"#, #"[{"id": 1, "n": "b"}, {"id": 2, "n": "c", "own": ""}]"#),
    .init(
      "byID", .list(named), #"[{"id": 1}, {"id": 2}]"#, #"[{"id": 1}, {"id": 2}, {"id": 3}]"#, #"[{"id": 2}]"#,
      #"[{"id": 2}, {"id": 3}]"#),
    .init(
      "byID", .list(named), #"[{"id": 1, "n": "a"}]"#, #"[{"id": 1, "n": "b"}]"#, "[]", #"[{"id": 1, "n": "b"}]"#),
    .init("byID", .list(named), #"[{"id": 1, "n": "a"}]"#, "[]", #"[{"id": 1, "n": "b"}]"#, "[]", "in[id=1]"),
    .init(
      "byID", .list(named), "unknown", #"[{"id": 1, "n": "", "own": "x"}, {"id": 2, "n": "", "own": "y"}]"#,
      #"[{"id": 2}, {"id": 3}]"#,
      #"[{"id": 1, "n": "", "own": "x"}, {"id": 2, "n": "", "own": "y"}, {"id": 3, "n": "", "own": ""}]"#),
    .init(
      "a partial model", .model(.place), "unknown", #"{"city": "a", "zip": 1}"#, #"{"zip": 2}"#,
      #"{"city": "a", "zip": 2}"#),
    .init(
      "a partial model", .model(.place), #"{"city": "a", "zip": 1}"#, #"{"city": "b", "zip": 1}"#, #"{"zip": null}"#,
      #"{"city": "b", "zip": null}"#),
    .init(
      "a base in parts", .model(.place), #"{"zip": 1}"#, #"{"city": "a", "zip": 2}"#, #"{"city": "c", "zip": 1}"#,
      #"{"city": "c", "zip": 2}"#),
    .init(
      "a new model", .model(.place), "unknown", "null", #"{"geo": {"lat": 1.5}}"#,
      #"{"city": "", "zip": null, "geo": {"lat": 1.5, "lon": 0.0}}"#),
    .init(
      "both made one", .model(.place), "null", #"{"city": "a", "zip": 1}"#, #"{"city": "b", "zip": 1}"#,
      #"{"city": "a", "zip": 1}"#, "in.city"),
    .init("a model that went", .model(.place), #"{"city": "a"}"#, #"{"city": "b"}"#, "null", #"{"city": "b"}"#, "in"),
    .init("a model that went", .model(.place), #"{"city": "a"}"#, "null", #"{"city": "a"}"#, "null"),
    .init("a model that went", .model(.place), #"{"city": "a"}"#, "null", #"{"city": "b"}"#, "null", "in"),
    .init(
      "another object", .model(named), "unknown", #"{"id": 1, "n": "a"}"#, #"{"id": 2}"#,
      #"{"id": 2, "n": "", "own": ""}"#),
    .init(
      "another object", .model(named), #"{"id": 1, "n": "a"}"#, #"{"id": 1, "n": "b"}"#, #"{"id": 2, "n": "a"}"#,
      #"{"id": 1, "n": "b"}"#, "in"),
    .init(
      "another object", .model(named), #"{"id": 1, "n": "a"}"#, #"{"id": 2, "n": "b"}"#, #"{"id": 1}"#,
      #"{"id": 2, "n": "b"}"#),
    .init(
      "no identity", .model(named), "unknown", #"{"id": 1, "n": "a"}"#, #"{"id": null}"#, #"{"id": null, "n": "a"}"#),
    .init("a key that went", counts, #"{"a": 1}"#, #"{"a": 1}"#, "{}", "{}"),
    .init("a key that went", counts, #"{"a": 1}"#, #"{"a": 2}"#, "{}", #"{"a": 2}"#, "in.a"),
    .init("a key that did not come in", counts, "unknown", #"{"a": 1}"#, "{}", #"{"a": 1}"#),
    .init("a key that went", counts, #"{"a": 1}"#, "{}", #"{"a": 2}"#, "{}", "in.a"),
    .init(
      "models under keys", places, "unknown", #"{"x": {"city": "a", "zip": 1}}"#, #"{"x": {"zip": 2}}"#,
      #"{"x": {"city": "a", "zip": 2}}"#),
    .init(
      "a payload in part", ModelShape.shipment, "unknown", #"{"parcel": {"weight": 1, "note": "a"}}"#,
      #"{"parcel": {"note": "b"}}"#, #"{"parcel": {"weight": 1, "note": "b"}}"#),
    .init(
      "a whole payload", ModelShape.shipment, #"{"parcel": {"weight": 1, "note": "a"}}"#,
      #"{"parcel": {"weight": 2, "note": "a"}}"#, #"{"parcel": {"weight": 1, "note": "b"}}"#,
      #"{"parcel": {"weight": 2, "note": "b"}}"#),
    .init(
      "another case", ModelShape.shipment, #"{"none": {}}"#, #"{"none": {}}"#, #"{"mail": {"address": "a"}}"#,
      #"{"mail": {"address": "a"}}"#),
  ]

  func flat(_ text: String, _ root: Shape) throws -> Flat {
    text == "–" ? Flat([:], root) : Flat(["in": try JSONReader().read(Data(text.utf8))], root)
  }
}

@Suite("Simulation: the oracle", .tags(.long))
struct OracleTests {
  @Test("The oracle agrees with the tables in Docs/Merging.md", arguments: OracleCase.all)
  fileprivate func table(_ row: OracleCase) throws {
    let root = Shape.model(ModelShape(name: "Root", version: 1, fields: [.init("in", row.shape)]))
    let base = row.base == "unknown" ? nil : try row.flat(row.base, root)
    let merge = OracleMerge(
      base: base, local: try row.flat(row.here, root), incoming: try row.flat(row.server, root), keepsUnlisted: true,
      shape: root)
    let expected = try row.flat(row.becomes, root)
    #expect(
      Flat.differences(merge.result, expected) == [],
      "\(merge.result.tree([], root)?.canonicalText ?? "–") is not \(expected.tree([], root)?.canonicalText ?? "–")")
    let paths = merge.conflicts.keys.map { $0.joined(separator: ".").replacing(".[", with: "[") }
    #expect(paths.sorted() == row.conflicts)
  }

  @Test("The oracle treats NaN as equal to itself")
  func nan() {
    let root = Shape.model(.document)
    let value: Tree = ["doubles": .array([.double(.nan)])]
    let merge = OracleMerge(
      base: Flat(value, root), local: Flat(value, root), incoming: Flat(value, root), keepsUnlisted: false)
    #expect(merge.conflicts.isEmpty && Flat.differences(merge.result, Flat(value, root)).isEmpty)
  }

  @Test("The next base keeps absent keys of models, but drops missing entries of dictionaries and lists")
  func base() throws {
    let root = Shape.model(.document)
    let old: Tree = [
      "title": "a", "place": ["city": "b", "zip": 1], "counts": ["x": 1, "y": 2],
      "items": [["id": 1, "name": "n"], ["id": 2, "name": "m"]], "owner": ["id": 1, "name": "Ada"],
    ]
    let part: Tree = [
      "place": ["zip": .null], "counts": ["y": 3], "items": [["id": 2, "color": "c"]], "owner": ["id": 2],
    ]
    let expected: Tree = [
      "title": "a", "place": ["city": "b", "zip": .null], "counts": ["y": 3],
      "items": [["id": 2, "name": "m", "color": "c"]], "owner": ["id": 2],
    ]
    let next = OracleBase.next(Flat(old, root), Flat(part, root))
    #expect(Flat.differences(next, Flat(expected, root)).isEmpty)
  }
}
