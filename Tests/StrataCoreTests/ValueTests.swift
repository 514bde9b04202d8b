import StrataCore
import Testing

@Suite("Value")
struct ValueTests {
  @Test("An integer takes the smallest case that holds it", .tags())
  func integers() {
    #expect(Value.integer(5) == .int(5))
    #expect(Value.integer(UInt64.max) == .uint(.max))
    #expect(Value.integer(Int128.min).integer(as: Int128.self) == .min)
    #expect(Value.bool(true).intValue == nil)
    #expect(Value.int(1).boolValue == nil)
  }

  @Test("Objects are equal in whatever order")
  func objects() {
    #expect(["a": 1, "b": 2] as Value == ["b": 2, "a": 1] as Value)
    #expect(["a": 1, "b": 2] as Value != ["b": 1, "a": 2] as Value)
  }

  @Test("Renaming, adding and removing fields", arguments: [1, 5])
  func records(version: Int) {
    var record = Record(typeName: "T", modelVersion: version, fields: [("a", 1), ("b", 2)])
    record.rename("a", to: "c")
    record["d"] = .null
    record["b"] = nil
    #expect(record.keys == ["c", "d"])
    #expect(record["d"] == .some(.null))
    #expect(record["b"] == nil)
    #expect(record == Record(typeName: "T", modelVersion: version, fields: [("d", .null), ("c", 1)]))
  }

  @Test("Paths escape dots", arguments: ["a.b", #"a\.b.c"#, #"\\"#, ""])
  func paths(text: String) {
    #expect(ValuePath(parsing: text).description == text)
  }
}
