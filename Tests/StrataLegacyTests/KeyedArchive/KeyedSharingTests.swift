import Foundation
import StrataCore
import StrataLegacy
import StrataTestSupport
import Testing

@Suite("Shared strings and data in keyed archives")
struct KeyedSharingTests {
  private static let long = String(repeating: "k", count: 1 << 16)

  /// Archives that refer to one long object many times, in every possible way.
  private static let bombs: [(String, [Plist])] = {
    func many(_ object: Plist) -> Plist { .array(Array(repeating: object, count: 2000)) }
    let text = Plist.plain(.string(long))
    return [
      ("text", [many(.uid(2)), text]),
      ("data", [many(.uid(2)), .plain(.data(Data(long.utf8)))]),
      ("a list of text", [many(.uid(2)), [text]]),
      ("a dictionary with a long key", [many(.uid(2)), .dictionary([(long, Plist.array([]))])]),
      ("objects of a class with a long name", [many(["$class": .uid(2)]), ["$classname": text]]),
    ]
  }()

  @Test("Shared strings and data that expand too far throw, whatever refers to them", arguments: bombs.indices)
  func repeated(place: Int) throws {
    let table = Plist.keyed(Self.bombs[place].1).table
    let error = archiveError { _ = try KeyedArchive(table) }
    #expect(error?.code == .limitExceeded && error?.limit == .expandedBytes, "\(Self.bombs[place].0)")
  }

  @Test("Shared strings and data may be repeated within the limit") func few() throws {
    let archive = try KeyedArchive(.array(Array(repeating: .uid(2), count: 100)), .plain(.string(Self.long)))
    #expect(archive.top["root"]?.arrayValue?.count == 100)
  }

  @Test("X-33: encoding values with shared parts stops at the output size limit", .tags(.long), .longRunsOnly)
  func writing() {
    var value = ArchiveValue.array([.string("a")])
    for _ in 0..<40 { value = .array([value, value]) }
    let error = archiveError { _ = try KeyedArchive(ObjectGraph(objects: [], root: value)).data() }
    #expect(error?.limit == .outputSize)
  }

  @Test("Shared data in a property list throws if it expands too far") func propertyLists() {
    let list = PropertyList(
      objects: [.array(Array(repeating: 1, count: 2000)), .data(Data(Self.long.utf8))], root: 0)
    let error = archiveError { _ = try PropertyListReader().value(of: list) }
    #expect(error?.code == .limitExceeded)
  }

  @Test("X-33: a shared property list object is created once") func shared() throws {
    let list = PropertyList(objects: [.array([1, 1, 2]), .array([2, 2]), .string("a")], root: 0)
    let elements = try #require(try PropertyListReader().value(of: list).arrayValue)
    #expect(elements == [["a", "a"], ["a", "a"], "a"])
    #expect(StorageIdentity(elements[0].arrayValue ?? []) == StorageIdentity(elements[1].arrayValue ?? []))
    // Each level contains the next one twice.
    func doubled(_ levels: Int) -> PropertyList {
      PropertyList(objects: (1...levels).map { .array([$0, $0]) } + [.string("a")], root: 0)
    }
    #expect(try PropertyListReader().value(of: doubled(20)).arrayValue?.count == 2)
    #expect(archiveError { _ = try PropertyListReader().value(of: doubled(28)) }?.limit == .values)
    var reader = PropertyListReader()
    (reader.limits.values, reader.limits.expandedBytes, reader.limits.maxWorkPerByte) = (.max, .max, .max)
    #expect(archiveError { _ = try reader.value(of: doubled(400)) }?.code == .limitExceeded)
    reader.limits.depth = 10
    #expect(archiveError { _ = try reader.value(of: doubled(12)) }?.limit == .depth)
  }

  @Test("X-33: a shared object counts with its full depth at each position") func sharedDepth() throws {
    // The root contains an array directly, and again two levels further down inside another array.
    let list = PropertyList(
      objects: [.array([1, 3]), .array([2]), .array([5]), .array([4]), .array([1]), .null], root: 0)
    var reader = PropertyListReader()
    reader.limits.depth = 5
    #expect(archiveError { _ = try reader.value(of: list) } == nil)
    reader.limits.depth = 4
    #expect(archiveError { _ = try reader.value(of: list) }?.limit == .depth)
  }

  @Test("X-33: decoding a hundred thousand data objects takes linear time") func dataObjects() async {
    await #expect(processExitsWith: .success) {
      let count = 100_000
      var objects: [PropertyList.Object] = [
        .dictionary([
          .init(key: 1, value: 2), .init(key: 3, value: 4), .init(key: 5, value: 6), .init(key: 7, value: 9),
        ]), .string("$archiver"), .string("NSKeyedArchiver"), .string("$version"), .integer(100_000),
        .string("$objects"), .array([10, 11] + (0..<count).map { 12 + $0 }), .string("$top"), .string("root"),
        .dictionary([.init(key: 8, value: 12 + count)]), .string("$null"),
        .array((0..<count).map { 13 + count + $0 }),
      ]
      objects += (0..<count).map { .data(Data("data object \($0)".utf8)) }
      objects.append(.uid(1))
      objects += (0..<count).map { .uid(UInt64($0 + 2)) }
      let list = PropertyList(objects: objects, root: 0)
      // If each archive copied all the previous ones, this would take minutes.
      Child.limit(seconds: 30)
      let archive = try KeyedArchive(list)
      #expect(archive.top["root"]?.arrayValue?.count == count)
    }
  }

  @Test("A class chain has at most 64 names", arguments: [64, 65]) func chains(count: Int) throws {
    let names = Plist.array((0..<count).map { .plain(.string("C\($0)")) })
    let error = archiveError {
      _ = try KeyedArchive(["$class": .uid(2)], ["$classname": "C0", "$classes": names])
    }
    #expect(error?.code == (count > 64 ? .limitExceeded : nil))
  }

  @Test("Top keys keep the order of the file") func topKeys() throws {
    let archive = try KeyedArchive(1, top: ["z": 1, "root": 2, "a": 3])
    #expect(archive.topKeys == ["z", "root", "a"])
  }
}
