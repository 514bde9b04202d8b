import Foundation
import Strata
import StrataTestSupport
import Testing

@Suite struct GraphTests {
  @Test("A-20: a shared instance is decoded as one instance")
  func sharing() throws {
    let folder = Folder(name: "a")
    let file = File(title: "x")
    folder.files = [file, File(title: "y"), file]
    folder.favourite = file
    folder.byName = ["x": file]
    folder.box = Wrapping(file: file, note: "n")
    let copy = try archived(folder)
    #expect(copy.files.map(\.title) == ["x", "y", "x"])
    #expect(copy.files[0] === copy.files[2])
    #expect(copy.favourite === copy.files[0])
    #expect(copy.byName["x"] === copy.files[0])
    #expect(copy.box?.file === copy.files[0])
    #expect(copy.box?.note == "n")
  }

  @Test("A-5: a conditional reference is written only if something else writes its object, in any order")
  func conditional() throws {
    let folder = Folder(name: "a")
    let file = File(title: "x")
    file.folder = folder
    folder.files = [file]
    #expect(try archived(file).folder == nil)
    let copy = try archived(folder)
    #expect(copy.files[0].folder === copy)

    let pair = Pair()
    let empty = Memo()
    pair.weakModel = empty
    struct Two: Equatable {}
    for order in [true, false] {
      let array: [AnyHolder] = order ? [.pair(pair), .box(empty)] : [.box(empty), .pair(pair)]
      let again = try archived(array)
      var found: (Pair?, Memo?)
      for element in again {
        switch element {
        case .pair(let pair): found.0 = pair
        case .box(let box): found.1 = box
        }
      }
      #expect(found.0?.weakModel != nil)
      #expect(found.0?.weakModel === found.1)
    }
    #expect(try archived(pair).weakModel == nil)
  }

  @Model(version: 1)
  enum AnyHolder {
    case pair(Pair)
    case box(Memo)
  }

  @Test("A-5: a strong reference can also be conditional")
  func conditionalReferenceThatIsStrong() throws {
    let first = File(title: "1"), second = File(title: "2")
    first.sibling = second
    #expect(try archived(first).sibling == nil)
    let both = try archived([first, second])
    #expect(both[0].sibling === both[1])
  }

  @Test("A-20, M-13, U-15: decoding restores reference cycles", arguments: 1...4)
  func cycles(count: Int) throws {
    let cities = (0..<count).map { City(name: "\($0)") }
    for city in cities { city.referenced = cities }
    let copies = try archived(cities)
    #expect(copies.map(\.name) == cities.map(\.name))
    for copy in copies {
      #expect(copy.referenced.count == count)
      #expect(zip(copy.referenced, copies).allSatisfy { $0 === $1 })
    }
    for city in cities + copies { city.referenced = [] }
  }

  @Model(version: 1)
  final class Ring {
    var numbers = Array(0..<1000)
    var next: Ring?
    init() {}
  }

  @Test("X-33: decoding fields of a cycle a second time does not count their values again")
  func budgetOfCycle() throws {
    /// Returns the smallest limit on values under which the archive of `ring` can be decoded.
    func leastValues(_ ring: Ring) throws -> Int {
      let data = try ArchiveEncoder().encode(ring)
      var (low, high) = (0, 10_000)
      while low < high {
        let middle = (low + high) / 2
        var limits = ArchiveLimits()
        limits.values = middle
        let decoder = ArchiveDecoder(limits: limits)
        if (try? decoder.decode(Ring.self, from: data)) == nil { low = middle + 1 } else { high = middle }
      }
      return low
    }
    let first = Ring(), second = Ring()
    first.next = second
    let line = try leastValues(first)
    second.next = first
    defer { second.next = nil }
    let cycle = try leastValues(first)
    #expect(line > 2000 && cycle <= line + 10, "\(line) and \(cycle)")
  }

  @Test func selfReference() throws {
    let folder = Folder(name: "a")
    folder.parent = folder
    let copy = try archived(folder)
    #expect(copy.parent === copy)
    folder.parent = nil
    copy.parent = nil
  }

  @Test("A list of 100,000 objects decodes without stack overflow or quadratic time", .tags(.long), .longRunsOnly)
  func longList() throws {
    let (head, all) = Link.list(100_000)
    let data = try ArchiveEncoder().encode(head)
    let copies = try ArchiveDecoder().decode(Link.self, from: data).rest
    #expect(copies.count == all.count)
    #expect(zip(copies, all).allSatisfy { $0.value == $1.value })
    #expect(zip(copies.dropFirst(), copies).allSatisfy { $0.previous === $1 })
    #expect(copies[0].previous == nil)
    // Encodes the last node as the root, so that each object is read after those that refer to it.
    let tail = all[all.count - 1]
    #expect(try archived(tail).value == tail.value)
    #expect(throws: (any Error).self) { try ArchiveDecoder().decode(Link.self, from: data.dropLast(9)) }
    Link.cut(all)
    Link.cut(copies)
  }

  @Test func equalGraphsMakeEqualBytes() throws {
    func make() -> Folder {
      let folder = Folder(name: "a")
      folder.files = (0..<20).map { File(title: "\($0)") }
      for file in folder.files { file.folder = folder }
      folder.byName = Dictionary(uniqueKeysWithValues: folder.files.map { ($0.title, $0) })
      return folder
    }
    let first = make(), second = make()
    #expect(try ArchiveEncoder().encode(first) == ArchiveEncoder().encode(second))
  }

  @Test func streamOfGraphs() async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "graphs.strata")
      var writer = try ArchiveStreamWriter<Folder>(creating: url)
      var kept: [Folder] = []
      for number in 0..<2000 {
        let folder = Folder(name: "\(number)")
        folder.files = [File(title: "x")]
        folder.files[0].folder = folder
        try writer.append(folder)
        kept.append(folder)
      }
      try writer.finish()
      var number = 0
      for try await folder in ArchiveSequence(Folder.self, from: url) {
        #expect(folder.name == "\(number)")
        #expect(folder.files[0].folder === folder)
        number += 1
      }
      #expect(number == 2000)
    }
  }

  @Test("A-16, A-20: objects are archived with their dynamic class, whatever the type of the reference")
  func hierarchy() throws {
    let keeper = Keeper()
    let dog = Dog(name: "Rex", breed: "Pug")
    let puppy = Puppy(name: "Bit", breed: "Pug", weeks: 7)
    dog.friend = puppy
    puppy.friend = dog
    keeper.animals = [dog, Animal(name: "Cat"), puppy]
    for animal in keeper.animals { animal.keeper = keeper }
    let data = try ArchiveEncoder(subclasses: [Dog.self, Puppy.self]).encode(keeper)
    let copy = try ArchiveDecoder(subclasses: [Dog.self, Puppy.self]).decode(Keeper.self, from: data)
    #expect(copy.animals.map(\.name) == ["Rex", "Cat", "Bit"])
    let copiedDog = try #require(copy.animals[0] as? Dog)
    let copiedPuppy = try #require(copy.animals[2] as? Puppy)
    #expect(type(of: copy.animals[1]) == Animal.self)
    #expect(copiedDog.breed == "Pug" && copiedPuppy.weeks == 7)
    #expect(copiedDog.friend === copiedPuppy && copiedPuppy.friend === copiedDog)
    #expect(copy.animals.allSatisfy { $0.keeper === copy })
    #expect {
      try ArchiveDecoder().decode(Keeper.self, from: data)
    } throws: {
      ($0 as? ArchiveError)?.code == .unknownType
    }
    for dog in [dog, puppy, copiedDog, copiedPuppy] { dog.friend = nil }
  }

  @Test("A-14: each class of a hierarchy has its own version and steps")
  func levels() throws {
    guard
      case .graph(var graph) = try ArchiveDecoder().decodeValue(
        from: ArchiveEncoder().encode(Puppy(name: "Bit", breed: "Pug", weeks: 7))),
      case .record(var record) = graph.objects[0]
    else { throw Unexpected() }
    #expect(record.keys == ["weeks", "breed", "friend", "name", "keeper"])
    #expect(record.superclasses.map { "\($0.typeName) \($0.modelVersion)" } == ["Dog 3", "Animal 2"])
    record.rename("name", to: "title")
    record.superclasses[1].modelVersion = 1
    graph.objects[0] = .record(record)
    var report = DecodingReport()
    let data = try ArchiveEncoder().encode(graph, typeName: "Puppy", modelVersion: 1)
    #expect(try ArchiveDecoder().decode(Puppy.self, from: data, report: &report).name == "Bit")
    #expect(report.upgrades.map(\.typeName) == ["Animal"])

    record.superclasses[0].modelVersion = 4
    graph.objects[0] = .record(record)
    let newer = try ArchiveEncoder().encode(graph, typeName: "Puppy", modelVersion: 1)
    #expect {
      try ArchiveDecoder().decode(Puppy.self, from: newer)
    } throws: {
      ($0 as? ArchiveError)?.code == .newerModel && ($0 as? ArchiveError)?.typeName == "Dog"
    }
  }

  struct Unexpected: Error {}
}
