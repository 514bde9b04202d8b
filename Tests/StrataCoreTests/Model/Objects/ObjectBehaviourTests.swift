import Foundation
import Strata
import StrataTestSupport
import Testing

extension Link: FieldHashable, DescribesFields {}
extension City: FieldHashable, DescribesFields {}
extension Animal: FieldEquatable {}
extension File: FieldEquatable {}
extension Folder: FieldEquatable {}

@Suite struct ObjectBehaviourTests {
  @Test("M-9, M-13, U-15: equality terminates on cycles and compares all reachable objects")
  func equality() {
    func ring(_ names: [String]) -> [City] {
      let cities = names.map { City(name: $0) }
      for (place, city) in cities.enumerated() { city.referenced = [cities[(place + 1) % cities.count]] }
      return cities
    }
    let first = ring(["a", "b", "c"]), same = ring(["a", "b", "c"]), other = ring(["a", "b", "x"])
    #expect(first[0] == same[0])
    #expect(first[0].hashValue == same[0].hashValue)
    #expect(first[0] != other[0])
    #expect(first[0] != first[1])
    // If all nodes are equal, rings of different lengths cannot be distinguished by following references.
    #expect(ring(["a", "a"])[0] == ring(["a", "a", "a"])[0])
    for city in first + same + other { city.referenced = [] }
  }

  @Test("Comparing lists of 20,000 objects does not overflow the stack", .tags(.long), .longRunsOnly)
  func longLists() {
    let (one, all) = Link.list(20_000)
    let (other, others) = Link.list(20_000)
    #expect(one == other)
    others[19_999].value = -1
    #expect(one != other)
    Link.cut(all)
    Link.cut(others)
  }

  @Test("M-9: an object of a subclass never equals an object of its superclass")
  func classes() {
    let dog = Dog(name: "Rex", breed: "Pug")
    #expect(dog != Animal(name: "Rex"))
    #expect(Animal(name: "Rex") != dog)
    #expect(dog as Animal == Dog(name: "Rex", breed: "Pug"))
    #expect(dog as Animal != Dog(name: "Rex", breed: "Boxer"))
  }

  @Test("M-12, U-15: descriptions are cut off at cycles and in long chains")
  func description() {
    let city = City(name: "a")
    city.referenced = [city, City(name: "b")]
    #expect("\(city)" == #"City(name: "a", referenced: [City(…), City(name: "b", referenced: [])])"#)
    city.referenced = []
    let (head, all) = Link.list(1000)
    #expect("\(head)".hasPrefix("Link(value: 0, next: Link(value: 1, next: Link(value: 2, next: Link(…)"))
    Link.cut(all)
  }

  @Test("M-11: a copy refers to the same objects and has the class of the original")
  func copy() throws {
    let folder = Folder(name: "a")
    folder.files = [File(title: "x")]
    folder.files[0].folder = folder
    folder.parent = folder
    let copy = try folder.copy()
    #expect(copy !== folder && copy.name == "a")
    #expect(copy.files[0] === folder.files[0])
    #expect(copy.parent === folder)
    folder.parent = nil
    copy.parent = nil
    let dog: Animal = Dog(name: "Rex", breed: "Pug")
    let twin = try #require(try dog.copy() as? Dog)
    #expect(twin !== dog && twin.breed == "Pug")
    let renamed = try #require(try dog.copy(updating: ["breed": "Boxer"]) as? Dog)
    #expect(renamed.breed == "Boxer" && renamed.name == "Rex")
  }

  @Test("MG-5, MG-6: merging objects of different classes of a hierarchy merges their common fields")
  func mergeHierarchy() throws {
    let animal = Animal(name: "Cat")
    let dog = Dog(name: "Rex", breed: "Pug")
    try animal.mergeValues(from: dog)
    #expect(animal.name == "Rex")
    let target: Animal = Puppy(name: "Bit", breed: "Pug", weeks: 7)
    try target.mergeValues(from: Animal(name: "Bob"))
    let puppy = try #require(target as? Puppy)
    #expect(puppy.name == "Bob" && puppy.breed == "Pug" && puppy.weeks == 7)
    try target.mergeValues(from: Puppy(name: "Max", breed: "Boxer", weeks: 8))
    #expect(puppy.name == "Max" && puppy.breed == "Boxer" && puppy.weeks == 8)
  }

  @Test func mergeKeepsTheObjectsThatAreReferredTo() throws {
    let folder = Folder(name: "a")
    let file = File(title: "x")
    folder.files = [file]
    file.folder = folder
    let source = Folder(name: "a")
    source.files = [file, File(title: "y")]
    let report = try folder.mergeValues(from: source)
    #expect(report.changedKeys == ["files"])
    // A new object is copied into the folder; the source keeps its own instance.
    #expect(folder.files[0] === file && folder.files[1] !== source.files[1] && folder.files[1].title == "y")
    let again = try folder.mergeValues(from: source)
    print(again.table(showsValues: true), again)
    #expect(again.isEmpty)
  }

  @Model(version: 1)
  final class Ring {
    let id: Int
    var text = ""
    @Field(merge: .recursive) var next: Ring?

    init(id: Int) { self.id = id }
  }

  @Test func recursiveMergeEndsOnCycles() throws {
    func ring(_ text: String) -> Ring {
      let first = Ring(id: 1), second = Ring(id: 2)
      first.next = second
      second.next = first
      second.text = text
      return first
    }
    let target = ring("old")
    let source = ring("new")
    try target.mergeValues(from: source)
    #expect(target.next?.text == "new")
    for ring in [target, source] {
      ring.next?.next = nil
      ring.next = nil
    }
  }

  @Test("M-13: writing a cycle as a dictionary or JSON throws notEncodable with its path")
  func dictionariesAndJSONSayWhyTheyCannotHoldCycles() throws {
    let folder = Folder(name: "a")
    folder.files = [File(title: "x")]
    folder.files[0].folder = folder
    #expect(try folder.dictionaryValue["files"]?.arrayValue?.first?["folder"] == .null)
    folder.parent = folder
    let error = try #require(throws: ArchiveError.self) { try folder.dictionaryValue }
    #expect(error.code == .notEncodable && error.pathDescription == "parent")
    for error in [archiveError { try folder.jsonData() }, archiveError { try JSONAdapter<Folder>().encode(folder) }] {
      #expect(error?.code == .notEncodable && error?.pathDescription == "parent")
    }
    folder.parent = nil
  }

  @Test func setsOfObjectsHaveAnOrderThatDoesNotDependOnTheRun() throws {
    let cities = (0..<20).map { City(name: "\($0)") }
    for city in cities { city.referenced = cities }
    struct Key: Hashable {}
    let box = Bag(cities: Set(cities.map { Element($0) }))
    let data = try ArchiveEncoder().encode(box)
    let again = try ArchiveDecoder().decode(Bag.self, from: data)
    #expect(again.cities.count == 20)
    #expect(try ArchiveEncoder().encode(again) == data)
    for city in cities + again.cities.map(\.city) { city.referenced = [] }
  }

  @Model(version: 1)
  struct Element: Hashable {
    var city: City
    init(_ city: City) { self.city = city }
    static func == (left: Self, right: Self) -> Bool { left.city === right.city }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(city)) }
  }

  @Model(version: 1)
  struct Bag {
    var cities: Set<Element> = []
  }
}
