import Foundation
import StrataCore
import StrataTestSupport

/// A failure that a step of the simulation revealed.
struct SimulationFailure: Error, CustomStringConvertible {
  /// The kind of failure, without any values. It stays the same while a round is shrunk.
  let kind: String
  let path: FlatPath
  let detail: String

  init(_ kind: String, _ path: FlatPath = [], _ detail: String = "") {
    (self.kind, self.path, self.detail) = (kind, path, detail)
  }

  /// The kind and the fields of the path, without identities and dictionary keys.
  var signature: String {
    let isKeyed = path.first == "places" || path.first == "counts"
    let names = path.enumerated().map { isKeyed && $0 == 1 ? "*" : $1.hasPrefix("[") ? "[]" : $1 }
    return "\(kind) at \(names.joined(separator: "."))"
  }
  var description: String { "\(kind) at \(path.joined(separator: ".")): \(detail)" }
}

/// A document that the library merges, together with the oracle's expected state of it.
struct SimulatedReplica {
  static let shape = Shape.model(.document)

  /// The library's document, or `nil` if only the oracle runs.
  private var document: SimulatedDocument?
  private(set) var local: Flat
  private(set) var base: Flat?
  private(set) var conflicts: [FlatPath: OracleMerge.Conflict] = [:]
  /// The names that duplicate elements share, on any side of a merge.
  private var shared = Set<FlatPath>()

  /// - Parameters:
  ///   - isFromServer: whether a server sent the start value. Otherwise it was created locally and has no base.
  ///   - isOracleAlone: whether the library is left out, to observe the oracle alone.
  init(_ start: Tree, isFromServer: Bool, isOracleAlone: Bool) throws {
    let whole = start.completed(Self.shape)
    local = Flat(whole, Self.shape)
    base = isFromServer ? local : nil
    guard !isOracleAlone else { return }
    document = try isFromServer ? SimulatedDocument(fromJSON: start) : Self.document(whole, merging: nil)
    try checkValues(local, "after the start")
  }

  var tree: Tree { local.tree([], Self.shape) ?? [:] }
  /// The part of the document that is written to JSON.
  var json: Tree { tree.withoutPrivate(Self.shape) }
  /// The base as a document, or `nil` if a part of it is unknown.
  var wholeBase: Tree? {
    guard let known = base?.tree([], Self.shape)?.withoutPrivate(Self.shape) else { return nil }
    let whole = known.completed(Self.shape).withoutPrivate(Self.shape)
    return whole.canonicalText == known.canonicalText ? known : nil
  }

  private static func document(_ tree: Tree, merging: ArchiveValue?) throws -> SimulatedDocument {
    guard case .record(var record) = tree.archived(shape) else { throw SimulationFailure("no record") }
    record["merging"] = merging
    return try SimulatedDocument.decode(from: .record(record), in: DecodingContext())
  }

  private static func flat(_ document: SimulatedDocument) throws -> Flat {
    Flat(ArchiveValue(archived: .record(try document.record())), shape)
  }

  // MARK: Steps

  mutating func edit(_ edited: Tree) throws {
    local = Flat(edited, Self.shape)
    guard let document else { return }
    self.document = try Self.document(edited, merging: document.record()["merging"])
    try checkValues(local, "after an edit")
  }

  mutating func archive() throws {
    guard let document else { return }
    let data = try ArchiveEncoder().encode(document)
    self.document = try ArchiveDecoder().decode(SimulatedDocument.self, from: data)
    try checkValues(local, "after archiving")
    try checkConflicts("after archiving")
  }

  /// Archives the document as version 1 and migrates it back. If there are conflicts, archives the current version instead, because
  /// conflicts of version 1 would be outdated.
  mutating func migrate() throws {
    guard let document else { return }
    guard conflicts.isEmpty, document.mergeConflicts.isEmpty else { return try archive() }
    var record = try document.record()
    record = Self.outdated(record)
    if let merging = record["merging"] { record["merging"] = Self.outdated(merging) }
    self.document = try ArchiveDecoder().decode(SimulatedDocument.self, from: ArchiveEncoder().encode(record))
    try checkValues(local, "after migrating")
    try checkConflicts("after migrating")
  }

  private static func outdated(_ record: ModelRecord) -> ModelRecord {
    guard record.typeName == "Doc" else { return record }
    var result = record
    result.rename("title", to: "summary")
    result.modelVersion = 1
    return result
  }

  /// Converts the records inside a value to version 1.
  private static func outdated(_ value: ArchiveValue) -> ArchiveValue {
    switch value {
    case .record(let record): return .record(outdated(record))
    case .array(let elements): return .array(elements.map(outdated))
    case .object(var object):
      for entry in object.entries { object[entry.key] = outdated(entry.value) }
      return .object(object)
    default: return value
    }
  }

  /// Merges a value from a server.
  ///
  /// - Parameters:
  ///   - server: the value in the oracle's form.
  ///   - keepsUnlisted: whether lists may be incomplete.
  mutating func receive(
    _ server: Tree, keepsUnlisted: Bool, _ merge: (inout SimulatedDocument) throws -> MergeReport
  ) throws {
    let before = local
    let incoming = Flat(server, Self.shape)
    let oracle = OracleMerge(base: base, local: local, incoming: incoming, keepsUnlisted: keepsUnlisted)
    var expected = oracle.result
    if var document {
      let report: MergeReport
      do { report = try merge(&document) } catch {
        throw SimulationFailure("error", (error as? ArchiveError)?.codingPath.map { "\($0)" } ?? [], "\(error)")
      }
      self.document = document
      let found = try Self.flat(document)
      try Self.order(oracle, &expected, incoming, found)
      if let path = Flat.differences(expected, found).first {
        throw Self.failure("value", path, base, before, incoming, expected: expected, found: found)
      }
      try Self.check(report, before, found)
    } else {
      Self.order(oracle, &expected, incoming)
    }
    for side in [before, incoming, expected, base] { shared.formUnion(side?.duplicates ?? []) }
    let oldBase = base
    let newBase = OracleBase.next(base, incoming)
    base = newBase
    local = expected
    conflicts = conflicts.filter { path, _ in
      guard let shape = ModelShape.shape(at: path[...]) else { return false }
      let isNews = oldBase?.text(path, shape) != newBase.text(path, shape)
      let agree = expected.text(path, shape) == newBase.text(path, shape)
      let isInside = oracle.conflicts.keys.contains { path.starts(with: $0) }
      return !isNews && !agree && !isInside
    }
    conflicts.merge(oracle.conflicts) { $1 }
    try checkConflicts("after a merge")
  }

  /// Resolves one of the conflicts.
  mutating func resolve(_ number: Int, with resolution: MergeResolution) throws {
    guard !conflicts.isEmpty else { return }
    let paths = conflicts.keys.sorted { $0.lexicographicallyPrecedes($1) }
    let path = paths[number % paths.count]
    guard let known = conflicts[path], let shape = ModelShape.shape(at: path[...]) else { return }
    let plain = path.map(Self.withoutOccurrence)
    let entry = document?.mergeConflicts.first { Self.path($0.path) == plain }
    // A path names only the first of several elements with the same key, so the resolution could affect the wrong element.
    let isOneOfSeveral =
      plain != path || conflicts.keys.contains { $0 != path && $0.map(Self.withoutOccurrence) == plain }
      || plain.indices.contains { local.duplicates.contains(Array(plain[...$0])) }
    if let entry, !isOneOfSeveral {
      let server = entry.server.map { ArchiveValue(archived: $0) }
      guard server?.canonicalText == known.server?.canonicalText else {
        throw SimulationFailure(
          "server's value of a conflict", path,
          "expected \(known.server?.story ?? "–"), found \(server?.story ?? "–")")
      }
    }
    var resolution = resolution
    let isReachable = local[Array(path.dropLast())].map { $0 != .null } ?? false
    if !isReachable || isOneOfSeveral || resolution == .base && known.base == nil { resolution = .local }
    var expected = local
    if resolution != .local {
      expected.set((resolution == .server ? known.server : known.base)?.completed(shape), path, shape)
    }
    do { if let entry { try document?.resolve(entry, with: resolution) } } catch {
      throw SimulationFailure("error of resolving", path, "\(resolution): \(error)")
    }
    conflicts = conflicts.filter { $0.key.map(Self.withoutOccurrence) != plain }
    local = expected
    try checkValues(expected, "after resolving with \(resolution)")
    try checkConflicts("after resolving")
  }

  // MARK: Checks

  private func checkValues(_ expected: Flat, _ when: String) throws {
    guard let document else { return }
    let found = try Self.flat(document)
    guard let path = Flat.differences(expected, found).first else { return }
    throw SimulationFailure(
      "value \(when)", path,
      "expected \(expected[path].map { "\($0)" } ?? "–"), found \(found[path].map { "\($0)" } ?? "–")")
  }

  private func checkConflicts(_ when: String) throws {
    guard let document else { return }
    let found = Set(document.mergeConflicts.map { Self.path($0.path) })
    // The library numbers elements with the same key, but its paths omit these numbers.
    let expected = Set(conflicts.keys.map { $0.map(Self.withoutOccurrence) })
    if let path = expected.subtracting(found).min(by: { $0.lexicographicallyPrecedes($1) }) {
      throw SimulationFailure("conflict that is missing \(when)", path)
    }
    let others = found.subtracting(expected).filter { path in
      // The library may keep conflicts of elements with duplicate keys, because their paths don't identify one element.
      !path.indices.contains { shared.contains(Array(path[...$0])) }
    }
    if let path = others.min(by: { $0.lexicographicallyPrecedes($1) }) {
      throw SimulationFailure("conflict too many \(when)", path)
    }
  }

  private static func failure(
    _ kind: String, _ path: FlatPath, _ base: Flat?, _ before: Flat, _ incoming: Flat, expected: Flat, found: Flat
  ) -> SimulationFailure {
    func text(_ flat: Flat?) -> String {
      guard let flat else { return "unknown" }
      return ModelShape.shape(at: path[...]).flatMap { flat.tree(path, $0)?.story } ?? "–"
    }
    return SimulationFailure(
      kind, path,
      "base \(text(base)), here \(text(before)), came in \(text(incoming)), expected \(text(expected)), found \(text(found))"
    )
  }

  /// Checks that a list keeps the order of the only side that changed it. Then adopts the library's order.
  private static func order(
    _ oracle: OracleMerge, _ expected: inout Flat, _ incoming: Flat, _ found: Flat
  ) throws {
    for path in oracle.openLists {
      guard case .list(let names)? = expected[path], case .list(let order)? = found[path],
        case .list(let own)? = oracle.local[path], case .list(let other)? = incoming[path],
        case .list(let old)? = oracle.base?[path], Set(names) == Set(order), names.count == order.count
      else { continue }
      let common = old.filter { own.contains($0) && other.contains($0) && names.contains($0) }
      func shared(of list: [String]) -> [String] { list.filter(common.contains) }
      let both = own.filter { other.contains($0) && !old.contains($0) }
      func agrees(_ list: [String]) -> Bool {
        order.filter { list.contains($0) && !both.contains($0) }
          == list.filter { names.contains($0) && !both.contains($0) }
      }
      if shared(of: own) == common, !agrees(other) {
        throw SimulationFailure("order, which only the server changed", path)
      }
      if shared(of: other) == common, !agrees(own) {
        throw SimulationFailure("order, which was only changed here", path)
      }
      expected.mark(path, .list(order))
    }
    let before = expected
    renumber(&expected)
    // Removing one of several elements with the same key changes the names of the others.
    for path in oracle.openLists where before[path] != expected[path] {
      guard case .list(let names)? = expected[path], case .list(let order)? = found[path],
        names.sorted() == order.sorted()
      else { continue }
      expected.mark(path, .list(order))
    }
  }

  /// Renames duplicate list elements, so that their numbers count the equal keys that are now before them.
  private static func renumber(_ flat: inout Flat) {
    guard let tree = flat.tree([], shape) else { return }
    flat = Flat(tree, shape)
  }

  /// Chooses an order that the rules allow, for runs without the library.
  private static func order(_ oracle: OracleMerge, _ expected: inout Flat, _ incoming: Flat) {
    for path in oracle.openLists {
      guard case .list(let names)? = expected[path], case .list(let other)? = incoming[path],
        case .list(let old)? = oracle.base?[path]
      else { continue }
      let shared = old.filter { other.contains($0) }
      // If the server moved nothing, the local order is kept.
      if other.filter(old.contains) == shared { continue }
      expected.mark(path, .list(other.filter(names.contains) + names.filter { !other.contains($0) }))
    }
    renumber(&expected)
  }

  /// Checks that the report lists every change, and that the results that it lists are correct.
  private static func check(_ report: MergeReport, _ before: Flat, _ after: Flat) throws {
    let entries = report.entries.map { (path: path($0.path), entry: $0) }
    let told = Set(entries.map(\.path))
    for path in Flat.differences(before, after) {
      if case .list? = after[path] { continue }
      if case .dictionary? = after[path] { continue }
      let plain = path.map(withoutOccurrence)
      let isTold = (1...plain.count).contains { told.contains(Array(plain.prefix($0))) }
      if !isTold { throw SimulationFailure("change that the report leaves out", path, report.table(showsValues: true)) }
    }
    for (path, entry) in entries {
      guard let result = entry.result, let shape = ModelShape.shape(at: path[...]) else { continue }
      let stands = (0..<4).compactMap { number -> String? in
        after.text(path.map { $0.hasPrefix("[") && number > 0 ? "\($0)#\(number)" : $0 }, shape)
      }
      let said = ArchiveValue(archived: result).canonicalText
      if !stands.contains(said) {
        throw SimulationFailure("result that is not so", path, "said \(said), is \(stands.first ?? "–")")
      }
    }
  }

  private static func withoutOccurrence(_ name: String) -> String {
    guard name.hasPrefix("["), let mark = name.lastIndex(of: "#"), name[..<mark].hasSuffix("]") else { return name }
    return String(name[..<mark])
  }

  /// The oracle's form of a library path.
  static func path(_ path: ValuePath) -> FlatPath {
    path.components.map { component in
      switch component {
      case .key(let key): key
      case .index(let place): "[\(place)]"
      case .element(let key, let id): "[\(key)=\(id.canonicalText)]"
      // The server's value lacks the fields that JSON never contains, so they get their defaults.
      case .value(let content): "[=\(ArchiveValue(archived: content).completed(.model(.item)).canonicalText)]"
      case .anyKey, .anyElement: "\(component)"
      }
    }
  }
}

extension Flat {
  /// Sets or removes the value at a path, and adds or removes its name in the list or dictionary that contains it.
  mutating func set(_ tree: Tree?, _ path: FlatPath, _ shape: Shape) {
    put(tree, path, shape)
    guard let name = path.last else { return }
    let parent = Array(path.dropLast())
    switch self[parent] {
    case .list(var names)?:
      if tree == nil { names.removeAll { $0 == name } } else if !names.contains(name) { names.append(name) }
      mark(parent, .list(names))
    case .dictionary(var names)?:
      if tree == nil { names.removeAll { $0 == name } } else if !names.contains(name) { names.append(name) }
      mark(parent, .dictionary(names.sorted()))
    default: break
    }
  }
}
