import Foundation
import Strata
import StrataTestSupport
import Testing

@Suite("Classes and their superclasses")
struct HierarchyTests {
  @Test("M-1: inherited fields follow a class's own fields, and a duplicate key throws invalidSchema")
  func fields() throws {
    #expect(Puppy.schema.fields.map(\.key) == ["weeks", "breed", "friend", "name", "keeper"])
    let keys = try Puppy(name: "Bit", breed: "Pug", weeks: 7).dictionaryValue.keys
    #expect(keys.sorted() == ["breed", "friend", "keeper", "name", "weeks"])
    let twice = ModelSchema(
      Puppy.self, name: "Twice", version: 1, superclass: Animal.self, fields: [FieldInfo("name", String.self)])
    let error = #expect(throws: ArchiveError.self) { try twice.check() }
    #expect(error?.code == .invalidSchema && error?.reason.contains("name") == true)
  }

  @Test(
    "A-3: a field is archived always, never or conditionally, and inherited fields keep their behavior")
  func behaviours() {
    func behaviours(_ schema: ModelSchema) -> [String: ArchiveBehavior] {
      Dictionary(uniqueKeysWithValues: schema.fields.map { ($0.key, $0.archive) })
    }
    #expect(behaviours(Pair.schema) == ["weakModel": .conditional, "name": .always])
    #expect(behaviours(File.schema) == ["title": .always, "folder": .conditional, "sibling": .conditional])
    #expect(
      behaviours(Dog.schema) == ["breed": .always, "friend": .always, "name": .always, "keeper": .conditional])
    #expect(behaviours(Acquaintance.schema)["cache"] == .excluded)
  }

  /// Returns the graph of a keeper with three animals, and the object number of each animal by its name.
  private func graph() throws -> (graph: ObjectGraph, numbers: [String: Int]) {
    let keeper = Keeper()
    keeper.animals = [
      Animal(name: "Cat"), Dog(name: "Rex", breed: "Pug"), Puppy(name: "Bit", breed: "Pug", weeks: 7),
    ]
    for animal in keeper.animals { animal.keeper = keeper }
    guard
      case .graph(let graph) = try ArchiveDecoder().decodeValue(
        from: ArchiveEncoder(subclasses: [Dog.self, Puppy.self]).encode(keeper))
    else {
      throw Unexpected()
    }
    let names = graph.objects.enumerated().compactMap { number, object in
      object["name"]?.stringValue.map { ($0, number) }
    }
    return (graph, Dictionary(uniqueKeysWithValues: names))
  }

  private func archive(_ graph: ObjectGraph) throws -> Data {
    try ArchiveEncoder().encode(graph, typeName: "Keeper", modelVersion: 1)
  }

  private let decoder = ArchiveDecoder(subclasses: [Dog.self, Puppy.self])

  @Test(
    "A-7, A-14: a newer version of any object or of its superclass throws newerModel", arguments: ["Cat", "Rex", "Bit"])
  func newer(name: String) throws {
    var (graph, numbers) = try graph()
    let number = try #require(numbers[name])
    var record = try #require(graph.objects[number].recordValue)
    if record.superclasses.isEmpty {
      record.modelVersion = 3
    } else {
      record.superclasses[record.superclasses.count - 1].modelVersion = 3
    }
    graph.objects[number] = .record(record)
    let data = try archive(graph)
    for newer in [
      archiveError { try decoder.decode(Keeper.self, from: data) },
      archiveError { try ArchiveUpgrader(Keeper.self, subclasses: [Dog.self, Puppy.self]).upgrade(data) },
    ] {
      #expect(newer?.code == .newerModel && newer?.typeName == "Animal")
      #expect(newer?.foundVersion == 3 && newer?.supportedVersion == 2)
    }
  }

  @Test("A-19: the upgrader rewrites every object and keeps all references")
  func upgrade() throws {
    var (graph, numbers) = try graph()
    for number in numbers.values {
      var record = try #require(graph.objects[number].recordValue)
      record.rename("name", to: "title")
      if record.superclasses.isEmpty {
        record.modelVersion = 1
      } else {
        record.superclasses[record.superclasses.count - 1].modelVersion = 1
      }
      graph.objects[number] = .record(record)
    }
    var report = DecodingReport()
    let upgraded = try ArchiveUpgrader(Keeper.self, subclasses: [Dog.self, Puppy.self])
      .upgrade(archive(graph), report: &report)
    #expect(report.upgrades.map(\.typeName) == ["Animal"])
    let again = try ArchiveUpgrader(Keeper.self, subclasses: [Dog.self, Puppy.self]).upgrade(upgraded, report: &report)
    #expect(again == upgraded && report.upgrades.isEmpty)
    let keeper = try decoder.decode(Keeper.self, from: upgraded)
    #expect(keeper.animals.map(\.name) == ["Cat", "Rex", "Bit"])
    #expect(keeper.animals.allSatisfy { $0.keeper === keeper })
    #expect(try ArchiveEncoder(subclasses: [Dog.self, Puppy.self]).encode(keeper) == upgraded)
    #expect(archiveError { try ArchiveUpgrader(Keeper.self).upgrade(upgraded) }?.code == .unknownType)
  }

  @Model(version: 2)
  final class Sticker: KeyMigrating {
    var text = ""
    var twin: Sticker?

    static func decodeValue(forKey key: String, modelVersion: Int, in record: ModelRecord) throws -> ArchiveValue? {
      key == "text" && modelVersion < 2 ? record["caption"] : record[key]
    }
  }

  @Test("A-8: the key hook of a class is called for an object in a cycle, also when upgrading")
  func hooks() throws {
    let name = Sticker.schema.name
    let record = ModelRecord(typeName: name, modelVersion: 1, fields: [("caption", "x"), ("twin", .reference(0))])
    let graph = ObjectGraph(objects: [.record(record)], root: .reference(0))
    let data = try ArchiveEncoder().encode(graph, typeName: name, modelVersion: 1)
    for archive in [data, try ArchiveUpgrader(Sticker.self).upgrade(data)] {
      let sticker = try ArchiveDecoder().decode(Sticker.self, from: archive)
      #expect(sticker.text == "x" && sticker.twin === sticker)
      sticker.twin = nil
    }
    #expect(try Stamp(of: ArchiveUpgrader(Sticker.self).upgrade(data)).modelVersion == 2)
  }

  @Model(version: 1)
  class Level1 {
    var a = ""
    init() {}
  }
  @Model(version: 2, superclass: Level1.self)
  class Level2: Level1 {
    var b = ""
    override init() { super.init() }
  }
  @Model(version: 3, superclass: Level2.self)
  final class Level3: Level2, KeyMigrating {
    var c = ""
    override init() { super.init() }
    static func decodeValue(forKey key: String, modelVersion: Int, in record: ModelRecord) throws -> ArchiveValue? {
      .string("\(key)\(modelVersion)")
    }
  }

  @Test("A key hook receives the version of the class that declares the field, at any level")
  func versionsOfLevels() throws {
    let level = try archived(Level3())
    #expect([level.c, level.b, level.a] == ["c3", "b2", "a1"])
  }

  @Test("An unreferenced object does not prevent upgrading and decoding")
  func unreferenced() throws {
    var (graph, _) = try graph()
    graph.objects.append(.record(ModelRecord(typeName: "Animal", modelVersion: 1, fields: [("title", "Ghost")])))
    let upgraded = try ArchiveUpgrader(Keeper.self, subclasses: [Dog.self, Puppy.self]).upgrade(archive(graph))
    #expect(try decoder.decode(Keeper.self, from: upgraded).animals.count == 3)
  }

  @Model(version: 1)
  class Boat: ModelHierarchy {
    var name = ""
    init() {}
    static var subclasses: [any VersionedModel.Type] { [Ferry.self] }
  }

  @Model(version: 1, superclass: Boat.self)
  final class Ferry: Boat {
    var cars = 0
    override init() { super.init() }
  }

  @Model(version: 1)
  struct Harbour { var boats: [Boat] = [] }

  @Test("A record in place of an object decodes as the subclass that it names")
  func subclassInPlace() throws {
    let ferry = Ferry()
    (ferry.name, ferry.cars) = ("Helvetia", 7)
    let harbour = try Harbour(dictionary: Harbour(boats: [ferry, Boat()]).dictionaryValue)
    #expect((harbour.boats.first as? Ferry)?.cars == 7 && harbour.boats.first?.name == "Helvetia")
    #expect(harbour.boats.count == 2 && !(harbour.boats[1] is Ferry))
    // A record is rejected if its class isn't a registered subclass.
    let strange = ModelRecord(typeName: "Harbour", modelVersion: 1)
    let error = archiveError { try Harbour(dictionary: ["boats": .array([.record(strange)])]) }
    #expect(error?.code == .unknownType)
  }

  @Test("A record of a class that is not in a graph is upgraded")
  func upgradeOfARecord() throws {
    let record = ModelRecord(typeName: "Animal", modelVersion: 1, fields: [("title", "Cat")])
    let upgraded = try ArchiveUpgrader(Animal.self).upgrade(ArchiveEncoder().encode(record))
    #expect(try Stamp(of: upgraded).modelVersion == 2)
    #expect(try ArchiveDecoder().decode(Animal.self, from: upgraded).name == "Cat")
  }

  @Test("A-16: an archive of a subclass has the version of the subclass, not of its superclass")
  func rootOfASubclass() throws {
    let data = try ArchiveEncoder().encode(Dog(name: "Rex", breed: "Pug"))
    #expect(try Stamp(of: data).modelVersion == 3)
    #expect(try ArchiveUpgrader(Animal.self, subclasses: [Dog.self]).upgrade(data) == data)
    #expect((try decoder.decode(Animal.self, from: data) as? Dog)?.breed == "Pug")
    let newer = try ArchiveEncoder().encode(ModelRecord(typeName: "Animal", modelVersion: 3))
    #expect(archiveError { try decoder.decode(Animal.self, from: newer) }?.code == .newerModel)
  }

  struct Unexpected: Error {}
}
