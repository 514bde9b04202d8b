import Foundation
import StrataCore
import StrataTestSupport
import Testing

private struct Extent: Codable, Equatable {
  var width: Int
  var label: String?
}

private struct Sheet: DescribedModel, Equatable {
  var id: Int
  var size: Extent
  var margin = Extent(width: 1)
  var cache = Extent(width: 2)
  var note: Extent?
  var all: [String: Extent]

  static let fields = Fields(
    Sheet.self, version: 1,
    Field("id", \.id),
    Field("size", \.size),
    Field("margin", \.margin, default: Extent(width: 1)),
    Field("cache", \.cache, archive: .excluded, default: Extent(width: 2)),
    Field("note", \.note),
    Field("all", \.all, default: [:]),
    make: { Sheet(id: $0, size: $1, margin: $2, cache: $3, note: $4, all: $5) })
}

private final class Board: DescribedModel {
  var size: Extent
  init(size: Extent) { self.size = size }
  static let fields = Fields(Board.self, version: 1, Field("size", \.size), make: { Board(size: $0) })
}

@Suite("Codable types in described models")
struct DescribedCodableTests {
  @Test(
    "Fields of Codable types support archives, JSON, dictionaries and merges",
    arguments: [nil, Extent(width: 9, label: "n")])
  private func allWays(note: Extent?) throws {
    let sheet = Sheet(
      id: 1, size: Extent(width: 3, label: "a"), margin: Extent(width: 4), cache: Extent(width: 5), note: note,
      all: ["x": Extent(width: 6)])
    var archived = sheet
    archived.cache = Extent(width: 2)
    #expect(try ArchiveDecoder().decode(Sheet.self, from: ArchiveEncoder().encode(sheet)) == archived)
    #expect(try Sheet(fromJSON: sheet.jsonData()) == sheet)
    #expect(try Sheet(dictionary: sheet.dictionaryValue) == sheet)
    var other = sheet
    try other.mergeValues(fromJSON: Data(#"{"size":{"width":7,"label":null}}"#.utf8))
    #expect(other.size == Extent(width: 7) && other.margin == sheet.margin)
    #expect(try Sheet(fromJSON: Data(#"{"id":1,"size":{"width":2}}"#.utf8)).margin == Extent(width: 1))
  }

  @Test("Merging into an object replaces a field of a Codable type")
  func object() throws {
    let board = Board(size: Extent(width: 1))
    try board.mergeValues(from: Board(size: Extent(width: 2, label: "b")))
    #expect(board.size == Extent(width: 2, label: "b"))
  }
}
