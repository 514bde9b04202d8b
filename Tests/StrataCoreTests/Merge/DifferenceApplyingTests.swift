import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("Applying a difference to a third value")
struct DifferenceApplyingTests {
  private func applied(_ old: ArchiveValue, _ new: ArchiveValue, to third: ArchiveValue) throws -> ArchiveValue {
    try ValueDifference(from: old, to: new).applied(to: third)
  }

  private func elements(_ ids: [Int]) -> ArchiveValue {
    .array(ids.map { ["id": .integer($0), "n": .integer($0 * 10)] })
  }

  @Test(
    "Elements missing from a reordering follow it in their existing order",
    arguments: [
      ([1, 2], [2, 1], [1, 2, 9], [2, 1, 9]), ([1, 2], [2, 1], [9, 1, 2], [2, 1, 9]),
      ([1, 2, 3], [3, 1, 4], [1, 8, 2, 3, 9], [3, 1, 4, 8, 9]), ([1, 2], [2, 1], [9, 2, 8, 1, 7], [2, 1, 9, 8, 7]),
    ])
  func order(_ old: [Int], _ new: [Int], _ third: [Int], _ result: [Int]) throws {
    #expect(try applied(elements(old), elements(new), to: elements(third)) == elements(result))
  }

  @Test("Reordering elements that no longer exist throws mergeFailed")
  func gone() {
    for third in [[1], [2, 9], []] {
      let error = #expect(throws: ArchiveError.self) {
        try applied(elements([1, 2]), elements([2, 1]), to: elements(third))
      }
      #expect(error?.code == .mergeFailed)
    }
  }

  @Test("A changed record keeps its oldest reader and writer, regardless of how many keys change", arguments: 0...12)
  func floors(_ count: Int) throws {
    func record(_ keys: [String]) -> ModelRecord {
      let shape = RecordShape(
        typeName: "Note", modelVersion: 3, keys: keys, floors: VersionFloors(reader: 1, writer: 2))
      return ModelRecord(shape: shape, values: keys.map { .string($0) })
    }
    let old = record((0..<12).map { "old\($0)" })
    let new = record((0..<12).map { $0 < count ? "new\($0)" : "old\($0)" })
    let result = try #require(try applied(.record(old), .record(new), to: .record(old)).recordValue)
    #expect(Set(result.keys) == Set(new.keys))
    #expect(result.shape.floors == VersionFloors(reader: 1, writer: 2))
  }

  @Test("Adding an existing member or removing a missing one throws mergeFailed")
  func members() throws {
    for (old, new, third) in [
      (.set([1]), .set([1, 2]), .set([1, 2])), (["a": 1], ["a": 1, "b": 2], ["a": 1, "b": 2]),
      (.map([]), .map([.init(key: 1, value: 1)]), .map([.init(key: 1, value: 1)])),
      (elements([1]), elements([1, 2]), elements([1, 2])), (.set([1]), .set([]), .set([2])),
    ] as [(ArchiveValue, ArchiveValue, ArchiveValue)] {
      let error = #expect(throws: ArchiveError.self) { try applied(old, new, to: third) }
      #expect(error?.code == .mergeFailed, "\(new)")
    }
    #expect(try applied(.set([1]), .set([1, 2]), to: .set([1, 3])) == .set([1, 2, 3]))
  }

  @Test("Applying a difference to a value of another kind throws mergeFailed")
  func kinds() throws {
    let (pair, swapped) = (elements([1, 2]), elements([2, 1]))
    let object: ArchiveValue = ["a": 1]
    let cases: [(ArchiveValue, ArchiveValue, ArchiveValue)] = [
      (pair, swapped, object), (pair, swapped, .set([])), ([1], [2], .set([1])), ([1, 2], [1, 2, 3], .set([1, 2])),
      (object, ["a": 1, "b": 2], .set([])), (.set([]), .set([1]), []), (["a": [1]], ["a": [2]], ["a": .set([1])]),
      (1, 2, object),
    ]
    for (old, new, third) in cases {
      let error = #expect(throws: ArchiveError.self) { try applied(old, new, to: third) }
      #expect(error?.code == .mergeFailed, "\(old) \(third)")
    }
  }

  private static func unique(_ random: inout SeededRandom) -> [Int] {
    Array((0..<8).shuffled(using: &random).prefix(Int.random(in: 0...6, using: &random)))
  }

  /// The expected result follows from the identifiers alone: it has the elements of the third value that the difference does not remove,
  /// and the elements that the difference adds.
  @Test(
    "Applying a difference to a third value neither loses nor duplicates elements", .tags(.long),
    arguments: 0..<Effort.rounds(1, long: 8))
  func nothingLost(_ seed: Int) throws {
    var random = SeededRandom(seed: UInt64(7_100 + seed))
    for _ in 0..<200 {
      let (old, new, third) = (Self.unique(&random), Self.unique(&random), Self.unique(&random))
      let (before, after, there) = (Set(old), Set(new), Set(third))
      let expected = there.subtracting(before.subtracting(after)).union(after.subtracting(before))
      func check(_ make: ([Int]) -> ArchiveValue, _ ids: (ArchiveValue) -> [Int]) {
        // Applying a difference that doesn't fit throws. It never returns a different value.
        guard let result = try? applied(make(old), make(new), to: make(third)) else { return }
        #expect(
          ids(result).count == expected.count && Set(ids(result)) == expected, "seed \(seed): \(old) \(new) \(third)")
      }
      check(elements) { $0.arrayValue!.map { $0["id"]!.integer(as: Int.self)! } }
      check({ .set($0.map { .integer($0) }) }) {
        guard case .set(let members) = $0 else { return [] }
        return members.map { $0.integer(as: Int.self)! }
      }
      check({ .map($0.map { .init(key: .integer($0), value: 0) }) }) {
        guard case .map(let entries) = $0 else { return [] }
        return entries.map { $0.key.integer(as: Int.self)! }
      }
    }
  }
}
