import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// An element with rules, a hook, and a property that isn't a field.
private struct Lot: DescribedModel, PostDecoding, Validating {
  var id: Int
  var name: String
  var label: String
  /// Not a field.
  var selection = 0
  static let fields = Fields(
    Lot.self, version: 1, Field("id", \.id), Field("name", \.name), Field("label", \.label, json: .none, default: ""),
    make: { Lot(id: $0, name: $1, label: $2) })
  static let validation = Validation<Lot>(.check("name", \.name, .nonEmpty))

  mutating func didDecode(from source: DecodingSource) { label = "\(source) \(name)" }

  // `@Model` generates the same implementation.
  mutating func adoptFields(of other: Lot) {
    let selection = selection
    self = other
    self.selection = selection
  }
}

/// An object that records when its hook runs.
private final class HookLink: DescribedModel, PostDecoding, Validating {
  let id: Int
  var name: String
  var next: HookLink?
  init(id: Int, name: String, next: HookLink?) { (self.id, self.name, self.next) = (id, name, next) }
  static let fields = Fields(
    HookLink.self, version: 1, Field("id", \.id), Field("name", \.name), Field("next", \.next),
    make: { HookLink(id: $0, name: $1, next: $2) })
  static let validation = Validation<HookLink>(.check("name", \.name, .nonEmpty))
  static let calls = Mutex<[String]>([])

  func didDecode(from source: DecodingSource) { Self.calls.withLock { $0.append(name) } }
}

/// A model that counts how often it is encoded.
private struct Counted: VersionedModel {
  var id: Int
  var title: String
  var merging = MergeState()
  static let count = Mutex(0)
  static let schema = ModelSchema(
    Counted.self, name: "Counted", version: 1,
    fields: [
      FieldInfo("id", Int.self), FieldInfo("title", String.self),
      FieldInfo("merging", MergeState.self, default: { MergeState() }),
    ])

  init(id: Int, title: String) { (self.id, self.title) = (id, title) }

  init(fields reader: inout ArchiveReader) throws {
    id = try reader.field(0)
    title = try reader.field(1)
    merging = try reader.field(2, default: MergeState())
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    Self.count.withLock { $0 += 1 }
    try writer.field(0, id)
    try writer.field(1, title)
    try writer.field(2, merging)
  }

  static func make(case name: String, payload: CasePayload) throws -> Counted? { nil }
}

@Suite("Hooks and rules of merged models")
struct MergeHookTests {
  /// Merges a list either from JSON text or from models.
  private static func merge(_ lots: inout [Lot], _ server: [Lot], asJSON: Bool) throws -> MergeReport {
    guard asJSON else { return try lots.mergeValues(from: server) }
    let text = server.map { #"{"id": \#($0.id), "name": "\#($0.name)"}"# }.joined(separator: ", ")
    return try lots.merge(.json(Data("[\(text)]".utf8)))
  }

  @Test("M-8: hooks run only on changed elements, and the report lists their changes", arguments: [false, true])
  func changedElements(asJSON: Bool) throws {
    var lots = [Lot(id: 1, name: "a", label: "old"), Lot(id: 2, name: "b", label: "old")]
    let server = [
      Lot(id: 2, name: "B", label: "old"), Lot(id: 1, name: "a", label: "old"), Lot(id: 3, name: "c", label: ""),
    ]
    let report = try Self.merge(&lots, server, asJSON: asJSON)
    #expect(lots.map(\.name) == ["B", "a", "c"])
    #expect(lots.map(\.label) == ["merge B", "old", "merge c"])
    let lines = report.entries.filter { $0.rule == "changed by the model's own code" }
    #expect(lines.map(\.path.description) == ["[id=2].label", "[id=3].label"])
    #expect(lines.map(\.result) == ["merge B", "merge c"])
    #expect(!report.isEmpty)
  }

  @Test(
    "V-8: every validation failure in a list is reported with its path, and the list is unchanged",
    arguments: [false, true])
  func allFailures(asJSON: Bool) throws {
    var lots = [Lot(id: 1, name: "a", label: ""), Lot(id: 2, name: "b", label: "")]
    let server = [1, 2, 3].map { Lot(id: $0, name: $0 == 2 ? "x" : "", label: "") }
    let error = try #require(throws: ArchiveError.self) { try Self.merge(&lots, server, asJSON: asJSON) }
    #expect(error.code == .invalid)
    #expect(error.failures.map(\.pathDescription) == ["[0].name", "[2].name"])
    #expect(lots.map(\.name) == ["a", "b"])
  }

  @Test("M-3: merged elements keep their non-field properties", arguments: [false, true])
  func otherProperties(asJSON: Bool) throws {
    var lots = [Lot(id: 1, name: "a", label: "", selection: 7), Lot(id: 2, name: "b", label: "", selection: 8)]
    let server = [Lot(id: 2, name: "B", label: ""), Lot(id: 1, name: "A", label: "")]
    _ = try Self.merge(&lots, server, asJSON: asJSON)
    #expect(lots.map(\.name) == ["B", "A"] && lots.map(\.selection) == [8, 7])
    _ = try Self.merge(&lots, [Lot(id: 2, name: "b", label: ""), Lot(id: 1, name: "A", label: "")], asJSON: asJSON)
    #expect(lots.map(\.name) == ["b", "A"] && lots.map(\.selection) == [8, 7])
  }

  @Test("M-8: hooks of inner objects run before those of outer ones, and failures have full paths")
  func order() throws {
    func chain(_ names: [String]) -> HookLink {
      let links = names.enumerated().map { HookLink(id: $0, name: $1, next: nil) }
      for (link, next) in zip(links, links.dropFirst()) { link.next = next }
      return links[0]
    }
    let local = chain(["a", "b", "c"])
    try local.mergeValues(from: chain(["A", "B", "C", "D"]))
    #expect(HookLink.calls.withLock { $0 } == ["D", "C", "B", "A"])
    let error = try #require(throws: ArchiveError.self) { try local.mergeValues(from: chain(["A", "", "C", ""])) }
    #expect(error.failures.map(\.pathDescription) == ["next.name", "next.next.next.name"])
    #expect(local.next?.name == "B" && local.next?.next?.next?.name == "D")
  }

  @Test("A merge encodes the local object once, or at most twice for a merge patch")
  func once() throws {
    func count(_ merge: () throws -> Void) rethrows -> Int {
      Counted.count.withLock { $0 = 0 }
      try merge()
      return Counted.count.withLock { $0 }
    }
    var counted = try Counted(fromJSON: Data(#"{"id": 1, "title": "a"}"#.utf8))
    #expect(try count { try counted.mergeValues(fromJSON: Data(#"{"title": "b"}"#.utf8)) } == 1)
    #expect(counted.title == "b")
    let patch = Data(#"{"title": "c"}"#.utf8)
    // A merge patch also needs the object's JSON, so the object may be encoded twice.
    #expect(try count { try counted.merge(.mergePatch(patch)) } <= 2)
    // This merge also encodes the server's object.
    let server = Counted(id: 1, title: "d")
    #expect(try count { try counted.mergeValues(from: server) } == 2)
    #expect(counted.title == "d")
  }
}
