import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// The error for declaring a field of this type with this policy, or `nil` if the declaration is valid.
private func problem<T>(_ policy: MergePolicy, _ type: T.Type) -> ArchiveError? {
  problem([FieldInfo("field", T.self, merge: policy)])
}

private func problem(_ fields: [FieldInfo]) -> ArchiveError? {
  archiveError { try ModelSchema(Int.self, name: "Sheet", version: 1, fields: fields).check() }
}

private struct Piece: DescribedModel, Hashable {
  var id: Int
  var name: String

  static let fields = Fields(
    Piece.self, version: 1, Field("id", \.id), Field("name", \.name), make: { Piece(id: $0, name: $1) })
}

private enum Outline: EnumModel {
  case round
  static let schema = ModelSchema(Outline.self, name: "Outline", version: 1, cases: [.init("round")])
  func encodeCase(to writer: inout ArchiveWriter) throws {
    try writer.beginCase(Self.schema, "round", count: 0)
    writer.endCase()
  }
  static func make(case name: String, payload: CasePayload) throws -> Outline? { name == "round" ? .round : nil }
}

private enum Grade: Int, Archivable { case low, high }
private enum Mood: String, Archivable { case good, bad }
private struct Names: RawRepresentable, Archivable { var rawValue: [String] }
private struct Measure: Codable { var width = 0 }
private enum Unit: String, Codable { case metre }

/// A type with its own archive format.
private struct Own: Archivable {
  func write(to writer: inout ArchiveWriter) throws { writer.writeNull() }
  static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Own { Own() }
}

/// A field type and the special policies that it accepts.
struct FieldKindCase: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let fitting: Set<String>
  let problem: @Sendable (MergePolicy) -> ArchiveError?
  let problemOfOptional: @Sendable (MergePolicy) -> ArchiveError?
  /// Base, local and server values that differ from each other.
  let samples: [[ArchiveValue]]

  init<T>(_ type: T.Type, _ fitting: String..., samples: [ArchiveValue]...) {
    testDescription = "\(type)"
    self.fitting = Set(fitting)
    problem = { StrataCoreTests.problem($0, T.self) }
    problemOfOptional = { StrataCoreTests.problem($0, T??.self) }
    self.samples = samples
  }

  static let special: [MergePolicy] = [
    .recursive, .byID("id"), .byID("id", unlisted: .keep), .byID("nope"), .max, .min, .sumOfDeltas, .union, .addWins,
    .append, .lines,
  ]
  static let plain: [MergePolicy] = [
    .automatic, .conflict, .serverWins, .localWins, .keepLocal, .serverWins.ifPresent, .lastWriter(by: "at"),
    .custom { $1 ?? $0 }, .resolving("own") { $0.server },
  ]

  static let all: [FieldKindCase] = {
    let date = ArchiveValue.date(Date(timeIntervalSince1970: 0))
    let dates: [ArchiveValue] = [date, .date(Date(timeIntervalSince1970: 5)), .date(Date(timeIntervalSince1970: 9))]
    let lists: [ArchiveValue] = [["a"], ["a", "b"], ["a", "c"]]
    let sets: [ArchiveValue] = [.set(["a"]), .set(["a", "b"]), .set(["a", "c"])]
    let objects: [ArchiveValue] = [["a": 1, "b": 1], ["a": 2, "b": 1], ["a": 1, "b": 2]]
    let lines: [ArchiveValue] = ["a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n"]
    let added: [ArchiveValue] = ["a", "ab", "ac"]
    func records(_ name: String, _ key: String) -> [ArchiveValue] {
      func record(_ one: ArchiveValue, _ other: ArchiveValue) -> ArchiveValue {
        var record = ModelRecord(typeName: name, modelVersion: 1)
        record[key] = one
        if name == "Piece" { record["name"] = other }
        return .record(record)
      }
      return [record(1, "a"), record(2, "a"), record(name == "Piece" ? 1 : 3, "b")]
    }
    return [
      FieldKindCase(Int.self, "max", "min", "sumOfDeltas", samples: [1, 2, 3]),
      FieldKindCase(UInt8.self, "max", "min", "sumOfDeltas", samples: [1, 2, 3]),
      FieldKindCase(Int128.self, "max", "min", "sumOfDeltas", samples: [1, 2, 3]),
      FieldKindCase(Double.self, "max", "min", "sumOfDeltas", samples: [1.5, 2.5, 3.5]),
      FieldKindCase(Float.self, "max", "min", "sumOfDeltas", samples: [.float(1), .float(2), .float(3)]),
      FieldKindCase(Decimal.self, "max", "min", "sumOfDeltas", samples: [.decimal(1), .decimal(2), .decimal(3)]),
      FieldKindCase(Grade.self, "max", "min", "sumOfDeltas", samples: [0, 1, 2]),
      FieldKindCase(Bool.self, "max", "min", samples: [.null, true, false]),
      FieldKindCase(Date.self, "max", "min", samples: dates),
      FieldKindCase(String.self, "max", "min", "append", "lines", samples: lines, added),
      FieldKindCase(Mood.self, "max", "min", "append", "lines", samples: lines, added),
      FieldKindCase(Data.self, samples: [.data(Data([1])), .data(Data([2])), .data(Data([3]))]),
      FieldKindCase(URL.self),
      FieldKindCase(UUID.self, samples: [.uuid(UUID()), .uuid(UUID()), .uuid(UUID())]),
      FieldKindCase([String].self, "union", "addWins", "append", samples: lists),
      FieldKindCase([[Piece]].self, "union", "addWins", "append", "byID(id)", "byID(id,keep)", samples: lists),
      FieldKindCase([Outline].self, "union", "addWins", "append", samples: lists),
      FieldKindCase(Names.self, "union", "addWins", "append", samples: lists),
      FieldKindCase([Piece].self, "union", "addWins", "append", "byID(id)", "byID(id,keep)", samples: lists),
      FieldKindCase([Piece?].self, "union", "addWins", "append", "byID(id)", "byID(id,keep)", samples: lists),
      FieldKindCase(
        [[String: Int]].self, "union", "addWins", "append", "byID(id)", "byID(id,keep)", "byID(nope)", samples: lists),
      FieldKindCase(
        [[Mood: Int]].self, "union", "addWins", "append", "byID(id)", "byID(id,keep)", "byID(nope)", samples: lists),
      FieldKindCase([[Int: Int]].self, "union", "addWins", "append", samples: lists),
      FieldKindCase(
        [ArchiveValue].self, "union", "addWins", "append", "byID(id)", "byID(id,keep)", "byID(nope)", samples: lists),
      FieldKindCase(
        [Measure].self, "union", "addWins", "append", "byID(id)", "byID(id,keep)", "byID(nope)", samples: lists),
      FieldKindCase(
        [Own].self, "union", "addWins", "append", "byID(id)", "byID(id,keep)", "byID(nope)", samples: lists),
      FieldKindCase(Set<String>.self, "union", "addWins", samples: sets),
      FieldKindCase([String: Int].self, "recursive", samples: objects),
      FieldKindCase([Int: [Piece]].self, "recursive", "byID(id)", "byID(id,keep)", samples: objects),
      FieldKindCase(Set<Piece>.self, "union", "addWins", "byID(id)", "byID(id,keep)", samples: sets),
      // This type has no samples, because a different id would make it a different piece.
      FieldKindCase(Piece.self, "recursive"),
      FieldKindCase(Outline.self, samples: records("Outline", "round")),
    ]
  }()

  static let unknown: [FieldKindCase] = [
    FieldKindCase(ArchiveValue.self), FieldKindCase(Measure.self), FieldKindCase(Unit.self), FieldKindCase(Own.self),
  ]
}

@Suite("Merge policy declarations")
struct PolicyDeclarationTests {
  @Test(
    "MG-19: a policy that cannot apply to its field's type throws invalidSchema", arguments: FieldKindCase.all)
  func fields(_ kind: FieldKindCase) {
    for policy in FieldKindCase.special {
      let fits = kind.fitting.contains(policy.description)
      let made = [policy, policy.ifPresent, policy.orElse(.serverWins), MergePolicy.conflict.orElse(policy).ifPresent]
      for policy in made {
        for error in [kind.problem(policy), kind.problemOfOptional(policy)] {
          #expect((error == nil) == fits, "\(policy): \(error.map { "\($0)" } ?? "accepted")")
          guard let error else { continue }
          #expect(error.code == .invalidSchema && error.key == "field" && error.typeName == "Sheet")
        }
      }
      // The error's reason names the inner policy.
      if !fits { #expect(kind.problem(policy.ifPresent)?.reason.contains("the policy \(policy) ") == true) }
    }
    for policy in FieldKindCase.plain { #expect(kind.problem(policy) == nil, "\(policy)") }
  }

  @Test("A field whose content type is unknown accepts every policy", arguments: FieldKindCase.unknown)
  func unknown(_ kind: FieldKindCase) {
    for policy in FieldKindCase.special + FieldKindCase.plain { #expect(kind.problem(policy) == nil, "\(policy)") }
  }

  @Test(
    "A rejected policy only produces conflicts, and an accepted policy resolves at least one change",
    arguments: FieldKindCase.all.filter { !$0.samples.isEmpty })
  func evidence(_ kind: FieldKindCase) throws {
    // Skips `byID`, which resolves changes of any array, because it matches elements without the key by content.
    for policy in FieldKindCase.special where !policy.description.hasPrefix("byID") {
      let decides = try kind.samples.contains { values in
        let merger = Merger(options: MergeOptions(policies: ["v": policy]), models: [Piece.self, Outline.self])
        let (_, report) = try merger.merge(["v": values[2]], into: ["v": values[1]], base: ["v": values[0]])
        return !report.entries.isEmpty && report.entries.allSatisfy { $0.outcome != .conflict }
      }
      #expect(decides == kind.fitting.contains(policy.description), "\(policy)")
    }
  }

  @Test("The error states the problem and the remedy")
  func reasons() {
    #expect(
      problem(.lines.orElse(.serverWins), Int?.self)?.description
        == "the policy lines applies only to strings, but the field contains Int; use max, min, sumOfDeltas or a "
        + "policy that applies to every type, such as serverWins (at field) [Sheet]")
    #expect(
      problem(.byID("x"), [Piece].self)?.reason
        == "the policy byID(x) identifies elements by x, which Piece does not declare; its keys are id, name")
    #expect(
      problem(.byID("x"), [String].self)?.reason
        == "the policy byID(x) identifies models by x, but the elements have the type String; use union, addWins or "
        + "append")
    #expect(
      problem(.byID(), Piece.self)?.reason
        == "the policy byID(id) applies only to arrays and sets of models, but the field contains the model Piece; use "
        + "recursive or a policy that applies to every type, such as serverWins")
    #expect(
      problem(.byID("x"), [Outline].self)?.reason
        == "the policy byID(x) identifies elements by x, but the enum Outline has no keys")
    #expect(
      problem(.max, UUID.self)?.reason
        == "the policy max applies only to numbers, booleans, dates and strings, but the field contains UUID; use a "
        + "policy that applies to every type, such as serverWins")
    let error = problem([
      FieldInfo("a", Int.self, merge: .union.orElse(.lines)), FieldInfo("b", Int.self),
      FieldInfo("c", Set<Int>.self, merge: .append),
    ])
    #expect(error?.all.map(\.key) == ["a", "a", "c"])
  }

  // MARK: Times

  @Test("The key of lastWriter must have an ordered type if the model declares it")
  func times() {
    func check<T>(_ type: T.Type) -> ArchiveError? {
      problem([FieldInfo("at", T.self), FieldInfo("title", String.self, merge: .lastWriter(by: "at"))])
    }
    #expect(
      check(Date.self) == nil && check(Date?.self) == nil && check(Int.self) == nil && check(ArchiveValue.self) == nil)
    #expect(check(String.self) == nil && check(Mood.self) == nil && check(Measure.self) == nil)
    #expect(check([Date].self)?.key == "title" && check(UUID?.self)?.key == "title")
    #expect(check(Piece.self)?.key == "title")
    #expect(
      check(Set<Int>.self)?.reason
        == "the policy lastWriter(at) compares the values of at, but the type Set<Int> has no order; specify the key of a "
        + "date, a number or a string"
    )
    #expect(problem(.lastWriter(by: "elsewhere"), String.self) == nil)
    #expect(problem([FieldInfo("at", Date.self, merge: .lastWriter(by: "at"))]) == nil)
  }

  // MARK: Rules of a type

  private struct Ruled: Mergeable {
    static let mergeRules = MergeRules(default: .union.orElse(.lines), identity: "number")
    static let schema = ModelSchema(Ruled.self, name: "Ruled", version: 1)
    init(fields reader: inout ArchiveReader) throws {}
    func encodeFields(to writer: inout ArchiveWriter) throws {}
    static func make(case name: String, payload: CasePayload) throws -> Ruled? { nil }
  }

  private final class RuledObject: Mergeable {
    static let mergeRules = MergeRules(default: .lines)
    static let schema = ModelSchema(RuledObject.self, name: "RuledObject", version: 1)
    init(fields reader: inout ArchiveReader) throws {}
    func encodeFields(to writer: inout ArchiveWriter) throws {}
    static func make(case name: String, payload: CasePayload) throws -> Self? { nil }
  }

  @Test("Merge rules must name a declared identity and a default policy that applies to some field")
  func rules() {
    func check(_ fields: FieldInfo...) -> ArchiveError? {
      archiveError { try ModelSchema(Ruled.self, name: "Ruled", version: 1, fields: fields).check() }
    }
    let number = FieldInfo("number", Int.self)
    let (tags, text) = (FieldInfo("tags", [String].self), FieldInfo("text", String.self))
    #expect(check(number, tags, text) == nil)
    let identity = check(tags, text)
    #expect(
      identity?.reason
        == "the merge rules use the identity number, which Ruled does not declare; its keys are tags, text")
    #expect(identity?.code == .invalidSchema && identity?.typeName == "Ruled" && identity?.key == nil)
    // Each part of the default policy must fit at least one field.
    #expect(
      check(number, text)?.reason
        == "the default policy union applies only to arrays and sets, but no field that uses the default "
        + "contains such values; remove the policy, or use a policy that applies to one of the fields")
    #expect(check(number, tags)?.reason.contains("default policy lines applies only to strings") == true)
    #expect(check(number, FieldInfo("any", ArchiveValue.self)) == nil)
    // The default applies only to fields without their own policy. Without such fields there is no error.
    let followed = check(number, text, FieldInfo("tags", [String].self, merge: .append))
    #expect(followed?.reason.contains("default policy union applies only to arrays and sets") == true)
    #expect(check(FieldInfo("number", Int.self, merge: .max), FieldInfo("text", String.self, merge: .lines)) == nil)
    // A subclass may have a field that the default fits.
    let object = ModelSchema(RuledObject.self, name: "RuledObject", version: 1, fields: [number])
    #expect(archiveError { try object.check() } == nil)
  }

  // MARK: When

  private struct Wrong: DescribedModel {
    var pieces: [Piece] = []

    static let fields = Fields(
      Wrong.self, version: 1, Field("pieces", \.pieces, merge: .byID("number"), default: []),
      make: { Wrong(pieces: $0) })
  }

  private struct WrongHolder: DescribedModel {
    var wrong: Wrong

    static let fields = Fields(WrongHolder.self, version: 1, Field("wrong", \.wrong), make: { WrongHolder(wrong: $0) })
  }

  @Test("An invalid policy throws at the first encoding, decoding or merge, also in a nested model")
  func first() throws {
    let shape = RecordShape(typeName: "Wrong", modelVersion: 1, keys: ["pieces"])
    let record = ModelRecord(shape: shape, values: [.array([])])
    let archive = try ArchiveEncoder().encode(ArchiveValue.record(record))
    var (wrong, holder) = (Wrong(), WrongHolder(wrong: Wrong()))
    let errors = [
      archiveError { _ = try ArchiveEncoder().encode(wrong) }, archiveError { _ = try ArchiveEncoder().encode(holder) },
      archiveError { _ = try ArchiveDecoder().decode(Wrong.self, from: archive) },
      archiveError { _ = try Wrong(fromJSON: Data("{}".utf8)) }, archiveError { _ = try wrong.jsonData() },
      archiveError { _ = try wrong.mergeValues(from: Wrong()) },
      archiveError { _ = try wrong.mergeValues(fromJSON: Data("{}".utf8)) },
      archiveError { _ = try holder.mergeValues(from: WrongHolder(wrong: Wrong())) },
      archiveError { _ = try Wrong(dictionary: [:]) },
      archiveError { _ = try Merger(models: [Wrong.self]).merge(.record(record), into: .record(record)) },
    ]
    for (place, error) in errors.enumerated() {
      #expect(error?.code == .invalidSchema && error?.typeName == "Wrong" && error?.key == "pieces", "\(place)")
    }
  }

  /// A recursive model. It also contains a `Rope`, which contains knots in turn.
  private struct Knot: DescribedModel, Equatable {
    var id: Int
    var knots: [Knot] = []
    var rope: Rope?

    static let fields = Fields(
      Knot.self, version: 1, Field("id", \.id), Field("knots", \.knots, merge: .byID()),
      Field("rope", \.rope, merge: .recursive), make: { Knot(id: $0, knots: $1, rope: $2) })
  }

  private struct Rope: DescribedModel, Equatable {
    var knots: [Knot] = []

    static let fields = Fields(
      Rope.self, version: 1, Field("knots", \.knots, merge: .byID("id")), make: { Rope(knots: $0) })
  }

  @Test("Recursive and mutually recursive models can be checked by concurrent tasks")
  func circles() async throws {
    let knot = Knot(id: 1, knots: [Knot(id: 2, rope: Rope(knots: [Knot(id: 3)]))])
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<100 {
        group.addTask {
          if number.isMultiple(of: 2) { try Rope.schema.check() } else { try Knot.schema.check() }
          let archive = try ArchiveEncoder().encode(knot)
          return try ArchiveDecoder().decode(Knot.self, from: archive) == knot
        }
      }
      for try await isSame in group { #expect(isSame) }
    }
  }
}
