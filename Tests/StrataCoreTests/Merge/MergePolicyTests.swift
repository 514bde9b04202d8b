import Foundation
import StrataCore
import Testing

/// Merges one key three ways, and returns its value and outcome.
private func merge(
  _ policy: MergePolicy, _ base: ArchiveValue?, _ local: ArchiveValue?, _ server: ArchiveValue?,
  isBaseKnown: Bool = true
) throws -> (value: ArchiveValue?, outcome: MergeReport.Outcome?) {
  func document(_ value: ArchiveValue?) -> ArchiveValue { value.map { ["value": $0] } ?? [:] }
  let options = MergeOptions(policies: ["value": policy])
  let (merged, report) = try Merger(options: options).merge(
    document(server), into: document(local), base: isBaseKnown ? document(base) : nil)
  return (merged["value"], report.entries.first?.outcome)
}

@Suite("Merge policies")
struct MergePolicyTests {
  private static let plain: [MergePolicy] = [
    .automatic, .conflict, .serverWins, .localWins, .keepLocal, .recursive, .byID(), .byID("key"),
    .byID("id", unlisted: .keep), .byID("number", unlisted: .remove), .max, .min, .sumOfDeltas, .union, .addWins,
    .append,
    .lines, .lastWriter(by: "updated_at"), .lastWriter(by: "a|b"), .serverWins.ifPresent,
  ]

  @Test("A conflict in a value to which byID does not apply is described like a conflict without a policy")
  func scalarByID() throws {
    let merger = Merger(options: MergeOptions(policy: .byID()))
    func document(_ title: ArchiveValue, _ count: ArchiveValue) -> ArchiveValue {
      ["title": title, "list": [["id": 1, "a": count]]]
    }
    let (_, report) = try merger.merge(document("server", 3), into: document("local", 2), base: document("base", 1))
    #expect(report.conflicts.map(\.path.description).sorted() == ["list[id=1].a", "title"])
    #expect(report.conflicts.allSatisfy { $0.rule == "changed by both sides" })
  }

  @Test("A policy round-trips through its text, including combined policies")
  func text() throws {
    let pairs = Self.plain.flatMap { one in
      [one, one.ifPresent, one.ifPresent.ifPresent]
        + [MergePolicy.max, .byID("b", unlisted: .keep), .lines.ifPresent].flatMap { other in
          [one.orElse(other), one.orElse(other).ifPresent, other.ifPresent.orElse(one).orElse(.serverWins)]
        }
    }
    for policy in pairs {
      let again = try #require(MergePolicy(policy.description), "\(policy)")
      #expect(again.description == policy.description && again.claims == policy.claims)
    }
    #expect(MergePolicy.lines.orElse(.serverWins).ifPresent.description == "(lines|serverWins).ifPresent")
    #expect(MergePolicy("byID(id,removeUnlessEdited)")?.description == "byID(id,removeUnlessEdited)")
  }

  @Test(
    "Invalid policy texts return nil",
    arguments: [
      "", "nope", "Max", "max ", "max()", "max(1)", "byID(", "byID()", "byID(,keep)", "byID(id,)", "byID(id,nope)",
      "byID(id,keep,keep)", "lastWriter", "lastWriter()", "lastWriter(a,b)", "max|", "|max", "|", "max||min",
      ".ifPresent", "max.ifpresent", "custom", "(max|min", "max|min)", "()", "().ifPresent", "(.ifPresent",
      "max.ifPresent.",
    ])
  func noText(_ text: String) { #expect(MergePolicy(text) == nil) }

  @Test("Every policy name listed in messages can be parsed")
  func names() {
    for name in MergePolicy.names where !name.contains("policy") && !name.contains("|") {
      #expect(MergePolicy(name) != nil, "\(name)")
    }
  }

  @Test("sumOfDeltas: a counter cleared on both sides stays cleared, and an overflow is a conflict")
  func clearedSums() throws {
    let cleared = try merge(.sumOfDeltas, 10, .null, .null)
    #expect(cleared.value == .null && cleared.outcome == nil)
    let gone = try merge(.sumOfDeltas, 10, nil, nil)
    #expect(gone.value == nil && gone.outcome == nil)
    #expect(try merge(.sumOfDeltas, 10, .null, nil).value == .null)
    // A number that one side has set to null counts as 0.
    #expect(try merge(.sumOfDeltas, 10, .null, 15).value == 5)
    for sum in [(3e38, 3e38), (-3e38, -3e38)] as [(Float, Float)] {
      let merged = try merge(.sumOfDeltas, .float(0), .float(sum.0), .float(sum.1))
      #expect(merged.value == .float(sum.0) && merged.outcome == .conflict)
    }
    let doubles = try merge(.sumOfDeltas, 0.5, 1.5e308, 1.5e308)
    #expect(doubles.value == 1.5e308 && doubles.outcome == .conflict)
    let integers = try merge(.sumOfDeltas, 0, .uint(.max), .uint(.max))
    #expect(integers.outcome == .conflict)
    #expect(try merge(.sumOfDeltas, .float(1), .float(2), .float(3)).value == .float(4))
  }

  @Test("orElse uses the second policy only where the first one finds a conflict")
  func several() throws {
    let (a, ab, ac): (ArchiveValue, ArchiveValue, ArchiveValue) = (["a"], ["a", "b"], ["a", "c"])
    #expect(try merge(.union.orElse(.serverWins), a, ab, ac).value == ["a", "c", "b"])
    #expect(try merge(.addWins.orElse(.serverWins), ab, a, ["a", "b", "c"]).value == ["a", "c"])
    #expect(try merge(.addWins.orElse(.serverWins), "x", 1, 2).value == 2)
    #expect(try merge(.sumOfDeltas.orElse(.serverWins), 1, 3, 3).value == 5)
    #expect(try merge(.sumOfDeltas.orElse(.serverWins), 1, 3, "many").value == "many")
    #expect(try merge(.keepLocal.orElse(.serverWins), 1, 1, 2).value == 1)
    #expect(try merge(.append.orElse(.union), ["a", "b"], ["a"], ["b", "c"]).value == ["b", "c", "a"])
    #expect(try merge(.conflict.orElse(.conflict).orElse(.min), 1, 2, 3).value == 2)
    #expect(try merge(.lines.orElse(.localWins), "a", "b", "c").outcome == .local)
    #expect(try merge(.lines.orElse(.max), "a", "b", "c").value == "c")
  }

  @Test("ifPresent ignores a null or absent server value, whatever policy follows")
  func ifPresent() throws {
    for policy: MergePolicy in [
      .serverWins.ifPresent, .max.ifPresent, .serverWins.ifPresent.orElse(.serverWins),
      .max.orElse(.serverWins).ifPresent, .recursive.ifPresent, .addWins.ifPresent,
      .conflict.orElse(.serverWins.ifPresent),
    ] {
      for server: ArchiveValue? in [nil, .null] {
        #expect(try merge(policy, 1, 2, server).value == 2, "\(policy)")
        #expect(
          try merge(policy, nil, 2, .null, isBaseKnown: false).value
            == 2)
      }
    }
    for server: ArchiveValue? in [nil, .null] {
      #expect(try merge(.serverWins.ifPresent.orElse(.serverWins), 2, 2, server).value == 2)
      #expect(try merge(.max.orElse(.serverWins).ifPresent, 2, 2, server).value == 2)
    }
    #expect(try merge(.serverWins.ifPresent, 1, 2, 3).value == 3)
  }

  @Test("sumOfDeltas adds numbers of one type; an overflow or another type is a conflict")
  func sums() throws {
    let (big, small) = (ArchiveValue.integer(Int64.max), ArchiveValue.integer(Int64.min))
    #expect(try merge(.sumOfDeltas, 10, 12, 9).value == 11)
    #expect(try merge(.sumOfDeltas, nil, 2, 3).value == 5)
    #expect(try merge(.sumOfDeltas, 5, .null, 3).value == -2)
    #expect(try merge(.sumOfDeltas, .integer(Int64.max - 1), big, big).value == .integer(UInt64(Int64.max) + 1))
    #expect(try merge(.sumOfDeltas, 0, .integer(UInt64.max), 1).outcome == .conflict)
    #expect(try merge(.sumOfDeltas, 0, small, -1).outcome == .conflict)
    #expect(try merge(.sumOfDeltas, small, big, 0).value == .integer(UInt64.max))
    let decimals = ["0.1", "0.3", "0.4", "0.6"].map { ArchiveValue.decimal(Decimal(string: $0) ?? 0) }
    #expect(try merge(.sumOfDeltas, decimals[0], decimals[1], decimals[2]).value == decimals[3])
    #expect(try merge(.sumOfDeltas, 0.5, 1.5, 2.5).value == 3.5)
    #expect(try merge(.sumOfDeltas, .float(0.5), .float(1.5), .float(2.5)).value == .float(3.5))
    #expect(
      try merge(.sumOfDeltas, 0, .double(.greatestFiniteMagnitude), .double(.greatestFiniteMagnitude)).outcome
        == .conflict)
    for other: ArchiveValue in ["7", true, [1], .decimal(1), .date(Date(timeIntervalSince1970: 0))] {
      let merged = try merge(.sumOfDeltas, 1, 2, other)
      #expect(merged.value == 2 && merged.outcome == .conflict)
    }
    #expect(try merge(.sumOfDeltas, nil, 2, 3, isBaseKnown: false).value == 3)
  }

  @Test("max and min compare values of one kind and prefer any value to null")
  func order() throws {
    let dates = [0, 5].map { ArchiveValue.date(Date(timeIntervalSince1970: $0)) }
    let pairs: [(ArchiveValue, ArchiveValue)] = [
      (1, 2), (1, 1.5), (-1, .integer(UInt64.max)), (.integer(UInt64.max), .double(1e300)), ("a", "b"), ("a", "aa"),
      ("Z", "a"), (false, true), (dates[0], dates[1]), (.decimal(1), .decimal(2)), (.double(.nan), 0),
      (.double(-.infinity), .integer(Int64.min)), (.float(0.5), 0.75),
    ]
    for (smaller, greater) in pairs {
      for isBaseKnown in [true, false] {
        for (local, server) in [(smaller, greater), (greater, smaller)] {
          #expect(try merge(.max, .null, local, server, isBaseKnown: isBaseKnown).value == greater)
          let least = try merge(.min, .null, local, server, isBaseKnown: isBaseKnown).value
          // NaN equals nothing, not even itself.
          if smaller.isNaN { #expect(least?.isNaN == true) } else { #expect(least == smaller) }
        }
      }
    }
    for present: ArchiveValue in [0, -5, "", false] {
      #expect(try merge(.max, 7, .null, present).value == present && merge(.max, 7, present, .null).value == present)
      #expect(try merge(.min, 7, .null, present).value == present && merge(.min, 7, present, .null).value == present)
    }
    for (local, server) in [(1, "1"), (true, 1), ("2020", dates[0]), ([1], [2])] as [(ArchiveValue, ArchiveValue)] {
      #expect(try merge(.max, .null, local, server).outcome == .conflict)
      #expect(try merge(.min, .null, local, server).outcome == .conflict)
    }
  }

  @Test("append places the server's additions first, and any other change is a conflict")
  func append() throws {
    #expect(try merge(.append, ["a"], ["a", "b"], ["a", "c"]).value == ["a", "c", "b"])
    #expect(try merge(.append, ["a"], ["a", "x", "b"], ["a", "x", "c"]).value == ["a", "x", "c", "b"])
    #expect(try merge(.append, "ab", "abc", "abd").value == "abdc")
    #expect(try merge(.append, "e", "e\u{301}", "e\u{300}").value == "e\u{300}\u{301}")
    #expect(try merge(.append, nil, "x", "y").value == "yx")
    #expect(try merge(.append, ["a"], [], ["a", "b"]).outcome == .conflict)
    #expect(try merge(.append, "ab", "xb", "abc").outcome == .conflict)
    #expect(try merge(.append, 1, 2, 3).outcome == .conflict)
    #expect(try merge(.append, nil, "ab\nc", "ab\nd", isBaseKnown: false).value == "ab\ndc")
    // If two words merely start with the same letters, these letters don't count as text that both sides added.
    #expect(try merge(.append, nil, "abc", "abd", isBaseKnown: false).value == "abdabc")
  }

  @Test("A custom policy can resolve, keep local or conflict, and its error becomes the underlying error")
  func ownCode() throws {
    let joined = MergePolicy.resolving("joined") { sides in
      guard case .string(let own)? = sides.local, case .string(let other)? = sides.server else { return nil }
      return .string(own + other)
    }
    #expect(try merge(joined, "", "a", "b").value == "ab")
    #expect(try merge(joined, "", "a", 1).outcome == .conflict)
    #expect(try merge(joined.orElse(.serverWins), "", "a", 1).value == 1)
    #expect(joined.description == "joined" && MergePolicy("joined") == nil)
    let custom = MergePolicy.custom { _, server in server == 0 ? nil : server }
    #expect(try merge(custom, 5, 1, 0).value == 1 && merge(custom, 5, 1, 2).value == 2)
    let failing = MergePolicy.resolving("failing") { _ in throw CancellationError() }
    let error = #expect(throws: ArchiveError.self) { try merge(failing, 1, 2, 3) }
    #expect(error?.code == .mergeFailed && error?.codingPath == [.key("value")])
    #expect(error?.underlyingError is CancellationError)
    #expect(try merge(failing, 1, 1, 3).value == 3)
  }
}

/// A text that both sides changed: base, local, server and the result, or `nil` for a conflict.
private struct Lines: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let texts: [String]
  let result: String?

  init(_ name: String, _ base: String, _ local: String, _ server: String, _ result: String?) {
    (testDescription, texts, self.result) = (name, [base, local, server], result)
  }

  static let all: [Lines] = [
    .init("lines apart", "1\n2\n3\n4\n", "A\n2\n3\n4\n", "1\n2\n3\nD\n", "A\n2\n3\nD\n"),
    .init("the same line", "1\n2\n3\n", "1\nA\n3\n", "1\nB\n3\n", nil),
    .init("neighbouring lines", "1\n2\n3\n4\n", "1\nA\n3\n4\n", "1\n2\nB\n4\n", nil),
    .init("the same edit", "1\n2\n3\n", "1\nA\n3\n", "1\nA\n3\nB\n", "1\nA\n3\nB\n"),
    .init("insertions apart", "1\n2\n", "0\n1\n2\n", "1\n2\n3\n", "0\n1\n2\n3\n"),
    .init("insertions in one place", "1\n2\n", "1\nA\n2\n", "1\nB\n2\n", nil),
    .init("the same insertion", "1\n2\n", "1\nA\n2\n", "1\nA\n2\nB\n", "1\nA\n2\nB\n"),
    .init("deletions apart", "1\n2\n3\n4\n5\n", "2\n3\n4\n5\n", "1\n2\n3\n4\n", "2\n3\n4\n"),
    .init("deletion and edit of one line", "1\n2\n3\n", "1\n3\n", "1\nB\n3\n", nil),
    .init("all removed on one side", "1\n2\n3\n", "", "1\nB\n3\n", nil),
    .init("from nothing", "", "a\n", "b\n", nil),
    .init("no line feed at the end", "1\n2\n3", "A\n2\n3", "1\n2\nC", "A\n2\nC"),
    .init("a line feed added at the end", "1\n2\n3", "A\n2\n3", "1\n2\n3\n", "A\n2\n3\n"),
    .init("CR and LF", "1\r\n2\r\n3\r\n", "A\r\n2\r\n3\r\n", "1\r\n2\r\nC\r\n", "A\r\n2\r\nC\r\n"),
    .init("other ends of lines are other lines", "1\n2\n3\n", "1\r\n2\r\n3\r\n", "1\n2\nC\n", nil),
    .init("equal lines", "x\nx\nx\n", "x\nx\nx\nA\n", "B\nx\nx\nx\n", "B\nx\nx\nx\nA\n"),
    .init("empty lines", "\n\n\n", "A\n\n\n\n", "\n\n\nB\n", "A\n\n\n\nB\n"),
    .init(
      "marks that combine with the feed", "a\n\u{301}b\nc\n", "a\n\u{301}b\nC\n", "A\n\u{301}b\nc\n", "A\n\u{301}b\nC\n"
    ),
  ]
}

@Suite("Merging texts line by line")
struct LineMergeTests {
  @Test(
    "Edits on separate lines are merged; edits on the same or adjacent lines are a conflict",
    arguments: Lines.all)
  private func lines(_ example: Lines) throws {
    for swapped in [false, true] {
      let (own, other) = (example.texts[swapped ? 2 : 1], example.texts[swapped ? 1 : 2])
      let merged = try merge(.lines, .string(example.texts[0]), .string(own), .string(other))
      #expect(merged.value == .string(example.result ?? own))
      #expect((merged.outcome == .conflict) == (example.result == nil))
    }
  }

  @Test("Long texts with few edits are merged; more than 4,000 differing lines are a conflict")
  func long() throws {
    let lines = (0..<20_000).map { "line \($0)\n" }
    var own = lines, other = lines
    own[10] = "here\n"
    other[19_990] = "there\n"
    var both = own
    both[19_990] = "there\n"
    #expect(
      try merge(.lines, .string(lines.joined()), .string(own.joined()), .string(other.joined())).value
        == .string(both.joined()))
    other = lines.map { "x" + $0 }
    let merged = try merge(.lines, .string(lines.joined()), .string(own.joined()), .string(other.joined()))
    #expect(merged.outcome == .conflict && merged.value == .string(own.joined()))
  }

  @Test("Merging a non-string value by lines is a conflict")
  func others() throws {
    #expect(try merge(.lines, "a", 1, "b").outcome == .conflict && merge(.lines, nil, "a", "b").outcome == .conflict)
  }
}

extension ArchiveValue {
  fileprivate var isNaN: Bool {
    guard case .double(let number) = self else { return false }
    return number.isNaN
  }
}
