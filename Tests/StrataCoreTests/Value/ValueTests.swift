import StrataCore
import Testing

@Suite("Value")
struct ValueTests {
  @Test("An integer becomes the smallest case that can represent it", .tags())
  func integers() {
    #expect(ArchiveValue.integer(5) == .int(5))
    #expect(ArchiveValue.integer(UInt64.max) == .uint(.max))
    #expect(ArchiveValue.integer(Int128.min).integer(as: Int128.self) == .min)
    #expect(ArchiveValue.bool(true).intValue == nil)
    #expect(ArchiveValue.int(1).boolValue == nil)
  }

  @Test("Objects are equal regardless of the order of their keys")
  func objects() {
    #expect(["a": 1, "b": 2] as ArchiveValue == ["b": 2, "a": 1] as ArchiveValue)
    #expect(["a": 1, "b": 2] as ArchiveValue != ["b": 1, "a": 2] as ArchiveValue)
  }

  @Test("Fields of a record can be renamed, added and removed", arguments: [1, 5])
  func records(version: Int) {
    var record = ModelRecord(typeName: "T", modelVersion: version, fields: [("a", 1), ("b", 2)])
    record.rename("a", to: "c")
    record["d"] = .null
    record["b"] = nil
    #expect(record.keys == ["c", "d"])
    #expect(record["d"] == .some(.null))
    #expect(record["b"] == nil)
    #expect(record == ModelRecord(typeName: "T", modelVersion: version, fields: [("d", .null), ("c", 1)]))
  }

  @Test("X-34: records that differ only in superclass versions are distinct, also as elements and map keys")
  func superclasses() throws {
    func dog(_ versions: [Int]) -> ArchiveValue {
      var record = ModelRecord(typeName: "Dog", modelVersion: 2, fields: [("name", "Rex"), ("age", 3)])
      record.superclasses = versions.enumerated().map { .init(typeName: "Animal\($0)", modelVersion: $1) }
      return .record(record)
    }
    let dogs = [dog([1]), dog([2]), dog([]), dog([1, 1]), dog([1, 2])]
    for (place, one) in dogs.enumerated() {
      for (other, two) in dogs.enumerated() {
        #expect((one == two) == (place == other))
        #expect(ValueDifference(from: one, to: two).isEmpty == (place == other))
      }
    }
    for value in [ArchiveValue.set(dogs), .map(dogs.map { .init(key: $0, value: 1) }), .set(dogs.map { .set([$0]) })] {
      let data = try ArchiveEncoder().encode(value)
      let back = try ArchiveDecoder().decodeValue(from: data)
      #expect(try ArchiveEncoder().encode(back) == data)
      switch (value, back) {
      case (.set(let elements), .set(let found)): #expect(Set(elements) == Set(found) && found.count == dogs.count)
      case (.map(let entries), .map(let found)): #expect(Set(entries) == Set(found))
      default: Issue.record()
      }
    }
    // Equality ignores the order of fields, with and without superclasses.
    var turned = ModelRecord(typeName: "Dog", modelVersion: 2, fields: [("age", 3), ("name", "Rex")])
    turned.superclasses = [.init(typeName: "Animal0", modelVersion: 1)]
    #expect(dogs[0] == .record(turned) && dogs[0].hashValue == ArchiveValue.record(turned).hashValue)
  }
}
