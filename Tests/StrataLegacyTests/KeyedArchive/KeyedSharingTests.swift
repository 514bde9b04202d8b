import Foundation
import StrataCore
import StrataLegacy
import StrataTestSupport
import Testing

@Suite("Shared text and data of keyed archives")
struct KeyedSharingTests {
  private static let long = String(repeating: "k", count: 1 << 16)

  /// What refers to one long thing many times, by the ways that there are.
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

  @Test("They are not repeated without end, whatever way refers to them", arguments: bombs.indices)
  func repeated(place: Int) throws {
    let table = Plist.keyed(Self.bombs[place].1).table
    let error = archiveError { _ = try KeyedArchive(table) }
    #expect(error?.code == .limitExceeded && error?.limit == .expandedBytes, "\(Self.bombs[place].0)")
  }

  @Test("They are repeated where that is not much") func few() throws {
    let archive = try KeyedArchive(.array(Array(repeating: .uid(2), count: 100)), .plain(.string(Self.long)))
    #expect(archive.top["root"]?.arrayValue?.count == 100)
  }

  @Test("X-33: values that share their parts are not written without end", .tags(.long), .longRunsOnly) func writing() {
    var value = ArchiveValue.array([.string("a")])
    for _ in 0..<40 { value = .array([value, value]) }
    let error = archiveError { _ = try KeyedArchive(ObjectGraph(objects: [], root: value)).data() }
    #expect(error?.limit == .outputSize)
  }

  @Test("A property list repeats them no further either") func propertyLists() {
    let list = PropertyList(
      objects: [.array(Array(repeating: 1, count: 2000)), .data(Data(Self.long.utf8))], root: 0)
    let error = archiveError { _ = try PropertyListReader().value(of: list) }
    #expect(error?.code == .limitExceeded)
  }

  @Test("A class has no more than 64 names above it", arguments: [64, 65]) func chains(count: Int) throws {
    let names = Plist.array((0..<count).map { .plain(.string("C\($0)")) })
    let error = archiveError {
      _ = try KeyedArchive(["$class": .uid(2)], ["$classname": "C0", "$classes": names])
    }
    #expect(error?.code == (count > 64 ? .limitExceeded : nil))
  }

  @Test("The top keys keep the order of the file") func topKeys() throws {
    let archive = try KeyedArchive(1, top: ["z": 1, "root": 2, "a": 3])
    #expect(archive.topKeys == ["z", "root", "a"])
  }
}
