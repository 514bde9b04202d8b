import Foundation
import Strata
import StrataTestSupport
import Testing

private struct OnlyCodable: Codable, Hashable { var a = 1 }
@Model(version: 1) private struct Modelled: Hashable { var a = 1 }

@Model(version: 1, name: "TypesThatChange") private struct Before: Equatable {
  var x: [UUID: OnlyCodable] = [:]
  var moods: [UUID: Mood] = [:]
}
@Model(version: 1, name: "TypesThatChange") private struct After: Equatable {
  var x: [UUID: Modelled] = [:]
  var moods: [UUID: OwnMood] = [:]
}

@Model(version: 1) private struct Keyed: Hashable { var key = 1 }
@Model(version: 1) private struct KeyedByModel: Equatable { var x: [Keyed: Int] = [:] }

@Model(version: 1) private struct Movie: Equatable { var title = ""; @Field(json: "release_year") var year: Int }
@Model(version: 1) private struct Show: Equatable { var name: String; var seasons: [Int] = [] }
@Model(version: 1) private enum Result: Equatable {
  case movie(Movie)
  case show(Show, rank: Int)
}
extension Result: JSONTagged { static var jsonTagging: JSONTagging { .internal("type") } }
@Model(version: 1) private enum Inside: Equatable { case movie(Movie) }
extension Inside: JSONTagged {
  static var jsonTagging: JSONTagging { .adjacent("type", "value", names: ["film": "movie"]) }
}
@Model(version: 1) private enum Outside: Equatable { case movie(Movie) }
extension Outside: JSONTagged { static var jsonTagging: JSONTagging { .external(names: ["film": "movie"]) } }
@Model(version: 1) private struct Search: Equatable {
  var results: [Result] = []
  var inside: [Inside] = []
  var outside: [Outside] = []
}

private enum Mood: String, Codable { case good, bad }
private enum OwnMood: String, Archivable { case good, bad }
@Model(version: 1) private struct Moods: Equatable {
  var mood = Mood.good
  var moods: [Mood] = []
  var day: Day?
  @Field(unknown: .useDefault) var lenient = Mood.bad
}
private struct Day: Codable, Equatable { var mood: Mood }
@Model(version: 1) private struct OwnMoods: Equatable { var mood = OwnMood.good; var moods: [OwnMood] = [] }

@Model(version: 1) private struct Table: Equatable {
  var counts: [String: Int?] = [:]
  var note: String?
  @Field(json: .automatic.writing(nulls: .null)) var always: String?
  var figure = Figure.circle(radius: 1, note: "n")
}
@Model(version: 1) private enum Figure: Equatable { case circle(radius: Int, note: String?) }

@Model(version: 1) private struct Spot: Equatable {
  @Field(json: .paths("lat", "lon", by: Spot.point)) var place = Point()
  struct Point: Codable, Equatable { var lat = 0; var lon = 0 }
  static let point = ReversibleTransformer<[ValuePath: ArchiveValue], Point>(
    { Point(lat: $0["lat"]?.intValue ?? 0, lon: $0["lon"]?.intValue ?? 0) },
    reverse: { ["lat": .int(Int64($0.lat)), "lon": .int(Int64($0.lon))] })
}

@Suite("Types that change, and types in unusual places")
struct TypesThatChangeTests {
  private let id = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

  @Test("A dictionary of Codable values still opens from JSON after its type becomes a model")
  func codableDictionary() throws {
    let before = Before(x: [id: OnlyCodable(a: 4), UUID(): OnlyCodable(a: 5)], moods: [id: .bad])
    let after = After(x: before.x.mapValues { Modelled(a: $0.a) }, moods: [id: .bad])
    let json = try before.jsonData()
    #expect(try After(fromJSON: json) == after)
    #expect(try After(dictionary: before.dictionaryValue) == after)
    var merged = After(x: [id: Modelled(a: 9)])
    try merged.merge(.json(json))
    #expect(merged == after)
    // An archive doesn't store an object of a `Codable` type as a model record. Values whose archived form is the same for both types can
    // be decoded.
    let old = try ArchiveEncoder().encode(Before(moods: [id: .bad]))
    #expect(try ArchiveDecoder().decode(After.self, from: old) == After(moods: [id: .bad]))
    merged = After(moods: [id: .good])
    try merged.merge(.archive(old))
    #expect(merged == After(moods: [id: .bad]))
    #expect(
      archiveError(.typeMismatch) { try ArchiveDecoder().decode(After.self, from: ArchiveEncoder().encode(before)) }?
        .typeName == "Modelled")
  }

  @Test(
    "A dictionary keyed by models reads pairs and JSONEncoder's form, and one keyed by strings rejects arrays")
  func alternating() throws {
    let value = KeyedByModel(x: [Keyed(key: 7): 8])
    #expect(try String(decoding: value.jsonData(), as: UTF8.self) == #"{"x":[[{"key":7},8]]}"#)
    #expect(try KeyedByModel(fromJSON: Data(#"{"x":[{"key":7},8]}"#.utf8)) == value)
    #expect(
      archiveError(.typeMismatch) { try KeyedByModel(fromJSON: Data(#"{"x":[{"key":7}]}"#.utf8)) }?.pathDescription
        == "x[0]")
    archiveError(.typeMismatch) { try Table(fromJSON: Data(#"{"counts":["a", 1]}"#.utf8)) }
    let list = try ArchiveEncoder().encode(["a", "b"])
    archiveError(.typeMismatch) { try ArchiveDecoder().decode([String: String].self, from: list) }
  }

  @Test(
    "Errors in a tagged enum have the JSON path of the value when reading and merging",
    arguments: [
      (#"{"results":[{"type":"movie","title":"t","release_year":"x"}]}"#, "results[0].release_year"),
      (#"{"results":[{"type":"show","rank":"x","_0":{"name":""}}]}"#, "results[0].rank"),
      (#"{"results":[{"type":"show","rank":1,"_0":{"name":"","seasons":[1,"x"]}}]}"#, "results[0]._0.seasons[1]"),
      (#"{"inside":[{"type":"film","value":{"release_year":"x"}}]}"#, "inside[0].value.release_year"),
      (#"{"outside":[{"film":{"_0":{"release_year":"x"}}}]}"#, "outside[0].film._0.release_year"),
    ])
  func placesInTaggedEnums(json: String, place: String) throws {
    let read = try #require(archiveError(.typeMismatch) { try Search(fromJSON: Data(json.utf8)) })
    #expect(read.jsonPathDescription == place && "\(read)".hasPrefix("line 1, "), "\(read)")
    var search = Search()
    let merged = try #require(archiveError(.typeMismatch) { try search.mergeValues(fromJSON: Data(json.utf8)) })
    #expect(merged.jsonPathDescription == place && merged.codingPath == read.codingPath, "\(merged)")
  }

  @Test("A Codable enum throws the same error for an unknown case as an Archivable enum")
  func rawValues() throws {
    func reason<T: VersionedModel>(_ type: T.Type, _ json: String) throws -> String {
      let error = try #require(archiveError(.unknownCase) { try T(fromJSON: Data(json.utf8)) })
      return "\(error)".replacing("OwnMood", with: "Mood")
    }
    #expect(try reason(Moods.self, #"{"mood":"x"}"#) == reason(OwnMoods.self, #"{"mood":"x"}"#))
    #expect(try reason(Moods.self, #"{"moods":["good","x"]}"#) == reason(OwnMoods.self, #"{"moods":["good","x"]}"#))
    #expect(try reason(Moods.self, #"{"day":{"mood":"x"}}"#).contains("day.mood"))
    #expect(try Moods(fromJSON: Data(#"{"lenient":"x"}"#.utf8)).lenient == .bad)
  }

  @Test("jsonMergePatch rejects a null dictionary value and sets nil fields to null")
  func nullsInPatches() throws {
    let adapter = try JSONAdapter<Table>()
    let old = Table(counts: ["b": 1], note: "n", always: "a")
    var new = old
    new.counts["x"] = .some(nil)
    #expect(
      archiveError(.notEncodable) { try adapter.jsonMergePatch(from: old, to: new) }?.pathDescription == "counts.x")
    new = old
    new.counts["b"] = .some(nil)
    #expect(
      archiveError(.notEncodable) { try adapter.jsonMergePatch(from: old, to: new) }?.pathDescription == "counts.b")
    #expect(try adapter.jsonMergePatch(from: new, to: new) == [:])
    var other = new
    other.note = nil
    #expect(try adapter.jsonMergePatch(from: new, to: other) == ["note": .null])
    new = old
    (new.note, new.always, new.figure) = (nil, nil, .circle(radius: 1, note: nil))
    let patch = try adapter.jsonMergePatch(from: old, to: new)
    #expect(patch == ["note": .null, "always": .null, "figure": ["circle": ["note": .null]]])
    #expect(try adapter.decode(JSONMergePatch.apply(patch, to: adapter.encodeValue(old))) == new)
  }

  @Test("A field of a Codable type can be mapped to several JSON paths")
  func severalPaths() throws {
    let spot = try Spot(fromJSON: Data(#"{"lat":3,"lon":4}"#.utf8))
    #expect(spot.place == Spot.Point(lat: 3, lon: 4))
    #expect(try String(decoding: spot.jsonData(), as: UTF8.self) == #"{"lat":3,"lon":4}"#)
  }

  @Test("An enum can be copied and created from a dictionary")
  func enumDictionaries() throws {
    for value in [Figure.circle(radius: 1, note: nil), .circle(radius: 2, note: "n")] {
      #expect(try value.copy(updating: [:]) == value)
      #expect(try Figure(dictionary: value.dictionaryValue) == value)
    }
    let show = Result.show(Show(name: "n", seasons: [1]), rank: 3)
    #expect(try Result(dictionary: show.dictionaryValue) == show)
    let other = try show.copy(updating: [
      "show": ["_0": show.dictionaryValue["show"]?.objectValue?["_0"] ?? .null, "rank": 4]
    ])
    #expect(other == .show(Show(name: "n", seasons: [1]), rank: 4))
    archiveError(.unknownCase) { try show.copy(updating: ["nothing": [:]]) }
  }
}
