import Foundation
import StrataCore
import StrataTestSupport
import Testing

extension SeededRandom {
  /// Returns a value that the policy accepts. There are only a few values, so both sides often agree.
  mutating func value(for kind: MergeLaw.Kind) -> ArchiveValue {
    switch kind {
    case .scalar:
      switch below(6) {
      case 0: return .null
      case 1: return .bool(below(2) == 0)
      case 2: return .string(["a", "b", "ä"][below(3)])
      case 3: return .double(Double(below(3)) / 2)
      default: return .integer(below(4))
      }
    case .ordered: return below(4) == 0 ? .null : .integer(below(4))
    case .number: return .integer(below(7) - 3)
    case .set:
      let members = (0..<5).filter { _ in below(2) == 0 }
      return .set(members.map { .integer($0) })
    case .list:
      return .array((0..<6).filter { _ in below(2) == 0 }.shuffled(using: &self).map { .integer($0) })
    case .log: return .array((0..<below(4)).map { _ in .integer(below(3)) })
    case .text: return .string((0..<below(5)).map { _ in ["x\n", "y\n", "z\n"][below(3)] }.joined())
    case .records:
      return .array(
        (0..<5).filter { _ in below(3) > 0 }.shuffled(using: &self).map { id in
          ["id": .integer(id), "name": .string(["a", "b", "c"][below(3)]), "stars": .integer(below(3))]
        })
    case .object:
      var object = ArchiveObject()
      for key in ["a", "b", "c"] where below(4) > 0 { object[key] = value(for: below(5) == 0 ? .object : .scalar) }
      return .object(object)
    }
  }
}

/// A policy and the kind of values that it accepts.
struct MergeLaw: Sendable, CustomTestStringConvertible {
  enum Kind: Sendable { case scalar, ordered, number, set, list, log, text, records, object }

  let policy: MergePolicy
  let kind: Kind

  var testDescription: String { "\(policy) on \(kind)" }

  static let all: [MergeLaw] = [
    .init(policy: .automatic, kind: .scalar), .init(policy: .automatic, kind: .object),
    .init(policy: .conflict, kind: .scalar), .init(policy: .conflict, kind: .object),
    .init(policy: .serverWins, kind: .scalar), .init(policy: .localWins, kind: .scalar),
    .init(policy: .keepLocal, kind: .scalar), .init(policy: .recursive, kind: .object),
    .init(policy: .byID("id", unlisted: .removeUnlessEdited), kind: .records),
    .init(policy: .byID("id", unlisted: .keep), kind: .records),
    .init(policy: .byID("id", unlisted: .remove), kind: .records),
    .init(policy: .max, kind: .ordered), .init(policy: .min, kind: .ordered), .init(policy: .max, kind: .number),
    .init(policy: .sumOfDeltas, kind: .number), .init(policy: .union, kind: .set), .init(policy: .union, kind: .list),
    .init(policy: .addWins, kind: .set), .init(policy: .addWins, kind: .list), .init(policy: .append, kind: .log),
    .init(policy: .append, kind: .text), .init(policy: .lines, kind: .text),
    .init(policy: .serverWins.ifPresent, kind: .scalar), .init(policy: .max.ifPresent, kind: .scalar),
    .init(policy: .lines.orElse(.serverWins), kind: .text), .init(policy: .max.orElse(.localWins), kind: .scalar),
  ]

  /// Merges with the policy. Conflicts keep the local value.
  func merge(_ base: ArchiveValue?, _ local: ArchiveValue, _ server: ArchiveValue) throws -> ArchiveValue {
    // The merged value is a field of an object, as in a model.
    let options = MergeOptions(policies: ["value": policy])
    let merged = try Merger(options: options).merge(
      ["value": server], into: ["value": local], base: base.map { ["value": $0] })
    return merged.value["value"] ?? .null
  }

  /// The value with sorted arrays, for laws that ignore their order.
  func unordered(_ value: ArchiveValue) -> ArchiveValue {
    guard kind == .list || kind == .records, case .array(let elements) = value else { return value }
    return .array(elements.sorted { "\($0)" < "\($1)" })
  }
}

@Suite("Laws of merging for random values", .tags(.long))
struct MergeLawTests {
  private static let seed = UInt64.random(in: 0 ... .max)
  private static let cases = Effort.rounds(60, long: 300)

  /// Checks a law on random values and returns the number of cases that break it.
  private func check(
    _ law: MergeLaw, _ name: String, _ holds: (ArchiveValue, ArchiveValue, ArchiveValue, ArchiveValue) throws -> Bool
  ) throws -> Int {
    var random = SeededRandom(seed: Self.seed)
    var broken = 0
    for _ in 0..<Self.cases {
      let values = (0..<4).map { _ in random.value(for: law.kind) }
      guard try holds(values[0], values[1], values[2], values[3]) else {
        broken += 1
        continue
      }
    }
    return broken
  }

  private func expect(
    _ law: MergeLaw, _ claim: MergePolicy.Claims, _ name: String,
    _ holds: (ArchiveValue, ArchiveValue, ArchiveValue, ArchiveValue) throws -> Bool
  ) throws {
    let broken = try check(law, name, holds)
    if law.policy.claims.contains(claim) {
      #expect(broken == 0, "\(law.testDescription) is not \(name): \(broken) of \(Self.cases), seed \(Self.seed)")
    }
  }

  @Test("U-1: merging a value with itself changes nothing", arguments: MergeLaw.all)
  func oneself(_ law: MergeLaw) throws {
    #expect(
      try check(law, "oneself") { _, value, _, _ in try law.merge(nil, value, value) == value } == 0,
      "seed \(Self.seed)")
    #expect(
      try check(law, "oneself") { _, value, _, _ in try law.merge(value, value, value) == value } == 0,
      "seed \(Self.seed)")
  }

  @Test("A policy that respects the base takes a one-sided change", arguments: MergeLaw.all)
  func oneSide(_ law: MergeLaw) throws {
    try expect(law, .respectsBase, "true to its base") { base, value, _, _ in
      try law.merge(base, value, base) == value && law.merge(base, base, value) == value
    }
  }

  @Test("Merging again with an idempotent policy changes nothing", arguments: MergeLaw.all)
  func idempotence(_ law: MergeLaw) throws {
    try expect(law, .idempotent, "idempotent") { base, local, server, _ in
      let once = try law.merge(base, local, server)
      return try law.unordered(law.merge(base, once, server)) == law.unordered(once)
    }
  }

  @Test("Merging again changes nothing if the incoming value is the new base", arguments: MergeLaw.all)
  func idempotenceWithNewBase(_ law: MergeLaw) throws {
    guard law.policy.claims.contains(.respectsBase) else { return }
    let broken = try check(law, "idempotent") { base, local, server, _ in
      let once = try law.merge(base, local, server)
      return try law.merge(server, once, server) == once
    }
    #expect(broken == 0, "\(law.testDescription), seed \(Self.seed)")
  }

  @Test(
    "Swapping the local and incoming values gives the same result for a commutative policy", arguments: MergeLaw.all)
  func exchange(_ law: MergeLaw) throws {
    try expect(law, .commutative, "commutative") { base, one, other, _ in
      try law.unordered(law.merge(base, one, other)) == law.unordered(law.merge(base, other, one))
        && law.unordered(law.merge(nil, one, other)) == law.unordered(law.merge(nil, other, one))
        || law.policy.description == "sumOfDeltas"
          && law.merge(base, one, other) == law.merge(base, other, one)
    }
  }

  @Test("The order of merging three replicas does not matter for an associative policy", arguments: MergeLaw.all)
  func association(_ law: MergeLaw) throws {
    try expect(law, .associative, "associative") { base, one, two, three in
      try law.unordered(law.merge(base, law.merge(base, one, two), three))
        == law.unordered(law.merge(base, one, law.merge(base, two, three)))
    }
  }

  @Test("The tests find a counterexample for laws that a policy does not claim")
  func unclaimed() throws {
    func breaks(_ policy: MergePolicy, _ kind: MergeLaw.Kind, _ holds: (MergeLaw, [ArchiveValue]) throws -> Bool) throws
      -> Bool
    {
      let law = MergeLaw(policy: policy, kind: kind)
      return try check(law, "") { try holds(law, [$0, $1, $2, $3]) } > 0
    }
    func commutes(_ law: MergeLaw, _ values: [ArchiveValue]) throws -> Bool {
      try law.unordered(law.merge(values[0], values[1], values[2]))
        == law.unordered(law.merge(values[0], values[2], values[1]))
    }
    func repeats(_ law: MergeLaw, _ values: [ArchiveValue]) throws -> Bool {
      let once = try law.merge(values[0], values[1], values[2])
      return try law.merge(values[0], once, values[2]) == once
    }
    func isTrueToBase(_ law: MergeLaw, _ values: [ArchiveValue]) throws -> Bool {
      try law.merge(values[0], values[1], values[0]) == values[1]
    }
    #expect(try breaks(.serverWins, .scalar, commutes))
    #expect(try breaks(.append, .log, commutes))
    #expect(try breaks(.byID(), .records, commutes))
    #expect(try breaks(.sumOfDeltas, .number, repeats))
    #expect(try breaks(.union, .set, isTrueToBase))
  }

  @Test(
    "Three-way and two-way merges give the same result if only the server changed the value", arguments: MergeLaw.all)
  func twoWays(_ law: MergeLaw) throws {
    // The law does not apply to these policies: they ignore the base, or they decide differently without one.
    let asked = ["localWins", "keepLocal", "max", "min", "conflict", "append"]
    guard law.policy.claims.contains(.respectsBase), !asked.contains(where: law.policy.description.hasPrefix),
      !law.policy.description.contains("keep"), law.policy.description != "addWins",
      law.policy.description != "recursive"
    else { return }
    #expect(
      try check(law, "the same") { base, server, _, _ in
        try law.merge(base, base, server) == law.merge(nil, base, server)
      } == 0,
      "seed \(Self.seed)")
  }
}
