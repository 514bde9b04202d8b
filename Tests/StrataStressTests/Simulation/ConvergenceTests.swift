import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// Three replicas that start from a common base and make one edit each, and the policy that merges the edits.
private struct Exchange {
  let law: MergeLaw
  let base: ArchiveValue
  let edits: [ArchiveValue]

  /// Creates a base and edits that the policy accepts. No edit has an earlier time than the base.
  init(_ law: MergeLaw, _ random: inout SeededRandom) {
    self.law = law
    let isTimed = law.isTimed
    func value(since time: Int) -> ArchiveValue {
      let plain = random.value(for: law.kind)
      return isTimed ? ["time": .integer(time + random.below(3)), "text": plain] : plain
    }
    let start = value(since: 0)
    base = start
    edits = (0..<3).map { _ in random.below(4) == 0 ? start : value(since: start["time"]?.intValue ?? 0) }
  }

  func merge(_ local: ArchiveValue, _ server: ArchiveValue) throws -> ArchiveValue {
    guard law.isTimed else { return try law.merge(base, local, server) }
    let merger = Merger(options: MergeOptions(policy: law.policy))
    return try merger.merge(["in": server], into: ["in": local], base: ["in": base]).value["in"] ?? .null
  }

  /// Merges each of the other replicas' edits into each replica once, in a random order.
  func once(_ random: inout SeededRandom) throws -> [ArchiveValue] {
    var ends: [ArchiveValue] = []
    for own in 0..<3 {
      var value = edits[own]
      for other in (0..<3).filter({ $0 != own }).shuffled(using: &random) { value = try merge(value, edits[other]) }
      ends.append(value)
    }
    return ends
  }

  /// Sends states between random replicas, then between all of them until nothing changes or six rounds have passed.
  func gossip(_ random: inout SeededRandom) throws -> [ArchiveValue] {
    var values = edits
    func send(_ sender: Int, _ receiver: Int) throws { values[receiver] = try merge(values[receiver], values[sender]) }
    for _ in 0..<random.below(8) {
      let sender = random.below(3)
      try send(sender, (sender + 1 + random.below(2)) % 3)
    }
    // In each round, replicas receive either the others' current states or the others' states from the start of the round. The latter
    // reveals replicas that swap values forever.
    let isAtOnce = random.below(2) == 0
    let others = (0..<3).map { own in (0..<3).filter { $0 != own }.shuffled(using: &random) }
    for _ in 0..<6 {
      let sent = values
      for receiver in 0..<3 {
        for sender in others[receiver] {
          values[receiver] = try merge(values[receiver], isAtOnce ? sent[sender] : values[sender])
        }
      }
      if sent == values { break }
    }
    return values
  }
}

extension MergeLaw {
  fileprivate var isTimed: Bool { policy.description.hasPrefix("lastWriter") }

  /// The policies under test, each with a kind of value that it accepts. Times in these values never decrease.
  fileprivate static let converging: [MergeLaw] =
    all.filter { !$0.policy.description.contains(".ifPresent") } + [
      .init(policy: .lastWriter(by: "time"), kind: .scalar)
    ]
}

/// The claims about convergence that hold for a policy.
private struct Convergence: Hashable, CustomStringConvertible {
  /// Whether all replicas are equal once each has received every edit exactly once. The order of arrays is ignored.
  var once = true
  /// Whether all replicas are equal after any exchange of states. The order of arrays is ignored.
  var gossip = true
  /// Whether all replicas are equal after any exchange of states, even in the order of arrays.
  var inOrder = true
  /// Whether two different exchanges of the same edits give the same result.
  var isConfluent = true

  static let table = ["each edit once", "any states, repeatedly", "order of arrays too", "same whoever meets first"]

  /// Whether none of the claims holds.
  var isRefuted: Bool { !once && !gossip && !inOrder && !isConfluent }

  var cells: [String] { [once, gossip, inOrder, isConfluent].map { $0 ? "✓" : " " } }
  var description: String { cells.joined(separator: " | ") }

  /// Whether a claim that holds for `other` fails here.
  func isLess(than other: Convergence) -> Bool {
    zip(cells, other.cells).contains { $0 != $1 && $0 == " " }
  }

  /// Returns the claims that hold in random cases. If a claim that is expected to fail still holds, runs more cases, because a
  /// counterexample is only found by chance.
  static func found(for law: MergeLaw, expecting expected: Convergence, seed: UInt64) throws -> Convergence {
    var random = SeededRandom(seed: seed)
    var found = Convergence()
    func areEqual(_ values: [ArchiveValue], _ read: (ArchiveValue) -> ArchiveValue) -> Bool {
      Set(values.map(read)).count == 1
    }
    for number in 0..<3000 where number < Effort.rounds(12, long: 60) || expected.isLess(than: found) {
      guard !found.isLess(than: expected) else { break }
      let exchange = Exchange(law, &random)
      let ends = try exchange.once(&random)
      found.once = found.once && areEqual(ends, law.unordered)
      let first = try exchange.gossip(&random)
      let second = try exchange.gossip(&random)
      found.gossip = found.gossip && areEqual(first, law.unordered) && areEqual(second, law.unordered)
      found.inOrder = found.inOrder && areEqual(first, \.self) && areEqual(second, \.self)
      found.isConfluent = found.isConfluent && areEqual(first + second, law.unordered)
      if found.isRefuted { break }
    }
    return found
  }
}

@Suite("Simulation: which policies converge", .tags(.long))
struct ConvergenceTests {
  /// The expected convergence of the policies that converge in at least one respect.
  private static let expected: [String: Convergence] = [
    "max on ordered": Convergence(), "min on ordered": Convergence(), "max on number": Convergence(),
    "union on set": Convergence(), "addWins on set": Convergence(),
    // If replicas insert elements at the same position, the order depends on which replica merged first.
    "union on list": Convergence(inOrder: false), "addWins on list": Convergence(inOrder: false),
    // A change is added again each time it arrives.
    "sumOfDeltas on number": Convergence(gossip: false, inOrder: false, isConfluent: false),
    // The time and the text are two values. The oldest edit can be the only one with its text until the latest time has reached
    // all replicas.
    "lastWriter(time) on scalar": Convergence(once: false, isConfluent: false),
  ]
  /// All other policies converge only by chance.
  private static let diverging = Convergence(once: false, gossip: false, inOrder: false, isConfluent: false)

  @Test("Replicas converge with exactly the policies that are listed as converging")
  func table() throws {
    let seed = SimulationSettings.seed ?? .random(in: 0 ... .max)
    var rows: [(name: String, convergence: Convergence)] = []
    for law in MergeLaw.converging {
      let expected = Self.expected[law.testDescription, default: Self.diverging]
      let found = try Convergence.found(for: law, expecting: expected, seed: seed)
      #expect(found == expected, "\(law.testDescription), seed \(seed)")
      rows.append((law.testDescription, found))
    }
    let width = rows.map(\.name.count).max() ?? 0
    func padded(_ text: String, _ width: Int) -> String { text.padding(toLength: width, withPad: " ", startingAt: 0) }
    var lines = ["| \(padded("policy", width)) | \(Convergence.table.joined(separator: " | ")) |"]
    for row in rows {
      let cells = zip(row.convergence.cells, Convergence.table).map { padded($0, $1.count) }
      lines.append("| \(padded(row.name, width)) | \(cells.joined(separator: " | ")) |")
    }
    if ProcessInfo.processInfo.environment["STRATA_MERGE_TABLE"] != nil { print(lines.joined(separator: "\n")) }
  }
}
