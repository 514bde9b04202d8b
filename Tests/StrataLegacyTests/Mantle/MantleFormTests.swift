import Foundation
import Strata
import StrataTestSupport
import StrataCore
import Testing

/// Archives in Mantle's form, built without the library.
@Suite("Mantle's archives", .serialized)
struct MantleFormTests {
  private static func decode<T: Archivable>(
    _ type: T.Type = T.self, _ data: Data, _ report: inout DecodingReport
  ) throws -> T {
    try ArchiveDecoder().decode(T.self, fromKeyed: KeyedArchive(data), report: &report)
  }

  private static func decode<T: Archivable>(_ type: T.Type = T.self, _ data: Data) throws -> T {
    var report = DecodingReport()
    return try decode(T.self, data, &report)
  }

  private static func failure<T: Archivable>(_ type: T.Type, _ data: Data) -> ArchiveError? {
    archiveError { try decode(type, data) }
  }

  /// Returns the archive of a task.
  private static func task(
    version: Int64?, name: String = "GHTask", _ fields: (inout MantleArchive) -> [(String, MantleArchive.Node)]
  ) -> Data {
    var archive = MantleArchive()
    let members = fields(&archive)
    let type = archive.type(name)
    return archive.data(archive.model(type, version: version, members))
  }

  // MARK: Versions

  @Test("A-1: the version is a boxed entry next to one entry for each property")
  func properties() throws {
    let data = Self.task(version: 2) {
      [
        ("title", $0.string("Ünï")), ("count", $0.int(5)), ("isDone", $0.object(.bool(true))),
        ("weight", $0.object(.real(2.5))),
      ]
    }
    var report = DecodingReport()
    let expected = MantleTask(title: "Ünï", count: 5, isDone: true, weight: 2.5)
    #expect(try Self.decode(MantleTask.self, data, &report) == expected)
    #expect(report.isEmpty)
  }

  @Test("A-9, A-10: a missing version counts as 0 and is reported, and a hook reads the old key")
  func missingVersion() throws {
    let data = Self.task(version: nil) { [("mtl_title", $0.string("foobar")), ("count", $0.int(5))] }
    var report = DecodingReport()
    #expect(try Self.decode(MantleTask.self, data, &report) == MantleTask(title: "M: foobar", count: 5))
    #expect(report.typesWithoutVersion == ["MantleTask"])
    #expect(report.upgrades.map(\.toVersion) == [2])
  }

  @Test("AS-4: the version is a boxed or plain integer, and any other value throws damaged")
  func versionForms() throws {
    for version in [MantleArchive.Node.int(1), .real(1), .string("1")] {
      for isBoxed in [true, false] {
        let data = Self.task(version: nil) {
          [("MTLModelVersion", isBoxed ? $0.object(version) : version), ("count", $0.int(1))]
        }
        if case .int = version {
          #expect(try Self.decode(MantleTask.self, data).count == 1)
        } else {
          #expect(Self.failure(MantleTask.self, data)?.code == .damaged)
        }
      }
    }
  }

  @Test("A-7, A-14: a deeply nested newer model throws with its path, and no model is created")
  func newer() throws {
    var archive = MantleArchive()
    let type = archive.type("GHTask")
    let good = archive.model(type, version: 1, [("count", archive.int(1))])
    let bad = archive.model(type, version: 3, [("count", archive.string("no number"))])
    let members = archive.dictionary([("a", good), ("b", bad)])
    let middle = archive.model(type, version: 2, [("byName", members)])
    let root = archive.model(type, version: nil, [("parts", archive.array([good, middle]))])
    MantleCount.made.withLock { $0 = 0 }
    let error = Self.failure(MantleTask.self, archive.data(root))
    #expect(error?.code == .newerModel && error?.foundVersion == 3 && error?.supportedVersion == 2)
    #expect(error?.pathDescription == "parts[1].byName.b")
    #expect(MantleCount.made.withLock { $0 } == 0)
  }

  // MARK: Fields

  @Test("A-2, A-8: nil is not encoded, and a nil value keeps the default")
  func nils() throws {
    let data = Self.task(version: 2) { [("title", $0.null), ("count", $0.null), ("byName", $0.null)] }
    #expect(try Self.decode(MantleTask.self, data) == MantleTask())
    #expect(try Self.decode(MantleTask.self, Self.task(version: 2) { _ in [] }) == MantleTask())
    // An archive that is written for an old program omits nil as well.
    let written = try KeyedArchive(ArchiveEncoder().encodeKeyed(MantleTask(title: nil)))
    #expect(written.graph.objects.first?["title"] == nil)
  }

  @Test("A-4, A-8: an excluded property is not encoded but is read from an archive that contains it")
  func excluded() throws {
    let data = Self.task(version: 2) { [("nestedName", $0.string("fuzz"))] }
    #expect(try Self.decode(MantleTask.self, data).nestedName == "fuzz")
    let written = try KeyedArchive(ArchiveEncoder().encodeKeyed(MantleTask(nestedName: "fuzz")))
    #expect(written.graph.objects.first?["nestedName"] == nil)
    #expect(try ArchiveDecoder().decode(MantleTask.self, fromKeyed: written).nestedName == nil)
  }

  @Test("A-5: a conditional reference is the object before or after it, or nil if there is none")
  func conditional() throws {
    for isFirst in [true, false] {
      var archive = MantleArchive()
      let memo = archive.reserve()
      let pair = archive.model(archive.type("Pair"), version: 1, [("weakModel", memo), ("name", archive.string("p"))])
      archive.set(memo, archive.type("Memo"), version: 1, [("text", archive.string("t"))])
      let root = archive.array(isFirst ? [pair, memo, pair] : [memo, pair, pair])
      let found = try ArchiveDecoder().decode(
        PairOrMemo.self, fromKeyed: KeyedArchive(archive.data(root)))
      #expect(found.pairs.count == 2 && found.pairs[0] === found.pairs[1])
      #expect(found.memos.count == 1 && found.pairs[0].weakModel === found.memos[0])
    }
    var archive = MantleArchive()
    let type = archive.type("Pair")
    for fields in [[], [("weakModel", archive.null)]] as [[(String, MantleArchive.Node)]] {
      let pair = archive.model(type, version: 1, fields)
      #expect(try Self.decode(Pair.self, archive.data(pair)).weakModel == nil)
    }
    // Only the conditional reference refers to the memo, so the written archive omits it.
    let (pair, memo) = (Pair(), Memo())
    pair.weakModel = memo
    let alone = try KeyedArchive(ArchiveEncoder().encodeKeyed(pair))
    #expect(alone.graph.objects.count == 1 && alone.graph.objects[0]["weakModel"] == nil)
  }

  /// Collects the models of two classes from one array.
  struct PairOrMemo: Archivable {
    var pairs: [Pair] = []
    var memos: [Memo] = []

    func write(to writer: inout ArchiveWriter) throws {}
    static func _collectSchemas(into catalog: inout SchemaCatalog) {
      Pair._collectSchemas(into: &catalog)
      Memo._collectSchemas(into: &catalog)
    }
    static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> PairOrMemo {
      var result = PairOrMemo()
      for element in value.arrayValue ?? [] {
        if let pair = try? Pair.decode(from: element, in: context) {
          result.pairs.append(pair)
        } else {
          result.memos.append(try Memo.decode(from: element, in: context))
        }
      }
      return result
    }
  }

  @Test("A-20: shared objects and cycles keep their identity")
  func identity() throws {
    var archive = MantleArchive()
    let type = archive.type("City")
    let (a, b) = (archive.reserve(), archive.reserve())
    archive.set(a, type, version: 1, [("name", archive.string("a")), ("referenced", archive.array([b, b, a]))])
    archive.set(b, type, version: 1, [("name", archive.string("b")), ("referenced", archive.array([a]))])
    let cities = try Self.decode([City].self, archive.data(archive.array([a, b])))
    #expect(cities[0].referenced[0] === cities[1] && cities[0].referenced[1] === cities[1])
    #expect(cities[0].referenced[2] === cities[0] && cities[1].referenced[0] === cities[0])
    for city in cities { city.referenced = [] }
  }

  @Test("A-20: nested arrays and dictionaries of models are decoded")
  func nested() throws {
    var archive = MantleArchive()
    let type = archive.type("GHTask")
    let part = archive.model(type, version: 1, [("count", archive.int(3))])
    let row = archive.array([part, part])
    let root = archive.model(
      type, version: 2,
      [("grid", archive.array([row, archive.array([])])), ("byName", archive.dictionary([("a", part)]))])
    let small = MantleTask(count: 3)
    #expect(
      try Self.decode(MantleTask.self, archive.data(root))
        == MantleTask(grid: [[small, small], []], byName: ["a": small]))
  }

  @Test("A-14, A-16: objects keep their subclass and have the version of that class")
  func hierarchy() throws {
    var archive = MantleArchive()
    let animal = archive.type("Animal"), dog = archive.type("Dog", "Animal"), puppy = archive.type("Puppy", "Dog")
    let rex = archive.model(dog, version: 3, [("name", archive.string("Rex")), ("breed", archive.string("collie"))])
    let tim = archive.model(
      puppy, version: 1,
      [("name", archive.string("Tim")), ("breed", archive.string("pug")), ("weeks", archive.int(8)), ("friend", rex)])
    let ape = archive.model(animal, version: 1, [("title", archive.string("Ape"))])
    let data = archive.data(archive.array([tim, rex, ape]))
    let decoder = ArchiveDecoder(subclasses: [Dog.self, Puppy.self])
    let animals = try decoder.decode([Animal].self, fromKeyed: KeyedArchive(data))
    let first = try #require(animals[0] as? Puppy)
    #expect(first.name == "Tim" && first.breed == "pug" && first.weeks == 8 && first.friend === animals[1])
    #expect(type(of: animals[1]) == Dog.self && type(of: animals[2]) == Animal.self && animals[2].name == "Ape")
    // Writing the objects again writes each class with its superclasses.
    let again = try KeyedArchive(ArchiveEncoder(subclasses: decoder.subclasses).encodeKeyed(animals))
    #expect(again.classChain(of: "Puppy") == ["Puppy", "Dog", "Animal", "NSObject"])
    let copy = try decoder.decode([Animal].self, fromKeyed: again)
    #expect((copy[0] as? Puppy)?.friend === copy[1])
    #expect(Self.failure([Animal].self, data)?.code == .unknownType)
  }

  @Test(
    "A-18: a class is found by its name, module-qualified name, mangled name and former names",
    arguments: ["GHTask", "App.Task", "_TtC3App4Task", "MantleTask", "OldTask", "NSKVONotifying_GHTask"])
  func names(_ name: String) throws {
    #expect(try Self.decode(MantleTask.self, Self.task(version: 2, name: name) { [("count", $0.int(4))] }).count == 4)
  }

  @Test("A-17: enums are encoded by name, former names are accepted, and unknown names throw")
  func enums() throws {
    func data(_ name: String) -> Data { Self.task(version: 2) { [("kind", $0.string(name))] } }
    #expect(try Self.decode(MantleTask.self, data("urgent")).kind == .urgent)
    #expect(try Self.decode(MantleTask.self, data("hot")).kind == .urgent)
    let error = Self.failure(MantleTask.self, data("cold"))
    #expect(error?.code == .unknownCase && error?.pathDescription == "kind")
  }

  @Test("A-11: decoded models are validated, and all failures are thrown with their paths")
  func validation() throws {
    var archive = MantleArchive()
    let type = archive.type("GHTask")
    let bad = archive.model(type, version: 2, [("count", archive.int(101))])
    let good = archive.model(type, version: 2, [])
    let data = archive.data(archive.model(type, version: 2, [("parts", archive.array([good, bad]))]))
    let error = Self.failure(MantleTask.self, data)
    #expect(error?.code == .invalid)
    #expect(error?.failures.map(\.pathDescription) == ["parts[1].count"])
    let open = try ArchiveDecoder(validates: false).decode(MantleTask.self, fromKeyed: KeyedArchive(data))
    #expect(open.parts[1].count == 101)
  }

  @Test("A-13, AS-1: a value of the wrong type throws an error with its path, also in collections")
  func mismatch() throws {
    var archive = MantleArchive()
    let type = archive.type("GHTask")
    let bad = archive.model(type, version: 2, [("title", archive.int(5))])
    let data = archive.data(archive.model(type, version: 2, [("grid", archive.array([archive.array([bad])]))]))
    let error = Self.failure(MantleTask.self, data)
    #expect(error?.code == .typeMismatch && error?.pathDescription == "grid[0][0].title")
  }

  @Test("A-15: an error thrown by a hook is wrapped with type and key")
  func failingHook() throws {
    let error = Self.failure(MantleTask.self, Self.task(version: 2) { [("fails", $0.int(1))] })
    #expect(error?.underlyingError is MantleFailure)
    #expect(error?.typeName == "MantleTask" && error?.key == "count")
  }

  @Test("AS-2, AS-5: an element of another class than the field's throws, whatever superclass it names")
  func elements() throws {
    var archive = MantleArchive()
    let other = archive.model(archive.type("Memo.Old", "GHTask"), version: 3, [])
    let unknown = archive.model(archive.type("Evil"), version: 1, [])
    for (element, code) in [(other, ArchiveError.Code.unknownType), (unknown, .unknownType)] {
      let type = archive.type("GHTask")
      let data = archive.data(archive.model(type, version: 2, [("parts", archive.array([element]))]))
      let error = Self.failure(MantleTask.self, data)
      #expect(error?.code == code && error?.pathDescription == "parts[0]")
    }
  }

  // MARK: The form before 0.4

  /// Creates an archive in the form before 0.4. Its only key apart from the version contains a dictionary in JSON form.
  private static func old(
    _ name: String, version: Int64?, _ members: (inout MantleArchive) -> [(String, MantleArchive.Node)]
  ) -> Data {
    var archive = MantleArchive()
    let fields = members(&archive)
    let dictionary = archive.dictionary(fields)
    let type = archive.type(name)
    return archive.data(archive.model(type, version: version, [("externalRepresentation", dictionary)]))
  }

  @Test(
    "AO-1, AO-5, AO-6, AO-8: a JSON mapping reads the old form with excluded properties and missing keys")
  func byMapping() throws {
    let data = Self.old("GHTask", version: nil) { archive in
      [("nested", archive.dictionary([("name", archive.string("fuzz"))])), ("count", archive.int(7))]
    }
    var report = DecodingReport()
    #expect(try Self.decode(MantleTask.self, data, &report) == MantleTask(count: 7, nestedName: "fuzz"))
    #expect(report.typesWithoutVersion == ["MantleTask"])
  }

  @Test(
    "AO-1, AO-7, A-19: a model's own hook receives dictionary and version, and the steps follow",
    arguments: [0, 1, 2])
  func byHook(_ version: Int64) throws {
    let data = Self.old("Memo.Old", version: version) { [("t", $0.string("abc")), ("n", $0.string("12"))] }
    var report = DecodingReport()
    let memo = try Self.decode(MantleMemo.self, data, &report)
    // From version 2 on, the field already had its new name, so no step reads the old one.
    #expect(memo == MantleMemo(text: version < 2 ? "abc" : "", pages: 12))
    #expect(report.upgrades.map(\.fromVersion) == [Int(version)])
  }

  @Test("AO-3: the version is checked before the hook runs")
  func versionFirst() throws {
    MantleCount.hooks.withLock { $0 = 0 }
    let data = Self.old("Memo.Old", version: 4) { [("t", $0.string("abc"))] }
    #expect(Self.failure(MantleMemo.self, data)?.code == .newerModel)
    #expect(MantleCount.hooks.withLock { $0 } == 0)
  }

  @Test("AO-2: an error of the hook, or an old form that is unreadable, throws with its path")
  func failingOldForm() throws {
    let data = Self.old("Memo.Old", version: 1) { [("broken", $0.int(1))] }
    let error = Self.failure(MantleMemo.self, data)
    #expect(error?.underlyingError is MantleFailure && error?.pathDescription == "externalRepresentation")
    var archive = MantleArchive()
    let type = archive.type("GHTask")
    let flat = archive.model(type, version: 1, [("externalRepresentation", archive.string("no dictionary"))])
    #expect(Self.failure(MantleTask.self, archive.data(flat))?.code == .typeMismatch)
  }

  @Test("AO-5: the hook can set an excluded field")
  func excludedByHook() throws {
    let data = Self.old("Memo.Old", version: 1) { [("c", $0.string("kept"))] }
    #expect(try Self.decode(MantleMemo.self, data).cache == "kept")
  }

  @Test("AO-4: a field named externalRepresentation is a field, not the old form")
  func field() throws {
    var archive = MantleArchive()
    let type = archive.type("MantleLetter")
    let data = archive.data(archive.model(type, version: 1, [("externalRepresentation", archive.string("text"))]))
    #expect(try Self.decode(MantleLetter.self, data) == MantleLetter(externalRepresentation: "text"))
  }
}
