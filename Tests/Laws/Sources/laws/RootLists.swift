import Foundation
import Strata

/// The laws about merging lists of models, and about merging values without their model types.
///
/// The expected result does not depend on the fields' types: if only one side has changed a field, that side's value is used. The laws
/// about fields cover fields that both sides have changed differently.
extension Trial {
  mutating func lists() {
    var random = SeededRandom(seed: seed &+ 0x7157)
    let pool = (1...6).map { id in (0..<3).map { element(id, $0) } }
    let sides = Sides(pool, &random)
    for known in [true, false] {
      let expected = sides.expected(isBaseKnown: known)
      let base = known ? sides.base : nil
      merge(expected, sides, known, "model") { try $0.mergeValues(from: sides.server, base: base) }
      merge(expected, sides, known, "json") {
        try $0.merge(.json(JSONAdapter<H>().encodeArray(sides.server)), base: base)
      }
      merge(expected, sides, known, "value") {
        try $0.merge(.json(JSONReader().read(JSONAdapter<H>().encodeArray(sides.server))), base: base)
      }
      let kept = sides.expected(isBaseKnown: known, keepsUnlisted: true)
      merge(kept, sides, known, "kept") { try $0.mergeValues(from: sides.server, unlisted: .keep, base: base) }
    }
    withoutModels(pool)
  }

  private func element(_ id: Int, _ version: UInt64) -> H {
    var value = sample(other: UInt64(id) &* 16 &+ version)
    value.id = id
    return value
  }

  /// The fields whose types contain no objects. Objects are shared by all elements, and other laws cover them.
  static var compared: [(key: String, type: String)] {
    H.types.filter { type in !["Thing", "Being", "Bare"].contains { type.type.contains($0) } }
  }

  private mutating func merge(
    _ expected: [Int: [String: Plain]], _ sides: Sides<H>, _ known: Bool, _ source: String,
    _ merge: (inout [H]) throws -> MergeReport
  ) {
    // Merging a document without a base removes nothing inside an element.
    let keepsKeys = !known && (source == "json" || source == "value")
    var list = sides.local
    do {
      let report = try merge(&list)
      let found = Dictionary(list.map { ($0.id, $0.plainFields) }) { first, _ in first }
      let ids = Set(list.map(\.id))
      let isRight = Set(expected.keys) == ids && ids.count == list.count
      let shown = "\(sides.ids) from \(source) became \(list.map(\.id)), expected \(expected.keys.sorted())"
      add(.listMerge, H.kind.name, isRight ? nil : shown)
      // If nothing was moved locally, the result has the server's order.
      let here = sides.server.map(\.id).filter { ids.contains($0) }
      let order = list.map(\.id).filter { here.contains($0) }
      if sides.isOrderKept { add(.listMerge, H.kind.name, order == here ? nil : "the order of \(shown)") }
      let isSame = list.map(\.id) == sides.local.map(\.id) && zip(list, sides.local).allSatisfy { $0.isEqual(to: $1) }
      if known, report.conflicts.count < sides.deletedAndEdited {
        add(
          .listMerge, H.kind.name,
          "\(shown) has \(sides.deletedAndEdited) deletions of what was edited, and the report says:\n\(report)")
      }
      if isSame, !report.isEmpty, sides.deletedAndEdited == 0 {
        add(.listMerge, H.kind.name, "nothing changed in \(shown), and the report says:\n\(report)")
      }
      if !isSame, report.isEmpty { add(.listMerge, H.kind.name, "the report of \(shown) is empty") }
      for (id, fields) in expected {
        for (key, type) in Self.compared {
          guard let wanted = fields[key], let value = found[id]?[key] else { continue }
          var same = value.unordered == wanted.unordered
          if keepsKeys, let here = sides.local.first(where: { $0.id == id })?.plainFields[key] {
            // For nested lists, the merge rules don't define which of the lists keeps an element.
            guard !here.listsListsOfIdentities, !here.repeatsIdentity, !wanted.repeatsIdentity else { continue }
            same = try value.unplaced == Oracle().merged(here, wanted).unplaced
          }
          add(.listMerge, type, same ? nil : "\(source), element \(id): \(value.shown), expected \(wanted.shown)")
        }
      }
    } catch { add(.listMerge, H.kind.name, "\(source): \(error)") }
  }

  // MARK: Without models

  /// Merges archive values. Only one side changes each field, and the result must contain that side's change.
  private mutating func withoutModels(_ pool: [[H]]) {
    guard Self.compared.count == H.types.count else { return }
    var random = SeededRandom(seed: seed &+ 0x3A3A)
    func tree(_ value: H) throws -> ArchiveValue {
      try ArchiveDecoder().decode(ArchiveValue.self, from: ArchiveEncoder().encode(value))
    }
    let base = pool[0][0]
    for merger in [Merger(), Merger(models: [H.self])] {
      do {
        var (local, server) = (try tree(base), try tree(base))
        var expected = base.plainFields
        for (key, _) in H.types {
          let other = try tree(pool[0][1 + random.below(2)])
          let isLocal = random.below(2) == 0
          guard let value = other.recordValue?[key] else { continue }
          if isLocal { local = local.setting(key, value) } else { server = server.setting(key, value) }
          expected[key] = try H(decoding: base, key, value).plainFields[key]
        }
        let (value, report) = try merger.merge(server, into: local, base: tree(base))
        let made = try ArchiveDecoder().decode(H.self, from: ArchiveEncoder().encode(value)).plainFields
        for (key, type) in H.types {
          let same = made[key]?.unordered == expected[key]?.unordered
          add(.untyped, type, same ? nil : "\(made[key].shown), expected \(expected[key].shown)")
        }
        let before = try ArchiveDecoder().decode(H.self, from: ArchiveEncoder().encode(local)).plainFields
        let changed = Set(report.changedKeys)
        for (key, type) in H.types where made[key] != before[key] && !changed.contains(key) {
          add(.untyped, type, "\(key) changed, and the report does not say so")
        }
        let again = try merger.merge(value, into: value, base: value)
        add(
          .untyped, H.kind.name,
          again.report.isEmpty && again.value == value ? nil : "a value differs from itself: \(again.report)")
      } catch { add(.untyped, H.kind.name, "\(error)") }
    }
  }
}

extension ArchiveValue {
  fileprivate func setting(_ key: String, _ value: ArchiveValue) -> ArchiveValue {
    guard var record = recordValue else { return self }
    record[key] = value
    return .record(record)
  }
}

extension Holder {
  /// The value as an untyped archive value.
  var archivedTree: ArchiveValue {
    get throws { try ArchiveDecoder().decode(ArchiveValue.self, from: ArchiveEncoder().encode(self)) }
  }

  /// Creates a copy of a value in which one field is decoded from an archived tree.
  fileprivate init(decoding value: Self, _ key: String, _ tree: ArchiveValue) throws {
    let whole = try ArchiveDecoder().decode(ArchiveValue.self, from: ArchiveEncoder().encode(value))
    self = try ArchiveDecoder().decode(Self.self, from: ArchiveEncoder().encode(whole.setting(key, tree)))
  }
}

/// Three lists whose elements have identities from 1 to 6. For each element, the first version in the pool is the base version.
private struct Sides<H: Holder> {
  var base: [H] = [], local: [H] = [], server: [H] = []
  /// Whether the local list has the order of the base.
  let isOrderKept: Bool

  init(_ pool: [[H]], _ random: inout SeededRandom) {
    let ids = pool.indices.filter { _ in random.below(5) > 0 }.shuffled(using: &random)
    base = ids.map { pool[$0][0] }
    func changed(_ version: Int) -> [H] {
      pool.indices.filter { ids.contains($0) ? random.below(6) > 0 : random.below(2) == 0 }
        .map { random.below(3) == 0 || !ids.contains($0) ? pool[$0][version] : pool[$0][0] }
    }
    func ordered(_ list: [H]) -> [H] {
      let places = Dictionary(uniqueKeysWithValues: base.enumerated().map { ($1.id, $0) })
      return list.sorted { places[$0.id] ?? 9 < places[$1.id] ?? 9 }
    }
    isOrderKept = random.below(2) == 0
    local = isOrderKept ? ordered(changed(1)) : changed(1).shuffled(using: &random)
    server = changed(2).shuffled(using: &random)
  }

  var ids: String { "\(base.map(\.id)), \(local.map(\.id)), \(server.map(\.id))" }

  /// The number of elements that were deleted locally and edited by the server.
  var deletedAndEdited: Int {
    server.count { there in
      !local.contains { $0.id == there.id }
        && base.contains { $0.id == there.id && $0.plainFields != there.plainFields }
    }
  }

  /// Returns the expected fields of each element, keyed by identity. Fields that both sides changed differently are left out. An
  /// element that the server deleted is kept if it was edited locally.
  func expected(isBaseKnown: Bool, keepsUnlisted: Bool = false) -> [Int: [String: Plain]] {
    func byID(_ list: [H]) -> [Int: [String: Plain]] {
      Dictionary(uniqueKeysWithValues: list.map { ($0.id, $0.plainFields) })
    }
    let (old, here, there) = (isBaseKnown ? byID(base) : [:], byID(local), byID(server))
    var result: [Int: [String: Plain]] = [:]
    for id in Set(here.keys).union(there.keys) {
      switch (here[id], there[id]) {
      case (let here?, let there?):
        guard let old = old[id] else {
          result[id] = isBaseKnown ? [:] : there
          continue
        }
        result[id] = here.filter { key, value in old[key] == value || old[key] == there[key] || value == there[key] }
          .reduce(into: [:]) { $0[$1.key] = old[$1.key] == $1.value ? there[$1.key] : $1.value }
      case (let here?, nil):
        if keepsUnlisted || (isBaseKnown && old[id] != here) { result[id] = here }
      case (nil, let there?):
        // If an element was deleted locally and edited by the server, there is a conflict, and the element stays deleted.
        if old[id] == nil { result[id] = there }
      case (nil, nil): break
      }
    }
    return result
  }
}
