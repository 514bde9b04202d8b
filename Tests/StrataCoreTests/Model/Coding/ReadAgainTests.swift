import StrataCore
import StrataTestSupport
import Testing

private enum State: String, Archivable { case open }
private enum Tone: String, Codable { case low }
private enum LaterState: String, Archivable { case open, paused }
private enum LaterTone: String, Codable { case low, louder }

private struct Doc: DescribedModel, Equatable {
  var states: [[State]] = []
  var tones: [Tone] = []
  var title = ""
  var subtitle = ""
  static let fields = Fields(
    Doc.self, version: 1, Field("states", \.states, unknown: .useDefault, default: []),
    Field("tones", \.tones, unknown: .useDefault, default: []), Field("title", \.title), Field("subtitle", \.subtitle),
    make: { Doc(states: $0, tones: $1, title: $2, subtitle: $3) })
}

/// The same model with more enum cases. Its keys and version are the same, so its fields are read in order.
private struct LaterDoc: DescribedModel {
  var states: [[LaterState]] = []
  var tones: [LaterTone] = []
  var title = ""
  var subtitle = ""
  static let fields = Fields(
    LaterDoc.self, name: "Doc", version: 1, Field("states", \.states, default: []),
    Field("tones", \.tones, default: []), Field("title", \.title), Field("subtitle", \.subtitle),
    make: { LaterDoc(states: $0, tones: $1, title: $2, subtitle: $3) })
}

private struct Untyped: DescribedModel {
  var choices: [Choice] = []
  var graph = ArchiveValue.null
  static let fields = Fields(
    Untyped.self, version: 1, Field("choices", \.choices, unknown: .useDefault, default: []),
    Field("graph", \.graph), make: { Untyped(choices: $0, graph: $1) })
}

private struct LaterUntyped: DescribedModel {
  var choices: [LaterChoice] = []
  var graph = ArchiveValue.null
  static let fields = Fields(
    LaterUntyped.self, name: "Untyped", version: 1, Field("choices", \.choices, default: []),
    Field("graph", \.graph), make: { LaterUntyped(choices: $0, graph: $1) })
}

private enum Choice: EnumModel {
  case any(ArchiveValue)
  static let schema = ModelSchema(
    Choice.self, name: "Choice", version: 1, cases: [.init("any", payload: [ArchiveValue.self], labels: ["_0"])])
  func encodeCase(to writer: inout ArchiveWriter) throws {
    guard case .any(let value) = self else { return }
    try writer.beginCase(Self.schema, "any", count: 1)
    try writer.payload("_0", value)
    writer.endCase()
  }
  static func make(case name: String, payload: CasePayload) throws -> Choice? {
    name == "any" ? .any(try payload.value("_0")) : nil
  }
}

private enum LaterChoice: EnumModel {
  case any(ArchiveValue)
  case none
  static let schema = ModelSchema(
    LaterChoice.self, name: "Choice", version: 1,
    cases: [.init("any", payload: [ArchiveValue.self], labels: ["_0"]), .init("none")])
  func encodeCase(to writer: inout ArchiveWriter) throws {
    switch self {
    case .any(let value):
      try writer.beginCase(Self.schema, "any", count: 1)
      try writer.payload("_0", value)
    case .none: try writer.beginCase(Self.schema, "none", count: 0)
    }
    writer.endCase()
  }
  static func make(case name: String, payload: CasePayload) throws -> LaterChoice? {
    name == "any" ? .any(try payload.value("_0")) : LaterChoice.none
  }
}

@Suite("Fields that are decoded again because of an unknown case")
struct ReadAgainTests {
  @Test("Fields after one with an unknown case keep their strings")
  func texts() throws {
    let doc = LaterDoc(states: [[.open, .paused]], title: "hello", subtitle: "hello")
    let data = try ArchiveEncoder().encode(doc)
    #expect(
      try ArchiveDecoder().decode(Doc.self, from: data) == Doc(states: [[.open]], title: "hello", subtitle: "hello"))
  }

  @Test("Fields after a Codable field with an unknown case keep their strings")
  func codable() throws {
    let doc = LaterDoc(tones: [.louder, .low], title: "hello", subtitle: "hello")
    let data = try ArchiveEncoder().encode(doc)
    #expect(
      try ArchiveDecoder().decode(Doc.self, from: data) == Doc(tones: [.low], title: "hello", subtitle: "hello"))
  }

  @Test("Any number of models can have a field with an unknown case")
  func depth() throws {
    let docs = Array(repeating: LaterDoc(states: [[.paused]], tones: [.louder]), count: 1000)
    let read = try ArchiveDecoder().decode([Doc].self, from: ArchiveEncoder().encode(docs))
    #expect(read == Array(repeating: Doc(states: [[]]), count: 1000))
  }

  @Test("The objects of a graph in a field that is decoded again count once")
  func graphs() throws {
    let graph = ArchiveValue.graph(ObjectGraph(objects: [["a": .reference(0)]], root: .reference(0)))
    let data = try ArchiveEncoder().encode(LaterUntyped(choices: [.any(graph), .none], graph: graph))
    let read = try ArchiveDecoder().decode(Untyped.self, from: data)
    #expect(read.graph == graph)
    guard case .any(graph)? = read.choices.first, read.choices.count == 1 else {
      Issue.record("\(read.choices)")
      return
    }
  }
}
