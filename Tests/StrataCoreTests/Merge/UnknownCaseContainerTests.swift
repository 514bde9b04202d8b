import Foundation
import StrataCore
import Testing

private enum Colour: String, Archivable, CaseIterable { case red, green }
private enum Tone: String, Codable { case high, low }

private struct Palette: DescribedModel, Equatable {
  var list: [Colour] = []
  var set: Set<Colour> = []
  var named: [String: Colour] = [:]
  var counts: [Colour: Int] = [:]
  var rows: [[Colour]?] = []
  var nested: [String: [String: Colour]] = [:]
  var maybe: [Colour]?
  var tones: [Tone] = []
  var strict: [Strict] = []

  static let fields = Fields(
    Palette.self, version: 1, Field("list", \.list, unknown: .useDefault, default: []),
    Field("set", \.set, unknown: .useDefault, default: []), Field("named", \.named, unknown: .useDefault, default: [:]),
    Field("counts", \.counts, unknown: .useDefault, default: [:]),
    Field("rows", \.rows, unknown: .useDefault, default: []),
    Field("nested", \.nested, unknown: .useDefault, default: [:]),
    Field("maybe", \.maybe, unknown: .useDefault, default: nil),
    Field("tones", \.tones, unknown: .useDefault, default: []),
    Field("strict", \.strict, unknown: .useDefault, default: [])
  ) {
    Palette(
      list: $0, set: $1, named: $2, counts: $3, rows: $4, nested: $5, maybe: $6, tones: $7, strict: $8)
  }
}

/// A model with a field that rejects unknown cases.
private struct Strict: DescribedModel, Equatable {
  var id = 0
  var colours: [Colour] = []
  static let fields = Fields(
    Strict.self, version: 1, Field("id", \.id), Field("colours", \.colours, default: []),
    make: { Strict(id: $0, colours: $1) })
}

/// A newer version of the model, whose enums have more cases.
private enum NewColour: String, Archivable { case red, green, blue }
private enum NewTone: String, Codable { case high, low, middle }
private struct NewPalette: DescribedModel {
  var list: [NewColour] = []
  var set: Set<NewColour> = []
  var named: [String: NewColour] = [:]
  var counts: [NewColour: Int] = [:]
  var rows: [[NewColour]?] = []
  var nested: [String: [String: NewColour]] = [:]
  var maybe: [NewColour]?
  var tones: [NewTone] = []
  static let fields = Fields(
    NewPalette.self, name: "Palette", version: 1, Field("list", \.list, default: []), Field("set", \.set, default: []),
    Field("named", \.named, default: [:]), Field("counts", \.counts, default: [:]), Field("rows", \.rows, default: []),
    Field("nested", \.nested, default: [:]), Field("maybe", \.maybe, default: nil), Field("tones", \.tones, default: [])
  ) {
    NewPalette(list: $0, set: $1, named: $2, counts: $3, rows: $4, nested: $5, maybe: $6, tones: $7)
  }
}

@Suite("Unknown enum cases in containers")
struct UnknownCaseContainerTests {
  private static let new = NewPalette(
    list: [.red, .blue, .green], set: [.blue, .green], named: ["a": .blue, "b": .green], counts: [.blue: 1, .red: 2],
    rows: [[.blue], nil, [.red, .blue]], nested: ["x": ["a": .blue, "b": .red], "y": ["a": .blue]], maybe: [.blue],
    tones: [.middle, .low])
  private static let read = Palette(
    list: [.red, .green], set: [.green], named: ["b": .green], counts: [.red: 2], rows: [[], nil, [.red]],
    nested: ["x": ["b": .red], "y": [:]], maybe: [], tones: [.low])

  @Test("Decoding JSON or an archive omits elements with unknown cases")
  func reading() throws {
    #expect(try Palette(fromJSON: Self.new.jsonData()) == Self.read)
    #expect(try ArchiveDecoder().decode(Palette.self, from: ArchiveEncoder().encode(Self.new)) == Self.read)
  }

  @Test("A merge omits unknown elements and keeps local entries whose incoming values are unknown")
  func merging() throws {
    let local = Palette(
      list: [.green], named: ["a": .red, "b": .red, "c": .red], nested: ["x": ["a": .green], "y": ["a": .red]],
      maybe: [.green], tones: [.high])
    for base in [nil, local] {
      // Merges have no rule for unknown cases of a Codable enum, so this list contains none.
      var new = Self.new
      new.tones = [.low]
      for source in [MergeSource.json(try new.jsonData()), .archive(try ArchiveEncoder().encode(new))] {
        var merged = local
        let report = try merged.merge(source, base: base)
        #expect(merged.list == [.red, .green])
        #expect(merged.set == [.green])
        #expect(merged.named["a"] == .red)
        #expect(merged.named["b"] == .green)
        // The document lacks this key. The merge removes the local entry only if the base has the key.
        #expect(merged.named["c"] == (base == nil ? .red : nil))
        #expect(merged.counts == [.red: 2])
        #expect(merged.rows == Self.read.rows)
        #expect(merged.nested == ["x": ["a": .green, "b": .red], "y": ["a": .red]])
        #expect(merged.maybe == [])
        #expect(report.entries.contains { "\($0.path)" == "named.a" && $0.outcome == .local })
      }
    }
  }

  @Test("A nested model applies its own setting for unknown cases")
  func models() throws {
    let json = Data(#"{"strict": [{"id": 1, "colours": ["blue"]}]}"#.utf8)
    #expect(throws: ArchiveError.self) { try Palette(fromJSON: json) }
    var palette = Palette(strict: [Strict(id: 1)])
    #expect(throws: ArchiveError.self) { try palette.merge(.json(json)) }
    #expect(palette.strict == [Strict(id: 1)])
  }

  @Test("The remembered base contains no unknown cases")
  func remembered() throws {
    var local = Remembering(palette: ["a": .red])
    local = try Remembering(fromJSON: local.jsonData())
    let json = Data(#"{"palette": {"a": "blue", "z": "blue", "b": "red"}}"#.utf8)
    try local.merge(.json(json))
    #expect(local.palette == ["a": .red, "b": .red])
    let again = try ArchiveDecoder().decode(Remembering.self, from: ArchiveEncoder().encode(local))
    #expect(again.palette == local.palette)
    #expect(again.merging.base?["palette"] == .object(["a": .string("red"), "b": .string("red")]))
    var later = again
    try later.merge(.json(json))
    #expect(later.palette == local.palette)
  }
}

private struct Remembering: DescribedModel {
  var palette: [String: Colour] = [:]
  var merging = MergeState()
  static let fields = Fields(
    Remembering.self, version: 1, Field("palette", \.palette, unknown: .useDefault, default: [:]),
    Field("merging", \.merging, default: MergeState()), make: { Remembering(palette: $0, merging: $1) })
}
