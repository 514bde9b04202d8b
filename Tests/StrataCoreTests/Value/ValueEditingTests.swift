import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("Printing and editing values") struct ValueEditingTests {
  private static let record = ModelRecord(
    typeName: "Issue", modelVersion: 3,
    fields: [("title", "Crash"), ("owner", ["login": "ada", "old": 1]), ("note", .null)])

  @Test("The description of a value shows its type, version, keys and values")
  func descriptions() {
    #expect("\(Self.record)" == #"Issue@3(title: "Crash", owner: ["login": "ada", "old": 1], note: null)"#)
    #expect("\(ArchiveValue.record(Self.record))" == "\(Self.record)")
    #expect("\(ModelRecord(typeName: "A", modelVersion: nil))" == "A()")
    #expect("\(ArchiveObject())" == "[:]")
    #expect("\(["a": [1, 2.5, true, "x\"y\n"]] as ArchiveObject)" == #"["a": [1, 2.5, true, "x\"y\n"]]"#)
    let others: [(ArchiveValue, String)] = [
      (.set([.int(1), .null]), "{1, null}"), (.map([]), "[:]"),
      (.map([.init(key: .int(1), value: .bool(false))]), "[1: false]"),
      (.data(Data([1, 0xAB])), "<2 bytes: 01ab>"), (.data(Data()), "<0 bytes>"),
      (.data(Data(count: 100)), "<100 bytes: 00000000000000000000000000000000…>"),
      (.date(Date(timeIntervalSince1970: 0)), "1970-01-01T00:00:00Z"),
      (.wideInteger(.init(isNegative: true, magnitude: 1 << 100)), "-1267650600228229401496703205376"),
      (
        .graph(ObjectGraph(objects: [.record(ModelRecord(typeName: "N", modelVersion: 1))], root: .reference(0))),
        "graph(root: #0, #0: N@1())"
      ),
    ]
    for (value, text) in others { #expect("\(value)" == text) }
  }

  @Test("The description of a value has a limited length, even for deep or shared values") func endless() {
    var shared: ArchiveValue = ["a"]
    for _ in 0..<60 { shared = [shared, shared] }
    #expect("\(shared)".utf8.count < 1 << 21 && "\(shared)".contains("…"))
    var deep: ArchiveValue = .null
    for _ in 0..<100_000 { deep = [deep] }
    #expect("\(deep)".count < 300)
    // Releases the value level by level, because releasing such a deep value recursively would overflow the stack.
    while case .array(let elements) = deep, let first = elements.first { deep = first }
    let long = ArchiveValue.array(Array(repeating: .string(String(repeating: "x", count: 100_000)), count: 1000))
    #expect("\(long)".utf8.count < 1 << 21)
  }

  @Test("Values can be read and set by key and by path") func paths() throws {
    var value = ArchiveValue.record(Self.record)
    #expect(value["owner.login"] == nil && value[ValuePath("owner", "login")] == "ada")
    value[ValuePath("owner", "login")] = "grace"
    value[ValuePath("note", "text", "en")] = "hello"
    value["title"] = nil
    value[ValuePath("owner", "old")] = nil
    value[ValuePath("absent", "key")] = nil
    #expect("\(value)" == #"Issue@3(owner: ["login": "grace"], note: ["text": ["en": "hello"]])"#)

    var record = Self.record
    record[ValuePath("owner", "login")] = .null
    #expect(record[ValuePath("owner", "login")] == .null && record[ValuePath("owner", "login", "x")] == nil)
    let before = record
    let error = #expect(throws: ArchiveError.self) { try record.set(1, at: ValuePath("title", "en")) }
    #expect(error?.code == .typeMismatch && error?.codingPath == [.key("title")] && record == before)

    var empty = ArchiveValue.null
    empty["a"] = nil
    #expect(empty == .null)
    empty["a"] = 1
    #expect(empty == ["a": 1])
  }

  @Test("A failed change leaves the value unchanged, at any depth") func refused() throws {
    let starts: [ArchiveValue] = [
      .null, ["a": .null], ["a": ["b": .null]], ["a": ["b": ["c": 1]]], ["a": [1, 2]], ["a": ["b": [1, [2]]]],
      .record(ModelRecord(typeName: "R", modelVersion: 1, fields: [("a", ["b": .null]), ("z", 1)])),
    ]
    let paths: [[ArchiveValue.Step]] = [
      [.key("a"), .key("b"), .index(0)], [.key("a"), .key("b"), .key("c"), .key("d")],
      [.key("a"), .key("b"), .index(1), .index(0), .key("x"), .index(2)], [.key("a"), .index(0), .key("b")],
    ]
    for start in starts {
      for path in paths {
        // The closure replaces a value that blocks the path with an object, up to `made` times, and then refuses.
        for made in 0..<4 {
          var (value, left) = (start, made)
          do {
            try value.set(7, at: path[...]) { found, step in
              left -= 1
              return left < 0 ? try ArchiveValue.container(1, for: step) : .object(ArchiveObject())
            }
            #expect(try value.value(at: path) == 7)
          } catch { #expect(value == start, "\(path) of \(start)") }
        }
      }
    }
  }

  @Test("An object is a collection of its entries in order") func collection() {
    let object: ArchiveObject = ["b": 1, "a": 2, "b": 3]
    #expect(object.map(\.key) == ["b", "a"] && object.first?.value == 3 && object.count == 2 && !object.isEmpty)
    #expect(Array(object.reversed()).map(\.key) == ["a", "b"])
  }

  @Test("Setting a value at a path changes only that value", .tags(.long), arguments: [1, 2, 3] as [UInt64]) func steps(
    seed: UInt64
  )
    throws
  {
    var random = SeededRandom(seed: seed)
    let keys = ["a", "b", "c"]
    func path() -> [ArchiveValue.Step] {
      (0..<Int.random(in: 1...3, using: &random)).map { _ in
        Bool.random(using: &random)
          ? .key(keys.randomElement(using: &random) ?? "a") : .index(Int.random(in: 0...2, using: &random))
      }
    }
    var value: ArchiveValue = [:]
    // A flat table of all values that were set, by path.
    var table: [[ArchiveValue.Step]: ArchiveValue] = [:]
    for number in 0..<Effort.rounds(300, long: 3000) {
      let steps = path()
      let new: ArchiveValue? = number.isMultiple(of: 5) ? nil : .integer(number)
      let before = value
      do { try value.set(new, at: steps[...]) } catch {
        #expect((error as? ArchiveError)?.code == .typeMismatch, "seed \(seed)")
        #expect(value == before, "seed \(seed)")
        continue
      }
      // Removing an element moves the elements that follow, so the table starts over.
      if new == nil, case .index? = steps.last {
        table = [:]
        value = [:]
        continue
      }
      table = table.filter { !$0.key.starts(with: steps) && (new == nil || !steps.starts(with: $0.key)) }
      if let new { table[steps] = new }
      for (steps, expected) in table { #expect(try value.value(at: steps) == expected, "seed \(seed) \(steps)") }
      if new == nil { #expect(try value.value(at: steps) == nil, "seed \(seed)") }
    }
    #expect(!table.isEmpty)
  }
}
