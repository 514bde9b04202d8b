import Foundation
import StrataCore
import StrataTestSupport
import Testing

extension SeededRandom {
  /// The kinds of values in a document: only those of JSON, all kinds without NaN, or all kinds with NaN.
  fileprivate enum Form { case json, any, nan }

  private mutating func scalar(_ form: Form) -> ArchiveValue {
    switch below(form == .json ? 7 : form == .any ? 9 : 11) {
    case 0: .null
    case 1: .bool(below(2) == 0)
    case 2: .double(Double(below(4)) / 4)
    case 3, 4: .string(["", "a", "a.b", "ä", "[1]", "~1/0"][below(6)])
    case 7: .date(Date(timeIntervalSince1970: Double(below(3))))
    case 8: .data(Data([UInt8(below(3))]))
    case 9, 10: below(3) == 0 ? .float(.nan) : .double(.nan)
    default: .integer(below(5))
    }
  }

  /// Returns a nested document of objects and arrays. Array elements have unique, duplicate or no identifiers. Sets, maps and records are
  /// included if `form` allows them.
  fileprivate mutating func document(_ form: Form, depth: Int = 3) -> ArchiveValue {
    guard depth > 0 else { return scalar(form) }
    switch below(form == .json ? 7 : 10) {
    case 0: return scalar(form)
    case 1: return below(2) == 0 ? scalar(form) : .array((0..<below(12)).map { _ in repeated(form) })
    case 2: return .array((0..<below(5)).map { _ in document(form, depth: depth - 1) })
    case 3:
      let ids = Array(0..<5).shuffled(using: &self).prefix(below(6))
      return .array(ids.map { element($0, form, depth) })
    case 4: return .array((0..<below(4)).map { _ in element(below(3), form, depth) })
    case 7: return .set((0..<6).filter { _ in below(2) == 0 }.map { .integer($0) })
    case 8:
      return .map(
        (0..<5).filter { _ in below(2) == 0 }.map { .init(key: .integer($0), value: document(form, depth: depth - 1)) })
    case 9: return .record(ModelRecord(typeName: "R", modelVersion: 1, fields: fields(form, depth)))
    default: return .object(ArchiveObject(fields(form, depth).map { .init(key: $0.key, value: $0.value) }))
    }
  }

  /// Returns one of a few values, so that lists contain duplicates.
  private mutating func repeated(_ form: Form) -> ArchiveValue {
    let few: [ArchiveValue] = [1, 2, ["a": 1], form == .nan ? .double(.nan) : 3]
    return few[below(few.count)]
  }

  private mutating func fields(_ form: Form, _ depth: Int) -> [(key: String, value: ArchiveValue)] {
    let keys = ["a", "b", "c.d", "id", "~e/", "ü", "u\u{308}", "", "*"]
    return keys.filter { _ in below(3) == 0 }.map { ($0, document(form, depth: depth - 1)) }
  }

  private mutating func element(_ id: Int, _ form: Form, _ depth: Int) -> ArchiveValue {
    var object = ArchiveObject([.init(key: "id", value: .integer(id))])
    for key in ["a", "b"] where below(2) == 0 { object[key] = document(form, depth: depth - 1) }
    return .object(object)
  }

  /// Returns the document with random changes inside.
  fileprivate mutating func edited(_ value: ArchiveValue, _ form: Form) -> ArchiveValue {
    guard below(12) > 0 else { return document(form, depth: 2) }
    switch value {
    case .object(var object):
      for key in object.keys where below(3) == 0 {
        object[key] = below(5) == 0 ? nil : object[key].map { edited($0, form) }
      }
      if below(5) == 0 { object[["a", "b", "ü", "new"][below(4)]] = document(form, depth: 1) }
      return .object(object)
    case .record(var record):
      for key in record.keys where below(3) == 0 {
        record[key] = form == .nan && below(5) == 0 ? nil : record[key].map { edited($0, form) }
      }
      if form == .nan, below(5) == 0 { record[["a", "", "new"][below(3)]] = document(form, depth: 1) }
      return .record(record)
    case .array(var elements):
      for place in elements.indices where below(4) == 0 { elements[place] = edited(elements[place], form) }
      if !elements.isEmpty, below(4) == 0 { elements.remove(at: below(elements.count)) }
      if below(6) == 0 { elements.insert(repeated(form), at: below(elements.count + 1)) }
      if below(4) == 0 { elements.insert(element(below(7), form, 1), at: below(elements.count + 1)) }
      if below(6) == 0 { elements.shuffle(using: &self) }
      return .array(elements)
    case .set(let members): return .set((0..<6).map { .integer($0) }.filter { members.contains($0) != (below(4) == 0) })
    case .map(let entries):
      return .map(
        (0..<5).compactMap { key in
          let old = entries.first { $0.key == .integer(key) }
          if below(5) == 0 { return old == nil ? .init(key: .integer(key), value: document(form, depth: 1)) : nil }
          return old.map { .init(key: $0.key, value: below(3) == 0 ? edited($0.value, form) : $0.value) }
        })
    default: return below(2) == 0 ? value : scalar(form)
    }
  }
}

extension ArchiveValue {
  fileprivate var hasNull: Bool {
    switch self {
    case .null: true
    case .object(let object): object.entries.contains { $0.value.hasNull }
    default: false
    }
  }
}

@Suite("Laws of differences and merges for random documents", .tags(.long))
struct DocumentLawTests {
  private static let seed = UInt64.random(in: 0 ... .max)
  private static let cases = Effort.rounds(100, long: 2000)

  @Test("Applying a difference to the old value gives the new value")
  func differences() throws {
    var random = SeededRandom(seed: Self.seed)
    for number in 0..<Self.cases {
      let old = random.document(.any)
      let new = random.below(3) == 0 ? random.document(.any) : random.edited(old, .any)
      let key: IdentityKey = random.below(3) == 0 ? "a" : "id"
      let difference = ValueDifference(from: old, to: new, elementsBy: key)
      #expect(difference.isEmpty == (old == new))
      let applied = try? difference.applied(to: old)
      #expect(applied == new, "case \(number), seed \(Self.seed)")
      #expect(try ValueDifference(from: old, to: old).applied(to: old) == old)
    }
  }

  @Test("Applying a difference or a JSON patch gives the new value if it contains NaN")
  func differencesOfNaN() throws {
    var random = SeededRandom(seed: Self.seed)
    for number in 0..<Self.cases {
      let old = random.document(.nan)
      let new = random.below(3) == 0 ? random.document(.nan) : random.edited(old, .nan)
      let difference = ValueDifference(from: old, to: new), patch = JSONPatch(from: old, to: new)
      #expect(difference.isEmpty == patch.operations.isEmpty, "case \(number), seed \(Self.seed)")
      for applied in [try? difference.applied(to: old), try? patch.applied(to: old)] {
        let rest = applied.map { ValueDifference(from: $0, to: new) }
        #expect(rest?.isEmpty == true, "case \(number), seed \(Self.seed)")
      }
    }
  }

  @Test("Applying a JSON patch gives the new document, and the patch round-trips through JSON")
  func patches() throws {
    var random = SeededRandom(seed: Self.seed)
    for number in 0..<Self.cases {
      let old = random.document(.json)
      let new = random.below(3) == 0 ? random.document(.json) : random.edited(old, .json)
      let patch = JSONPatch(from: old, to: new)
      #expect(patch.operations.isEmpty == (old == new))
      #expect((try? patch.applied(to: old)) == new, "case \(number), seed \(Self.seed)")
      let text = try JSONWriter().write(patch.json)
      #expect((try? JSONPatch(parsing: text)) == patch, "case \(number), seed \(Self.seed)")
    }
  }

  @Test("Applying a JSON merge patch gives the new document if it contains no null")
  func mergePatches() {
    var random = SeededRandom(seed: Self.seed)
    var count = 0
    for number in 0..<Self.cases {
      let old = random.document(.json)
      let new = random.below(3) == 0 ? random.document(.json) : random.edited(old, .json)
      guard !new.hasNull else { continue }
      count += 1
      let patch = JSONMergePatch.patch(from: old, to: new)
      #expect(JSONMergePatch.apply(patch, to: old) == new, "case \(number), seed \(Self.seed)")
    }
    #expect(count > Self.cases / 4)
  }

  private static let mergers = [
    MergeOptions(), MergeOptions(conflicts: .takeServer), MergeOptions(policy: .serverWins),
    MergeOptions(policy: .byID()), MergeOptions(policy: .addWins.orElse(.conflict)), MergeOptions(policy: .lines),
    MergeOptions(policies: ["a": .recursive, "*.b": .byID("a"), "[*]": .max]),
  ]

  @Test("MG-7: a one-sided change is taken from the side that made it, at every depth", arguments: Self.mergers.indices)
  func oneSide(_ options: Int) throws {
    var random = SeededRandom(seed: Self.seed &+ UInt64(options))
    let merger = Merger(options: Self.mergers[options])
    for number in 0..<Self.cases / 2 {
      let base = random.document(.json)
      let edited = random.edited(base, .json)
      let note: Comment = "case \(number), seed \(Self.seed)"
      let taken = try merger.merge(edited, into: base, base: base)
      #expect(taken.value == edited, note)
      let kept = try merger.merge(base, into: edited, base: base)
      #expect(kept.value == edited && kept.report.changes.isEmpty, note)
      let both = try merger.merge(edited, into: edited, base: base)
      #expect(both.value == edited, note)
      #expect((taken.report.conflicts + kept.report.conflicts + both.report.conflicts).isEmpty, note)
    }
  }

  @Test("One-sided changes of sets, maps and records without missing fields are taken")
  func oneSideOfTyped() throws {
    var random = SeededRandom(seed: Self.seed)
    for number in 0..<Self.cases {
      let base = random.document(.any)
      let edited = random.edited(base, .any)
      guard !Self.lacksFields(edited, base) else { continue }
      let note: Comment = "case \(number), seed \(Self.seed)"
      #expect(try Merger().merge(edited, into: base, base: base).value == edited, note)
      #expect(try Merger().merge(base, into: edited, base: base).value == edited, note)
      #expect(try Merger().merge(edited, into: edited, base: base).value == edited, note)
    }
  }

  /// Whether records at the same place in both values have different fields. In that case, a merge leaves the missing fields unchanged.
  private static func lacksFields(_ one: ArchiveValue, _ other: ArchiveValue) -> Bool {
    switch (one, other) {
    case (.record(let one), .record(let other)):
      return Set(one.keys) != Set(other.keys)
        || one.fields.contains { key, value in other[key].map { lacksFields(value, $0) } ?? false }
    case (.object(let one), .object(let other)):
      return one.entries.contains { entry in other[entry.key].map { lacksFields(entry.value, $0) } ?? false }
    case (.map(let one), .map(let other)):
      return one.contains { entry in
        other.first { $0.key == entry.key }.map { lacksFields(entry.value, $0.value) } ?? false
      }
    default: return false
    }
  }

  @Test("Two replicas that exchange documents converge if the policy of each path is commutative")
  func exchange() throws {
    var random = SeededRandom(seed: Self.seed)
    let rules: [(key: String, policy: MergePolicy, kind: MergeLaw.Kind)] = [
      ("greatest", .max, .ordered), ("least", .min, .ordered), ("count", .sumOfDeltas, .number),
      ("seen", .union, .set), ("tags", .addWins, .set), ("names", .addWins, .list),
      ("state", .lastWriter(by: "time"), .scalar),
    ]
    for rule in rules { #expect(rule.policy.claims.contains(.commutative)) }
    let named = rules.flatMap { rule in
      ["", "in.", "in.in."].map { (ValuePath(parsing: $0 + rule.key), rule.policy) }
    }
    var options = MergeOptions()
    options.policies = named + [("time", .max), ("in.time", .max), ("in.in.time", .max)]
    func document(_ time: Int, _ depth: Int) -> ArchiveValue {
      var object = ArchiveObject([.init(key: "time", value: .integer(time + random.below(3)))])
      for rule in rules { object[rule.key] = random.value(for: rule.kind) }
      if depth > 0 { object["in"] = document(time, depth - 1) }
      return .object(object)
    }
    func unordered(_ value: ArchiveValue) -> ArchiveValue {
      switch value {
      case .array(let elements): .array(elements.sorted { "\($0)" < "\($1)" })
      case .object(let object):
        .object(ArchiveObject(object.entries.map { .init(key: $0.key, value: unordered($0.value)) }))
      default: value
      }
    }
    for number in 0..<Self.cases / 4 {
      let base = document(0, 2)
      let (one, other) = (document(3, 2), document(3, 2))
      let first = try Merger(options: options).merge(other, into: one, base: base)
      let second = try Merger(options: options).merge(one, into: other, base: base)
      let note: Comment = "case \(number), seed \(Self.seed)"
      #expect(unordered(first.value) == unordered(second.value), note)
      #expect(first.report.conflicts.isEmpty && second.report.conflicts.isEmpty, note)
    }
  }
}

@Suite("Differences")
struct ValueDifferenceTests {
  @Test("Applying a difference reorders elements by the key used for the comparison")
  func order() throws {
    let old: ArchiveValue = [["a": 1, "id": 2], ["a": 2, "id": 1]]
    let new: ArchiveValue = [["a": 2, "id": 1], ["a": 1, "id": 2]]
    let difference = ValueDifference(from: old, to: new)
    #expect(difference.changes.map(\.kind) == [.reordered])
    #expect(try difference.applied(to: old) == new)
    let named = ValueDifference(from: old, to: new, elementsBy: "a")
    #expect(try named.applied(to: old) == new)
  }

  @Test("Applying a difference to a value other than the old one throws mergeFailed")
  func mismatch() {
    let difference = ValueDifference(from: ["a": ["b": 1]], to: ["a": ["b": 2, "c": 3]])
    for other: ArchiveValue in [["a": ["b": 2]], ["a": ["b": 1, "c": 0]], ["a": 1], [], [:], .null] {
      let error = #expect(throws: ArchiveError.self) { try difference.applied(to: other) }
      #expect(error?.code == .mergeFailed)
    }
  }

  @Test("Canonically equivalent keys with different Unicode scalars are distinct keys")
  func spellings() throws {
    let old: ArchiveValue = ["\u{fc}": 1, "u\u{308}": 2]
    let new: ArchiveValue = ["\u{fc}": 3, "u\u{308}": 4]
    #expect(try ValueDifference(from: old, to: new).applied(to: old) == new)
    let report = try Merger().merge(new, into: old, base: old).report
    #expect(Set(report.entries.map(\.path)).count == 2)
  }
}
