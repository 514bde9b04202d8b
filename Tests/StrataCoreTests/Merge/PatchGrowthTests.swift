import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// Documents so large that a quadratic algorithm would run for minutes.
@Suite("Patches and differences of large documents", .tags(.long))
struct PatchGrowthTests {
  private static let count = Effort.rounds(4_000, long: 40_000)
  private static let keys = (0..<count).map { "key \($0)" }

  private static func object(_ value: (Int) -> ArchiveValue?) -> ArchiveValue {
    .object(
      ArchiveObject(keys.enumerated().compactMap { place, key in value(place).map { .init(key: key, value: $0) } }))
  }

  private static func record(_ value: (Int) -> ArchiveValue?) -> ArchiveValue {
    .record(ModelRecord(typeName: "R", modelVersion: 1, object: object(value).objectValue ?? ArchiveObject()))
  }

  @Test("A patch can replace, test and extend each element of a long list")
  func lists() throws {
    let old = ArchiveValue.array((0..<Self.count).map { .integer($0) })
    let operations = (0..<Self.count).map { place in
      JSONPatch.Operation.replace(ValuePath("list", String(place)), .integer(-place))
    }
    let tests = (0..<Self.count).map { place in
      JSONPatch.Operation.test(ValuePath("list", String(place)), .double(-Double(place)))
    }
    let patched = try JSONPatch(operations + tests).applied(to: ["list": old])
    #expect(patched == ["list": .array((0..<Self.count).map { .integer(-$0) })])
    let nested = try JSONPatch(
      (0..<Self.count).map { .add(ValuePath("list", String($0), "more", "-"), .integer($0)) }
    ).applied(to: ["list": .array((0..<Self.count).map { ["id": .integer($0), "more": []] })])
    #expect(nested == ["list": .array((0..<Self.count).map { ["id": .integer($0), "more": [.integer($0)]] })])
  }

  @Test("A patch can remove, insert and rotate elements at the front of a long list")
  func listFronts() throws {
    let first = ValuePath(key: "0")
    let old = ArchiveValue.array((0..<Self.count).map { .integer($0) })
    let removals = [JSONPatch.Operation](repeating: .remove(first), count: Self.count)
    let additions = (0..<Self.count).map { JSONPatch.Operation.add(first, .integer($0)) }
    #expect(try JSONPatch(removals).applied(to: old) == [])
    let reversed = ArchiveValue.array((0..<Self.count).reversed().map { .integer($0) })
    #expect(try JSONPatch(removals + additions).applied(to: old) == reversed)
    let rotations = (0..<Self.count).map { _ in JSONPatch.Operation.move(from: first, to: ValuePath(key: "-")) }
    #expect(try JSONPatch(rotations).applied(to: old) == old)
  }

  @Test("A patch can replace, test, remove and add each key of a large object or record")
  func keyed() throws {
    for make in [Self.object, Self.record] {
      let old = make { .integer($0) }
      let replaced = Self.keys.map { JSONPatch.Operation.replace(ValuePath(key: $0), "new") }
      #expect(try JSONPatch(replaced).applied(to: old) == make { _ in "new" })
      let tested = Self.keys.enumerated().map { JSONPatch.Operation.test(ValuePath(key: $1), .integer($0)) }
      #expect(try JSONPatch(tested).applied(to: old) == old)
      let removed = Self.keys.map { JSONPatch.Operation.remove(ValuePath(key: $0)) }
      let added = Self.keys.enumerated().map { JSONPatch.Operation.add(ValuePath(key: $1), .integer($0)) }
      #expect(try JSONPatch(removed + added).applied(to: old) == old)
      #expect(try JSONPatch(removed.dropLast()).applied(to: old) == make { $0 == Self.count - 1 ? .integer($0) : nil })
    }
  }

  @Test("Applying a difference of large objects, records or maps yields the new value")
  func differences() throws {
    func map(_ value: (Int) -> ArchiveValue?) -> ArchiveValue {
      .map((0..<Self.count).compactMap { key in value(key).map { .init(key: .integer(key), value: $0) } })
    }
    for (number, make) in [Self.object, Self.record, map].enumerated() {
      let old = make { $0.isMultiple(of: 3) ? nil : .integer($0) }
      let new = make { $0.isMultiple(of: 5) ? nil : .integer($0 / 7) }
      let difference = ValueDifference(from: old, to: new)
      #expect(try difference.applied(to: old) == new)
      #expect(ValueDifference(from: old, to: old).isEmpty)
      guard number == 0 else { continue }
      #expect(try JSONPatch(from: old, to: new).applied(to: old) == new)
      let patch = JSONMergePatch.patch(from: old, to: new)
      #expect(JSONMergePatch.apply(patch, to: old) == new)
    }
  }

  @Test("Reordering keys is not a difference")
  func order() {
    let old = Self.object { .integer($0) }
    let new = ArchiveValue.object(ArchiveObject((old.objectValue?.entries ?? []).reversed()))
    #expect(ValueDifference(from: old, to: new).isEmpty && JSONPatch(from: old, to: new).operations.isEmpty)
    #expect(JSONMergePatch.patch(from: old, to: new) == [:])
  }

  @Test("A dictionary with many keys is merged with the remembered base")
  func rememberedKeys() throws {
    func numbers(_ first: Int) -> [String: Int] {
      Dictionary(uniqueKeysWithValues: Self.keys.enumerated().map { ($1, $0 == 0 ? first : $0) })
    }
    var model = Numbered(numbers: numbers(0))
    try model.markSynced()
    model.numbers["key 1"] = -1
    try model.merge(.model(Numbered(numbers: numbers(-2))))
    #expect(model.numbers["key 0"] == -2 && model.numbers["key 1"] == -1 && model.numbers.count == Self.count)
  }

  @Test("Differences of long lists contain only the changed elements")
  func longLists() throws {
    let old = ArchiveValue.array((0..<20_000).map { .integer($0) })
    var elements = old.arrayValue ?? []
    for place in stride(from: 19_990, to: 0, by: -10) { elements.remove(at: place) }
    for place in stride(from: 17_000, to: 0, by: -7) { elements.insert(.integer(place % 100), at: place) }
    let new = ArchiveValue.array(elements)
    let patch = JSONPatch(from: old, to: new), difference = ValueDifference(from: old, to: new)
    #expect(try patch.applied(to: old) == new && difference.applied(to: old) == new)
    #expect(patch.operations.count < 10_000 && difference.changes.count < 10_000)
    let other = ArchiveValue.array((30_000..<35_001).map { .integer($0) })
    #expect(JSONPatch(from: old, to: other).operations == [.replace(ValuePath(), other)])
    #expect(ValueDifference(from: old, to: other).changes.map(\.kind) == [.changed])
    // Inserting or removing an element at either end is one operation, regardless of the list's length.
    let longer = ArchiveValue.array([-1] + (0..<20_000).map { .integer($0) })
    #expect(JSONPatch(from: old, to: longer).operations == [.add(ValuePath(key: "0"), -1)])
    #expect(JSONPatch(from: longer, to: old).operations == [.remove(ValuePath(key: "0"))])
  }
}

private struct Numbered: DescribedModel {
  var numbers: [String: Int]
  var merging = MergeState()
  static let fields = Fields(
    Numbered.self, name: "GrowthNumbered", version: 1, Field("numbers", \.numbers),
    Field("merging", \.merging, default: MergeState()), make: { Numbered(numbers: $0, merging: $1) })
}
