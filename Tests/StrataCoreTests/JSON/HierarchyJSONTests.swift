import Foundation
import Strata
import StrataTestSupport
import Testing

/// A class that isn't final and declares no JSON tag.
@Model(version: 1)
private class Pet {
  let id: Int
  var name: String
  init(id: Int, name: String) { (self.id, self.name) = (id, name) }
}

@Model(version: 1, superclass: Pet.self)
private final class Hound: Pet {
  @Field(json: "details.breed") var breed = ""
  @Field(merge: .byID()) var toys: [Toy] = []
  var best: Toy?
  init(id: Int, name: String, breed: String) {
    self.breed = breed
    super.init(id: id, name: name)
  }
}

@Model(version: 1)
private final class Toy {
  let id: Int
  var colour: String
  init(id: Int, colour: String) { (self.id, self.colour) = (id, colour) }
}

@Model(version: 1)
private final class Shelter {
  @Field(merge: .byID()) var pets: [Pet] = []
  var star: Pet?
  var byName: [String: Pet] = [:]
  init(pets: [Pet] = [], star: Pet? = nil) { (self.pets, self.star) = (pets, star) }
}

/// A class whose subclasses are tagged in JSON.
@Model(version: 1)
private class Figure: JSONTagged, ModelHierarchy {
  let id: Int
  var label = ""
  init(id: Int) { self.id = id }

  class var jsonTagging: JSONTagging { .internal("kind", names: ["circle": "Disc", "round": "Disc"]) }
  class var subclasses: [any VersionedModel.Type] { [Disc.self, Ring.self] }
}

@Model(version: 1, superclass: Figure.self)
private class Disc: Figure {
  var radius: Int
  var unknownFields = UnknownFields()
  init(id: Int, radius: Int) {
    self.radius = radius
    super.init(id: id)
  }
}

@Model(version: 1, superclass: Disc.self)
private final class Ring: Disc {
  var hole = 0
  /// This field has the same key as the tag.
  var kind = "Ring"
  override init(id: Int, radius: Int) { super.init(id: id, radius: radius) }
}

/// A subclass that `Figure.subclasses` does not list.
@Model(version: 1, superclass: Figure.self)
private final class Stray: Figure {
  override init(id: Int) { super.init(id: id) }
}

@Model(version: 1)
private struct Canvas {
  @Field(merge: .byID()) var figures: [Figure] = []
  var first: Figure?
}

/// A class with a subclass whose former name sorts before its current one.
@Model(version: 1)
private class Tool: JSONTagged, ModelHierarchy {
  var weight = 1
  init() {}
  class var jsonTagging: JSONTagging { .internal("kind") }
  class var subclasses: [any VersionedModel.Type] { [Saw.self] }
}

@Model(version: 1, formerNames: ["Blade"], superclass: Tool.self)
private final class Saw: Tool {
  var teeth = 2
  var next: Job?
  override init() { super.init() }
}

/// A class whose JSON is an array, which has no place for a tag.
@Model(version: 1)
private class ListedPoint: JSONTagged {
  @Field(json: "[0]") var first = 1
  @Field(json: "[1]") var second = 2
  init() {}
  class var jsonTagging: JSONTagging { .internal("kind") }
}

@Model(version: 1)
private enum Job: JSONTagged {
  case cut(Saw)
  static var jsonTagging: JSONTagging { .internal("type") }
}

@Suite("Class hierarchies in JSON")
struct HierarchyJSONTests {
  private let disc = #"{"kind":"circle","radius":3,"id":1,"label":"a"}"#

  // MARK: Without tags

  @Test("An untagged subclass instance is rejected where JSON would decode it as its superclass")
  func refused() throws {
    let hound = Hound(id: 1, name: "Rex", breed: "Pug")
    let inside = archiveError { try Shelter(pets: [Pet(id: 2, name: "Tom"), hound]).jsonData() }
    #expect(inside?.code == .notEncodable && inside?.codingPath == [.key("pets"), .index(1)])
    #expect(inside?.typeName == "Hound" && inside?.reason.contains("JSONTagged") == true)
    #expect(archiveError { try Shelter(star: hound).jsonData() }?.codingPath == [.key("star")])
    #expect(archiveError { try JSONAdapter<Shelter>().encodeValue(Shelter(star: hound)) }?.code == .notEncodable)
    #expect(archiveError { try JSONAdapter<[Pet]>().encode([hound]) }?.code == .notEncodable)
    // The caller knows the type of the root, so an untagged subclass is accepted there.
    #expect(try String(decoding: hound.jsonData(), as: UTF8.self).contains("Pug"))
    #expect(try String(decoding: (hound as Pet).jsonData(), as: UTF8.self).contains("Pug"))
    #expect(try Shelter(pets: [Pet(id: 2, name: "Tom")]).jsonData().count > 0)
  }

  @Test("A transformer rejects an untagged subclass instance inside a document")
  func transformed() throws {
    let hound = Hound(id: 1, name: "Rex", breed: "Pug")
    let adapter = try JSONAdapter(Shelter.self, JSONMapping(["star": .path("star", .model(JSONAdapter<Pet>()))]))
    #expect(archiveError { try adapter.encode(Shelter(star: hound)) }?.code == .notEncodable)
  }

  @Test("JSON is merged into an existing object according to its dynamic class", arguments: [false, true])
  func merged(isByPlace: Bool) throws {
    let hound = Hound(id: 1, name: "Rex", breed: "Pug")
    hound.toys = [Toy(id: 5, colour: "red")]
    hound.best = Toy(id: 6, colour: "blue")
    let (toy, best) = (hound.toys[0], hound.best)
    let shelter = isByPlace ? Shelter(star: hound) : Shelter(pets: [Pet(id: 2, name: "Tom"), hound])
    let object =
      #"{"id":1,"details":{"breed":"Beagle"},"toys":[{"id":7,"colour":"grey"},{"id":5,"colour":"green"}],"best":{"id":6,"colour":"x"}}"#
    let json =
      isByPlace ? #"{"star":\#(object)}"# : #"{"pets":[\#(object),{"id":2,"name":"Tim"},{"id":3,"name":"New"}]}"#
    let report = try shelter.mergeValues(fromJSON: Data(json.utf8))
    #expect(hound.name == "Rex" && hound.breed == "Beagle")
    #expect(hound.toys.map(\.id) == [7, 5] && hound.toys[1] === toy && toy.colour == "green")
    #expect(hound.best === best && best?.colour == "x")
    #expect(!report.isEmpty)
    if isByPlace {
      #expect(shelter.star === hound)
    } else {
      #expect(shelter.pets.map(\.name) == ["Rex", "Tim", "New"] && shelter.pets[0] === hound)
      #expect(type(of: shelter.pets[2]) == Pet.self)
    }
  }

  @Test("An invalid value for a subclass key throws with its path")
  func wrong() throws {
    let shelter = Shelter(pets: [Hound(id: 1, name: "Rex", breed: "Pug")])
    let json = Data(#"{"pets":[{"id":1,"details":{"breed":7}}]}"#.utf8)
    let error = archiveError { try shelter.merge(.json(json)) }
    #expect(
      error?.code == .typeMismatch && error?.codingPath == [.key("pets"), .index(0), .key("breed")],
      "\(String(describing: error))")
    let twice = Data(#"{"pets":[{"id":1,"details":{"breed":"a","breed":"b"}}]}"#.utf8)
    #expect(archiveError { try shelter.merge(.json(twice)) }?.code == .invalidJSON)
  }

  // MARK: With tags

  @Test("Objects of a tagged hierarchy are written with their tag and decoded as the same class")
  func tagged() throws {
    let ring = Ring(id: 2, radius: 9)
    ring.hole = 4
    let canvas = Canvas(figures: [Disc(id: 1, radius: 3), ring, Figure(id: 3)], first: Disc(id: 4, radius: 5))
    let json = try canvas.jsonData()
    #expect(
      String(decoding: json, as: UTF8.self)
        == #"{"figures":[{"kind":"circle","radius":3,"id":1,"label":""},{"hole":4,"kind":"Ring","radius":9,"id":2,"label":""},"#
        + #"{"kind":"Figure","id":3,"label":""}],"first":{"kind":"circle","radius":5,"id":4,"label":""}}"#)
    for again in [
      try Canvas(fromJSON: json), try Canvas(fromJSON: JSONReader().read(json)), try JSONAdapter().decode(json),
    ] {
      #expect(again.figures.map { "\(type(of: $0))" } == ["Disc", "Ring", "Figure"])
      #expect((again.figures[1] as? Ring)?.hole == 4 && (again.figures[0] as? Disc)?.radius == 3)
      #expect((again.first as? Disc)?.radius == 5)
      #expect(try again.jsonData() == json)
    }
    #expect(try JSONAdapter<Canvas>().encode(canvas) == json)
  }

  @Test("Tags are read and written at the root, and alternative tag names are accepted")
  func top() throws {
    #expect(try (Figure(fromJSON: Data(disc.utf8)) as? Disc)?.radius == 3)
    #expect(try Disc(fromJSON: Data(#"{"kind":"round","radius":1,"id":1}"#.utf8)).radius == 1)
    #expect(try JSONAdapter<[Figure]>().decode(Data("[\(disc)]".utf8)).first is Disc)
    #expect(
      try String(decoding: (Disc(id: 1, radius: 2) as Figure).jsonData(), as: UTF8.self).hasPrefix(#"{"kind":"circle""#)
    )
  }

  @Test(
    "A missing, mistyped, unknown or duplicate tag throws",
    arguments: [
      (#"{"figures":[{"id":1}]}"#, ArchiveError.Code.missingValue),
      (#"{"figures":[{"kind":7,"id":1}]}"#, .typeMismatch),
      (#"{"figures":[{"kind":"Stray","id":1}]}"#, .unknownCase),
      (#"{"figures":[{"kind":null,"id":1}]}"#, .typeMismatch),
      (#"{"figures":[{"kind":"circle","kind":"Figure","id":1,"radius":1}]}"#, .invalidJSON),
    ])
  func wrongTag(_ json: String, _ code: ArchiveError.Code) throws {
    let error = archiveError { try Canvas(fromJSON: Data(json.utf8)) }
    #expect(
      error?.code == code && error?.codingPath.starts(with: [.key("figures"), .index(0)]) == true,
      "\(String(describing: error))")
    #expect(archiveError { try Disc(fromJSON: Data(#"{"kind":"Figure","id":1}"#.utf8)) }?.code == .unknownCase)
  }

  @Test("A subclass that its superclass does not list cannot be written")
  func stray() throws {
    let error = archiveError { try Canvas(figures: [Stray(id: 1)]).jsonData() }
    #expect(error?.code == .notEncodable && error?.reason.contains("subclasses of Figure") == true)
  }

  @Test("Encoding throws if a field at the tag's key holds another value")
  func field() throws {
    let ring = Ring(id: 1, radius: 1)
    ring.kind = "circle"
    #expect(archiveError { try ring.jsonData() }?.code == .notEncodable)
  }

  @Test("The tag is written with the current class name, and former names are read")
  func formerName() throws {
    #expect(
      try String(decoding: Saw().jsonData(), as: UTF8.self) == #"{"kind":"Saw","teeth":2,"next":null,"weight":1}"#)
    #expect(try Tool(fromJSON: Data(#"{"kind":"Blade","teeth":7}"#.utf8)) is Saw)
  }

  @Test("A tagged model that is written as an array throws notEncodable")
  func array() {
    #expect(archiveError { try ListedPoint().jsonData() }?.code == .notEncodable)
    #expect(archiveError { try JSONAdapter<[ListedPoint]>().encodeValue([ListedPoint()]) }?.code == .notEncodable)
  }

  @Test("A case's only associated value can be an object with its own tag")
  func inCase() throws {
    let text = try String(decoding: Job.cut(Saw()).jsonData(), as: UTF8.self)
    #expect(text == #"{"type":"cut","kind":"Saw","teeth":2,"next":null,"weight":1}"#)
    guard case .cut(let saw) = try Job(fromJSON: Data(text.utf8)) else { return }
    #expect(saw.teeth == 2)
    let adapter = try JSONAdapter<[Job]>()
    let jobs = [Job.cut(saw), .cut(saw)]
    #expect(try JSONWriter().write(adapter.encodeValue(jobs)) == adapter.encode(jobs))
    #expect(try String(decoding: adapter.encode(jobs), as: UTF8.self) == "[\(text),\(text)]")
    // An object that contains itself through an enum case cannot be encoded.
    saw.next = .cut(saw)
    #expect(archiveError { try adapter.encodeValue(jobs) }?.code == .notEncodable)
    saw.next = nil
  }

  @Test("The tag does not count as an unknown key and is written only once")
  func unknownKeys() throws {
    let json = Data(#"{"kind":"circle","radius":3,"id":1,"label":"a","more":7}"#.utf8)
    let adapter = try JSONAdapter<Disc>(unknownKeys: .capture)
    #expect(
      try String(decoding: adapter.encode(adapter.decode(json)), as: UTF8.self) == String(decoding: json, as: UTF8.self)
    )
    #expect(try JSONAdapter<[Figure]>(unknownKeys: .refuse).decode(Data("[\(disc)]".utf8)).count == 1)
    #expect(
      archiveError {
        try JSONAdapter<[Figure]>(unknownKeys: .refuse).decode(Data("[\(String(decoding: json, as: UTF8.self))]".utf8))
      }?.code == .unknownKey)
  }

  @Test("A subclass captures unknown keys even if its superclass does not, including in archives")
  func unknownKeysOfSubclass() throws {
    let disc = try JSONAdapter<Disc>(unknownKeys: .capture).decode(
      Data(#"{"kind":"circle","radius":3,"id":1,"label":"a","more":7}"#.utf8))
    let again = try ArchiveDecoder().decode([Figure].self, from: ArchiveEncoder().encode([disc as Figure]))
    #expect((again.first as? Disc)?.unknownFields["more"] == 7)
    #expect(try Disc(dictionary: disc.dictionaryValue).radius == 3)
  }

  @Test("Merging creates new objects in the class of their tag; JSON for existing objects can omit the tag")
  func mergedWithTags() throws {
    let ring = Ring(id: 2, radius: 9)
    var canvas = Canvas(figures: [ring])
    try canvas.mergeValues(
      fromJSON: Data(
        #"{"figures":[{"id":2,"hole":8},{"kind":"circle","radius":3,"id":1}],"first":{"kind":"Ring","id":7,"radius":1}}"#
          .utf8))
    #expect(canvas.figures.first === ring && ring.hole == 8 && ring.radius == 9)
    #expect((canvas.figures.last as? Disc)?.radius == 3 && (canvas.first as? Ring)?.radius == 1)
    try canvas.mergeValues(fromJSON: Data(#"{"figures":[{"kind":"Ring","id":2,"hole":1},{"id":1,"radius":6}]}"#.utf8))
    #expect(canvas.figures.first === ring && ring.hole == 1)
    #expect((canvas.figures.last as? Disc)?.radius == 6)
    // Merging directly into an object cannot change its class.
    for json in [#"{"kind":"circle","radius":1}"#, #"{"kind":"Figure"}"#] {
      #expect(archiveError { try ring.mergeValues(fromJSON: Data(json.utf8)) } != nil, "\(json)")
    }
    let adapter = try JSONAdapter<Canvas>()
    let patch = try adapter.jsonMergePatchData(from: canvas, to: Canvas(figures: [Disc(id: 1, radius: 7)]))
    let patched = Canvas(figures: [Ring(id: 2, radius: 9), Disc(id: 1, radius: 6)])
    var target = patched
    try adapter.merge(.json(patch), into: &target, options: MergeOptions(unlisted: .remove))
    #expect(target.figures.map(\.id) == [1])
  }
}
