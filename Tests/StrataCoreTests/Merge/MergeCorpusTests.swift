import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// A local edit. It sets the value at a path, or removes it if `value` is `nil`.
private struct Edit {
  let path: [String]
  let value: ArchiveValue?
  /// The element that the edit appends to an array.
  var appended: ArchiveValue?
}

extension ArchiveValue {
  fileprivate func at(_ path: some Collection<String>) -> ArchiveValue? {
    path.reduce(self as ArchiveValue?) { $0?[$1] }
  }

  fileprivate func setting(_ value: ArchiveValue?, at path: ArraySlice<String>) -> ArchiveValue {
    guard let key = path.first, case .object(var object) = self else { return self }
    object[key] = path.count == 1 ? value : object[key]?.setting(value, at: path.dropFirst())
    return .object(object)
  }

  fileprivate func applying(_ edits: [Edit]) -> ArchiveValue {
    edits.reduce(self) { $0.setting($1.value, at: $1.path[...]) }
  }

  /// The paths of all object members, down to the given depth.
  fileprivate func places(_ depth: Int, _ path: [String] = []) -> [[String]] {
    guard depth > 0, case .object(let object) = self else { return [] }
    return object.entries.flatMap { [path + [$0.key]] + $0.value.places(depth - 1, path + [$0.key]) }
  }
}

@Suite("Replaying recorded server responses", .readsCorpus)
struct MergeCorpusTests {
  private static let mark: ArchiveValue = "edited here"

  private static let policies: [(options: MergeOptions, decides: Bool)] = [
    (MergeOptions(), false), (MergeOptions(conflicts: .takeServer), false), (MergeOptions(policy: .serverWins), true),
    (MergeOptions(policy: .localWins), true), (MergeOptions(policy: .lastWriter(by: "updated_at")), false),
    (MergeOptions(policy: .byID("id")), false), (MergeOptions(policy: .max.orElse(.serverWins)), true),
    (MergeOptions(policies: ["labels": .byID("id"), "assignees": .byID("id"), "*.labels": .byID("name")]), false),
  ]

  /// Returns possible edits of the value at a path, except an edit that sets the server's value.
  private func edits(at path: [String], _ base: ArchiveValue, _ server: ArchiveValue) -> [Edit] {
    // A key can be edited only in an object that the base contains.
    guard case .object? = base.at(path.dropLast()) else { return [] }
    let old = base.at(path)
    var edits = [Edit(path: path, value: Self.mark)]
    if old != nil { edits.append(Edit(path: path, value: nil)) }
    switch old {
    case .string(let text): edits.append(Edit(path: path, value: .string(text + " edited")))
    case .int(let number): edits.append(Edit(path: path, value: .int(number &+ 1_000_003)))
    case .array(let elements):
      edits.append(Edit(path: path, value: .array(elements + [Self.mark]), appended: Self.mark))
    case .object: edits.append(Edit(path: path + ["edited_here"], value: 1))
    default: break
    }
    return edits.filter { $0.value != server.at($0.path) }
  }

  /// Whether one path is a prefix of the other, or both are equal.
  private func areRelated(_ one: [String], _ other: [String]) -> Bool {
    zip(one, other).allSatisfy { $0 == $1 }
  }

  private func expectServer(
    _ merged: ArchiveValue?, _ server: ArchiveValue?, _ path: [String], _ edits: [Edit], _ note: Comment
  ) {
    guard !edits.contains(where: { path.starts(with: $0.path) }) else { return }
    let inside = edits.contains { $0.path.starts(with: path) }
    guard inside, case .object(let own)? = merged, case .object(let other)? = server else {
      // The server may have removed or replaced a value that has an edit inside. The report then lists the edit.
      if !inside { #expect(merged == server, note) }
      return
    }
    for key in Set(own.keys + other.keys) { expectServer(own[key], other[key], path + [key], edits, note) }
  }

  private func expectAccount(_ edit: Edit, _ merged: ArchiveValue, _ report: MergeReport, _ note: Comment) {
    if merged.at(edit.path) == edit.value { return }
    if let appended = edit.appended, merged.at(edit.path)?.arrayValue?.contains(appended) == true { return }
    let isTold = report.entries.contains { entry in
      let keys = entry.path.components.compactMap { if case .key(let key) = $0 { key } else { nil as String? } }
      return keys.count == entry.path.components.count && edit.path.starts(with: keys) && entry.outcome != .local
    }
    #expect(isTold, note)
  }

  @Test(
    "MG-7, U-1: each edit is kept or reported, and all other values equal the server's", .tags(.long),
    arguments: Effort.sample(6, of: RecordedSequence.all))
  private func editsSurvive(_ sequence: RecordedSequence) throws {
    let documents = try sequence.documents()
    #expect(documents.count == sequence.steps)
    for (base, server) in zip(documents, documents.dropFirst()) {
      let places = Set(base.places(3) + server.places(3))
      let changed = places.filter { base.at($0) != server.at($0) }.sorted { $0.lexicographicallyPrecedes($1) }
      let same = places.subtracting(changed).sorted { $0.lexicographicallyPrecedes($1) }
      let unchanged = same.enumerated().filter { $0.offset % max(1, same.count / 12) == 0 }.map(\.element)
      for (number, policy) in Self.policies.enumerated() {
        let merger = Merger(options: policy.options)
        #expect(try merger.merge(server, into: base, base: base).value == server)
        let all = (changed + unchanged).flatMap { edits(at: $0, base, server) }
        for (place, edit) in all.enumerated() where place % (number == 0 ? 2 : 24) == number {
          let note: Comment = "\(edit.path) with \(policy.options.policy?.description ?? "policies \(number)")"
          let local = base.applying([edit])
          #expect(try merger.merge(base, into: local, base: base).value == local, note)
          let (merged, report) = try merger.merge(server, into: local, base: base)
          expectServer(merged, server, [], [edit], note)
          expectAccount(edit, merged, report, note)
          if policy.decides { #expect(report.conflicts.isEmpty, note) }
          // An edit is kept if the server did not change its path.
          if !changed.contains(where: { areRelated($0, edit.path) }) {
            #expect(merged.at(edit.path) == edit.value && report.conflicts.isEmpty, note)
          }
          let again = try merger.merge(server, into: merged, base: server)
          #expect(again.value == merged && again.report.conflicts.isEmpty, note)
        }
      }
    }
  }

  @Test(
    "MG-7: each of many simultaneous edits is in the result or in the report", .tags(.long),
    arguments: Effort.sample(6, of: RecordedSequence.all))
  private func manyEdits(_ sequence: RecordedSequence) throws {
    let documents = try sequence.documents()
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededRandom(seed: seed)
    for (base, server) in zip(documents, documents.dropFirst()) {
      let places = Set(base.places(3) + server.places(3)).sorted { $0.lexicographicallyPrecedes($1) }
      for _ in 0..<8 {
        var chosen: [Edit] = []
        for place in places where random.below(max(2, places.count / 8)) == 0 {
          // An edit inside another edit would be part of that edit.
          guard !chosen.contains(where: { areRelated($0.path, place) }) else { continue }
          if let edit = edits(at: place, base, server).randomElement(using: &random) { chosen.append(edit) }
        }
        let local = base.applying(chosen)
        let (merged, report) = try Merger().merge(server, into: local, base: base)
        let note: Comment = "seed \(seed), \(chosen.map(\.path))"
        expectServer(merged, server, [], chosen, note)
        for edit in chosen { expectAccount(edit, merged, report, note) }
        // Without policies, a conflict keeps the local value.
        for edit in chosen where edit.appended == nil { #expect(merged.at(edit.path) == edit.value, note) }
        let patch = JSONPatch(from: local, to: merged)
        #expect(try patch.applied(to: local) == merged && JSONPatch(json: patch.json) == patch, note)
        #expect(try ValueDifference(from: base, to: merged).applied(to: base) == merged, note)
      }
    }
  }

  @Test("More than 50 recorded sequences are available")
  func areThere() { #expect(RecordedSequence.all.count > 50) }
}
