import Foundation
import Strata
import StrataStore

// These objects have arbitrary references. There are shared objects, cycles, and objects that refer to themselves.

@Model(version: 1)
class Knot {
  let number: Int
  var next: Knot?
  var others: [Knot] = []
  var byName: [String: Knot] = [:]
  var boxed: Box<[Knot]> = Box(content: [])
  weak var back: Knot?
  init(number: Int) { self.number = number }
}

@Model(version: 1, superclass: Knot.self)
final class Bow: Knot {
  var colour = "red"
  override init(number: Int) { super.init(number: number) }
}

/// An enum with an object as its payload.
@Model(version: 1)
enum Tied {
  case knot(Knot)
}

extension Knot: ModelHierarchy { static var subclasses: [any VersionedModel.Type] { [Bow.self] } }

extension Knot {
  /// Returns the first of some objects that refer to each other arbitrarily.
  static func sample(_ random: inout SeededRandom) -> Knot {
    let knots = (0..<(1 + random.below(7))).map { random.below(3) == 0 ? Bow(number: $0) : Knot(number: $0) }
    for knot in knots {
      if random.below(2) == 0 { knot.next = random.oneOf(knots) }
      knot.others = (0..<random.below(3)).map { _ in random.oneOf(knots) }
      if random.below(2) == 0 { knot.byName = ["a": random.oneOf(knots), "b": random.oneOf(knots)] }
      if random.below(3) == 0 { knot.boxed.content = [random.oneOf(knots)] }
      if random.below(2) == 0 { knot.back = random.oneOf(knots) }
      (knot as? Bow)?.colour = random.oneOf(["red", "blue"])
    }
    // Breaks cycles of unreachable objects, which would never be released. Clears weak references to such objects, because archives omit
    // these references.
    let reached = knots[0].reached
    for knot in knots where !reached.contains(ObjectIdentifier(knot)) { knot.cut() }
    for knot in knots where knot.back.map({ !reached.contains(ObjectIdentifier($0)) }) ?? false { knot.back = nil }
    return knots[0]
  }

  /// The objects that are reachable through strong references.
  private var reached: Set<ObjectIdentifier> {
    var open = [self]
    var seen = Set<ObjectIdentifier>()
    while let knot = open.popLast() {
      if seen.insert(ObjectIdentifier(knot)).inserted { open += knot.held }
    }
    return seen
  }

  private var held: [Knot] { [next].compactMap(\.self) + others + byName.values + boxed.content }

  /// All reachable objects as text, numbered in the order of traversal. A weak reference counts only if its object is also strongly
  /// reachable.
  var shape: [String] {
    var order: [ObjectIdentifier: Int] = [:]
    var met: [Knot] = []
    func number(_ knot: Knot) -> Int {
      if let known = order[ObjectIdentifier(knot)] { return known }
      order[ObjectIdentifier(knot)] = met.count
      met.append(knot)
      return met.count - 1
    }
    _ = number(self)
    var lines: [String] = []
    var place = 0
    while place < met.count {
      let knot = met[place]
      let colour = (knot as? Bow)?.colour ?? "none"
      let names = knot.byName.sorted { $0.key < $1.key }.map { "\($0.key)\(number($0.value))" }
      lines.append(
        "\(knot.number) \(colour) \(knot.next.map(number) ?? -1) \(knot.others.map(number)) \(names) "
          + "\(knot.boxed.content.map(number))")
      place += 1
    }
    return lines + met.map { "back \($0.back.flatMap { order[ObjectIdentifier($0)] } ?? -1)" }
  }

  /// Clears the references of every reachable object, so that cycles are released.
  func cut() {
    var open = [self]
    var seen = Set<ObjectIdentifier>()
    while let knot = open.popLast() {
      guard seen.insert(ObjectIdentifier(knot)).inserted else { continue }
      open += knot.held
      (knot.next, knot.others, knot.byName, knot.boxed.content) = (nil, [], [:], [])
    }
  }
}

extension DeclaredLaws {
  /// Checks that every way of copying preserves the identity of objects, even in cycles.
  mutating func graphs() {
    let knot = Knot.sample(&random), other = Knot.sample(&random)
    let (shape, otherShape) = (knot.shape, other.shape)
    defer { for knot in [knot, other] { knot.cut() } }
    func compare(_ way: String, _ make: () throws -> Knot) {
      do {
        let made = try make()
        let found = made.shape
        add(.graph, "Knot", found == shape ? nil : "\(way): \(shape) became \(found)")
        made.cut()
      } catch { add(.graph, "Knot", "\(way) of \(shape): \(error)") }
    }
    compare("archive") { try ArchiveDecoder().decode(Knot.self, from: ArchiveEncoder().encode(knot)) }
    compare("keyed") { try ArchiveDecoder().decode(Knot.self, fromKeyed: ArchiveEncoder().encodeKeyed(knot)) }
    compare("body") { try ArchiveDecoder().decodeBody(Knot.self, from: ArchiveEncoder().encodeBody(knot)) }
    compare("list") { try ArchiveDecoder().decode([Knot].self, from: ArchiveEncoder().encode([other, knot]))[1] }
    compare("upgraded") {
      try ArchiveDecoder().decode(Knot.self, from: ArchiveUpgrader(Knot.self).upgrade(ArchiveEncoder().encode(knot)))
    }
    compare("snapshot") {
      try SnapshotStore(inMemory: StoreOptions()).write { transaction in
        try transaction.save(knot, as: "knot")
        try transaction.save(other, as: "knot")
        try transaction.save(knot, as: "knot")
        guard let saved = try transaction.value(Knot.self, for: "knot") else { throw Refused() }
        return saved
      }
    }
    // A copied value refers to the same object.
    if case .knot(let same)? = try? Tied.knot(knot).copy(updating: [:]) {
      add(.graph, "Tied", same === knot ? nil : "a copy has another object")
    } else {
      add(.graph, "Tied", "is not copied")
    }
    // Merging the original into its copy changes nothing, and both are equal.
    do {
      let copy = try ArchiveDecoder().decode(Knot.self, from: ArchiveEncoder().encode(knot))
      try copy.mergeValues(from: knot)
      add(.graph, "Knot", copy.shape == shape ? nil : "merged with itself: \(shape) became \(copy.shape)")
      add(.graph, "Knot", copy.isEqual(to: knot) ? nil : "is not equal to its copy: \(shape)")
      let isSame = knot.isEqual(to: other) == (shape == otherShape)
      // Different graphs may unroll to equal values, so inequality is checked only for graphs with different numbers of objects.
      if shape != otherShape, knot.shape.count != other.shape.count {
        add(.graph, "Knot", isSame ? nil : "\(shape) is \(otherShape)")
      }
      copy.cut()
    } catch { add(.graph, "Knot", "merging \(shape): \(error)") }
  }
}
