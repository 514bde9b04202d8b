import Foundation
import Strata
import StrataTestSupport
import Testing

@Model(version: 1)
private final class Hand {
  let id: Int
  var name: String
  var rank = 1
  var mail: String?

  init(id: Int, name: String) { (self.id, self.name) = (id, name) }
}

@Model(version: 1)
private final class Team {
  var lead: Hand?
  var hands: [Hand] = []
  var merging = MergeState()
  init() {}
}

@Suite("Documents that describe an object completely and abbreviated")
struct AbbreviatedObjectTests {
  private static let full = #"{"id":7,"name":"Ada","rank":5,"mail":"a@x"}"#
  private static let short = #"{"id":7,"name":"Ada"}"#
  private static let other = #"{"id":8,"name":"Bob"}"#

  /// Returns a document in which one occurrence of the object is the lead and the other is in the list.
  private static func document(_ lead: String, _ hand: String, _ other: String = other) -> String {
    #"{"lead":\#(lead),"hands":[\#(hand),\#(other)]}"#
  }

  private static func team(_ json: String) throws -> Team { try JSONAdapter<Team>().decode(Data(json.utf8)) }

  /// The values of all occurrences of the object.
  private func values(_ crew: Team) -> Set<String> {
    Set(
      ([crew.lead].compactMap(\.self) + crew.hands.filter { $0.id == 7 }).map {
        "\($0.name) \($0.rank) \($0.mail ?? "nil")"
      })
  }

  enum Base: CaseIterable { case remembered, archived, given }

  private static let orders = [(full, short), (short, full)]

  /// Merges the first document and then the second one. The first document is the base.
  private func merged(
    _ first: String, _ second: String, _ base: Base, edit: (Team) -> Void = { _ in }
  ) throws -> (crew: Team, report: MergeReport) {
    var crew = try Self.team(first)
    if base != .given {
      crew = Team()
      try crew.merge(.json(Data(first.utf8)))
    }
    if base == .archived { crew = try ArchiveDecoder().decode(Team.self, from: ArchiveEncoder().encode(crew)) }
    edit(crew)
    let given = base == .given ? try Self.team(first) : nil
    return (crew, try crew.merge(.json(Data(second.utf8)), base: given))
  }

  @Test("The same document changes nothing", arguments: Base.allCases, [0, 1])
  func same(base: Base, order: Int) throws {
    let document = Self.document(Self.orders[order].0, Self.orders[order].1)
    let (crew, _) = try merged(document, document, base)
    #expect(values(crew).contains("Ada 5 a@x"), "\(values(crew))")
    #expect(values(crew).isSubset(of: ["Ada 5 a@x", "Ada 5 nil", "Ada 1 nil"]))
    let before = values(crew)
    for _ in 0..<2 { try crew.merge(.json(Data(document.utf8)), base: base == .given ? Self.team(document) : nil) }
    #expect(values(crew) == before)
  }

  @Test(
    "A change of another object, or a document with one occurrence, loses nothing", arguments: Base.allCases, [0, 1])
  func others(base: Base, order: Int) throws {
    let (lead, hand) = Self.orders[order]
    for second in [
      Self.document(lead, hand, #"{"id":8,"name":"Ben"}"#), Self.document(Self.short, Self.short),
      #"{"lead":\#(Self.short)}"#, #"{"hands":[\#(Self.short),\#(Self.other)]}"#,
    ] {
      let (crew, report) = try merged(Self.document(lead, hand), second, base)
      #expect(values(crew).contains("Ada 5 a@x"), "\(second) \(values(crew))")
      #expect(report.conflicts.isEmpty, "\(second) \(report)")
    }
  }

  @Test(
    "A change of the server applies to each occurrence, and the other fields stay", arguments: Base.allCases, [0, 1])
  func changes(base: Base, order: Int) throws {
    let (lead, hand) = Self.orders[order]
    let second = Self.document(lead, hand).replacing("\"Ada\"", with: "\"Eve\"").replacing(
      "\"rank\":5", with: "\"rank\":7")
    let (crew, report) = try merged(Self.document(lead, hand), second, base)
    #expect(values(crew).contains("Eve 7 a@x"), "\(values(crew))")
    #expect(values(crew).allSatisfy { $0.hasPrefix("Eve 7") }, "\(values(crew))")
    #expect(report.conflicts.isEmpty, "\(report)")
  }

  @Test("A local edit of one occurrence is an edit of all", arguments: Base.allCases, [0, 1])
  func edits(base: Base, order: Int) throws {
    let (lead, hand) = Self.orders[order]
    let document = Self.document(lead, hand)
    for edited in [true, false] {
      let (crew, report) = try merged(document, document, base) { crew in
        (edited ? crew.lead : crew.hands.first { $0.id == 7 })?.mail = "new"
      }
      #expect(values(crew).allSatisfy { $0.hasSuffix("new") }, "\(values(crew))")
      #expect(values(crew).contains("Ada 5 new"), "\(values(crew))")
      #expect(report.conflicts.isEmpty, "\(report)")
    }
  }
}
