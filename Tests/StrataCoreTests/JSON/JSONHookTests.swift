import Foundation
import StrataCore
import Testing

/// A model that counts the calls of its hook and rejects one value.
private struct Counted: DescribedModel, PostDecoding, Hashable {
  var n: Int
  static let fields = Fields(Counted.self, name: "CountedByHook", version: 1, Field("n", \.n), make: { Counted(n: $0) })

  mutating func didDecode(from source: DecodingSource) throws {
    if n == 13 { throw Refusal() }
    n += 1
  }
}

private struct Refusal: Error {}

private let adapter: JSONAdapter<Counted> = {
  do { return try JSONAdapter() } catch { fatalError("\(error)") }
}()
private let model = ReversibleTransformer.model(adapter)
private let models = ReversibleTransformer<ArchiveValue, [Counted?]>.models(adapter)
private let chainedModel = ReversibleTransformer<ArchiveValue, ArchiveValue>(both: { $0 }).then(model)

/// A model whose fields decode the same kind of model in different forms.
private struct Forms: DescribedModel, Equatable {
  var plain: [Counted] = []
  var valid: [Counted] = []
  var one: Counted?
  var many: [Counted?] = []
  var list: [Counted] = []
  var table: [String: Counted] = [:]
  var chained: Counted?
  static let fields = Fields(
    Forms.self, name: "HookForms", version: 1, Field("plain", \.plain, default: []),
    Field("valid", \.valid, json: .path("valid").skippingInvalid, default: []),
    Field("one", \.one, json: .path("one").transformed(by: model.optional)),
    Field("many", \.many, json: .path("many").transformed(by: models), default: []),
    Field("list", \.list, json: .path("list").transformed(by: model.array), default: []),
    Field("table", \.table, json: .path("table").transformed(by: model.dictionaryValues), default: [:]),
    Field(
      "chained", \.chained,
      json: .path("chained").transformed(by: chainedModel)),
    make: { Forms(plain: $0, valid: $1, one: $2, many: $3, list: $4, table: $5, chained: $6) })
}

private struct Nest: DescribedModel, PostDecoding {
  var children: [Nest]
  var calls: Int
  static let fields = Fields(
    Nest.self, name: "HookNest", version: 1,
    Field("children", \.children, json: .path("children").skippingInvalid, default: []),
    Field("calls", \.calls, default: 0), make: { Nest(children: $0, calls: $1) })

  mutating func didDecode(from source: DecodingSource) throws { calls += 1 }

  var all: [Nest] { [self] + children.flatMap(\.all) }
}

@Suite("JSON: hooks run once for each decoded object")
struct JSONHookTests {
  private static let text = """
    {"plain": [{"n": 1}], "valid": [{"n": 1}, {"n": "x"}], "one": {"n": 1}, "many": [{"n": 1}, null], "list": [{"n": 1}],
    "table": {"a": {"n": 1}}, "chained": {"n": 1}}
    """
  private static let read = Forms(
    plain: [Counted(n: 2)], valid: [Counted(n: 2)], one: Counted(n: 2), many: [Counted(n: 2), nil],
    list: [Counted(n: 2)], table: ["a": Counted(n: 2)], chained: Counted(n: 2))

  @Test("M-8: the hook of each object runs once with skippingInvalid, adapters, arrays and dictionaries")
  func reading() throws {
    let data = Data(Self.text.utf8)
    #expect(try Forms(fromJSON: data) == Self.read)
    #expect(try Forms(fromJSON: JSONReader().read(data)) == Self.read)
    #expect(try JSONAdapter<Forms>().decode(data) == Self.read)
    #expect(try JSONAdapter<Forms>().decodeArray(Data("[\(Self.text)]".utf8)) == [Self.read])
  }

  @Test("M-8: merging runs hooks once on the incoming value")
  func merging() throws {
    var forms = Forms()
    try forms.mergeValues(fromJSON: Data(Self.text.utf8))
    #expect(forms == Self.read)
  }

  @Test("M-8: standalone and chained model transformers run hooks")
  func alone() throws {
    #expect(try model.transform(["n": 1]) == Counted(n: 2))
    #expect(try model.array.optional.transform([["n": 1], ["n": 1]]) == [Counted(n: 2), Counted(n: 2)])
    #expect(try model.then(Transformer<Counted, Int> { $0.n }).transform(["n": 1]) == 2)
  }

  @Test("M-8: encoding runs no hooks")
  func writing() throws {
    let forms = Forms(
      one: Counted(n: 1), many: [Counted(n: 13)], list: [Counted(n: 1)], table: ["a": Counted(n: 1)],
      chained: Counted(n: 1))
    let value = try JSONAdapter<Forms>().encodeValue(forms)
    #expect(value["one"] == ["n": 1] && value["many"] == [["n": 13]] && value["list"] == [["n": 1]])
    #expect(value["table"] == ["a": ["n": 1]] && value["chained"] == ["n": 1])
    #expect(try JSONReader().read(forms.jsonData()) == value)
  }

  @Test("skippingInvalid skips malformed elements and elements rejected by a hook, at every level")
  func skipping() throws {
    let nest = try Nest(fromJSON: Data(#"{"children": [{"children": [{}, 1, {"children": [null, {}]}]}, "x"]}"#.utf8))
    #expect(nest.all.count == 5 && nest.all.allSatisfy { $0.calls == 1 })
    let forms = try Forms(fromJSON: Data(#"{"valid": [{"n": "x"}, {"n": 13}, {"n": 1}]}"#.utf8))
    #expect(forms.valid == [Counted(n: 2)])
  }
}
