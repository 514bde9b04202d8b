import Foundation
import Strata
import StrataTestSupport
import Testing

private struct Halves: DescribedModel, Equatable {
  var left: Int?
  var right: Int?
  static let fields = Fields(
    Halves.self, version: 1, Field("left", \.left, archive: .excluded), Field("right", \.right),
    make: { Halves(left: $0, right: $1) })
}

private struct CodableHalves: DescribedModel, Equatable {
  var left: Size?
  var right: Size?
  static let fields = Fields(
    CodableHalves.self, version: 1, Field("left", \.left, archive: .excluded), Field("right", \.right),
    make: { CodableHalves(left: $0, right: $1) })
}

private struct Size: Codable, Equatable { var width: Int }

private struct Required: DescribedModel {
  var id: Int
  static let fields = Fields(
    Required.self, version: 1, Field("id", \.id, archive: .excluded), make: { Required(id: $0) })
}

@Model(version: 1)
private struct Photo: Codable, Hashable {
  var id: Int
  @Field(archive: .excluded) var seen = 0
}

private struct Wrapper: Codable, Equatable { var photo: Photo, others: [String: [Photo]] = [:] }

private struct Tab: Codable, Hashable { var photo: Photo }

@Model(version: 1)
private struct Album: Equatable {
  var title: String
  var wrapper: Wrapper
  var tabs: [Tab: Int] = [:]
}

@Model(version: 1)
private struct Shelf: Equatable {
  var title: String
  @Field(json: .path("wrapper").null(.useDefault)) var wrapper = Wrapper(photo: Photo(id: 1, seen: 5))
}

@Suite("Fields excluded from archives")
struct ExcludedFieldTests {
  @Test("An excluded optional without a default decodes as nil, and the next field keeps its value")
  func optional() throws {
    #expect(try archived(Halves(left: 1, right: 2)) == Halves(left: nil, right: 2))
    #expect(
      try archived(CodableHalves(left: Size(width: 1), right: Size(width: 2)))
        == CodableHalves(left: nil, right: Size(width: 2)))
    #expect(try Halves(left: 1, right: 2).copy(updating: ["right": 3]) == Halves(left: 1, right: 3))
  }

  @Test("An excluded required field without a default is a schema error")
  func required() {
    let error = #expect(throws: ArchiveError.self) { try Required.schema.check() }
    #expect(error?.code == .invalidSchema && "\(error ?? ArchiveError(.damaged, ""))".contains("default"))
  }

  @Test("Copies and merges keep excluded fields of models inside Codable types")
  func insideCodable() throws {
    let photo = Photo(id: 1, seen: 7)
    let album = Album(
      title: "a", wrapper: Wrapper(photo: photo, others: ["x": [Photo(id: 2, seen: 8)]]), tabs: [Tab(photo: photo): 1])
    var expected = album
    expected.title = "x"
    #expect(try album.copy(updating: ["title": "x"]) == expected)
    var merged = album
    try merged.mergeValues(fromJSON: Data(#"{"title": "x"}"#.utf8))
    #expect(merged == expected)
    let unseen = Wrapper(photo: Photo(id: 1), others: album.wrapper.others)
    #expect(!album.isEqual(to: Album(title: "a", wrapper: unseen, tabs: album.tabs)))
    // Archives exclude the field in nested models as well.
    #expect(try archived(album).wrapper.photo.seen == 0)
  }

  @Test("A default value keeps its excluded fields when a merge or a null value applies it")
  func defaults() throws {
    let record = ModelRecord(typeName: Shelf.schema.name, modelVersion: 1, fields: [("title", "x")])
    var merged = Shelf(title: "a")
    try merged.merge(.archive(ArchiveEncoder().encode(record)))
    #expect(merged.wrapper.photo.seen == 5)
    let shelf = try Shelf(fromJSON: Data(#"{"title": "x", "wrapper": null}"#.utf8))
    #expect(shelf.wrapper.photo.seen == 5)
  }
}
