import Foundation
import GRDB
import Strata
import StrataStore

/// The laws for one model, in one round.
struct Trial<H: Holder> {
  let seed: UInt64
  var results = Results()

  init(seed: UInt64) { self.seed = seed }

  func sample(isAny: Bool = false, other: UInt64 = 0) -> H {
    var source = Source(random: SeededRandom(seed: seed &+ other &* 0x9E37_79B9), isAny: isAny)
    return H.sample(&source)
  }

  mutating func run() {
    roundTrips()
    merges()
    morePaths()
    lists()
    hostile()
  }

  // MARK: Round trips

  private mutating func roundTrips() {
    let any = sample(isAny: true)
    trip(.archive, any) { try ArchiveDecoder().decode(H.self, from: ArchiveEncoder().encode($0)) }
    trip(.keyed, any) { try ArchiveDecoder().decode(H.self, fromKeyed: ArchiveEncoder().encodeKeyed($0)) }
    trip(.dictionary, any) { try H(dictionary: $0.dictionaryValue) }
    trip(.copy, any) { try $0.copy() }
    let value = sample()
    trip(.json, value) { try H(fromJSON: $0.jsonData()) }
    trip(.recordReading, any) {
      try ArchiveDecoder().decode(H.self, from: ArchiveEncoder().encode(Self.model($0).record()))
    }
    trip(.jsonReading, value) { try H(fromJSON: Data((Plain.model(Self.model($0)).jsonTree ?? .null).text.utf8)) }
    form(value)
    trip(.upgrading, any) { value in
      let old = try ArchiveEncoder().encode(Self.model(value).record(inOldForm: true))
      return try ArchiveDecoder().decode(H.self, from: old)
    }
    trip(.upgradedBytes, any) { value in
      let old = try ArchiveEncoder().encode(Self.model(value).record(inOldForm: true))
      return try ArchiveDecoder().decode(H.self, from: ArchiveUpgrader(H.self).upgrade(old))
    }
    trip(.snapshot, any) { value in
      let store = try SnapshotStore(inMemory: StoreOptions())
      return try store.write { transaction in
        try transaction.save(value, as: "value")
        guard let saved = try transaction.value(H.self, for: "value") else { throw Refused() }
        return saved
      }
    }
    trip(.row, value, where: Self.hasColumn) { value in
      try Self.withRow { store, db in
        try store.save(value, in: db)
        return try Self.row(store, db)
      }
    }
  }

  /// Whether a property of the type can be stored in a column. Objects can't, because they would lose their identity.
  static func hasColumn(_ type: String) -> Bool { !["Thing", "Being", "Bare"].contains { type.contains($0) } }

  /// Calls a function with a store that has a table for the model.
  static func withRow<R>(_ body: (EntityStore, Database) throws -> R) throws -> R {
    let queue = try DatabaseQueue()
    let columns = H.types.map { ", \($0.key)" }.joined()
    try queue.write { try $0.execute(sql: "CREATE TABLE \(H.databaseTableName) (id INTEGER PRIMARY KEY\(columns))") }
    let store = try EntityStore(queue, H.self)
    return try queue.write { try body(store, $0) }
  }

  static func row(_ store: EntityStore, _ db: Database) throws -> H {
    guard let row = try store.fetchOne(H.all(), in: db) else { throw Refused() }
    return row
  }

  private static func model(_ value: H) -> PlainModel { PlainModel(kind: H.kind, fields: value.plainFields) }

  /// Checks that a value survives a round trip.
  private mutating func trip(
    _ law: Law, _ value: H, where includes: (String) -> Bool = { _ in true }, _ trip: (H) throws -> H
  ) {
    let before = value.plainFields
    do {
      let after = try trip(value).plainFields
      for (key, type) in H.types where includes(type) {
        let same = before[key] == after[key]
        add(law, type, same ? nil : "\(before[key].shown) became \(after[key].shown)")
      }
    } catch {
      // One field failed, so nothing is known about the others.
      let key = (error as? ArchiveError)?.failedKey
      let type = H.types.first { $0.key == key }?.type
      add(law, type ?? H.kind.name, "\(error)")
    }
  }

  /// Checks that the JSON of a value has the documented form.
  private mutating func form(_ value: H) {
    guard let data = try? value.jsonData(), let tree = JSONTree(parsing: String(decoding: data, as: UTF8.self)),
      case .object(let members) = tree
    else { return }
    for (key, type) in H.types {
      let plain = value.plainFields[key] ?? .null
      let member = members.first { $0.key == key }?.value ?? .null
      add(.jsonForm, type, plain.agrees(with: member) ? nil : "\(plain.shown) is written as \(member.text)")
    }
  }

  mutating func add(_ law: Law, _ type: String, _ failure: String?) {
    results.add(law, type, "\(H.kind.name), seed \(seed)", failure: failure)
  }

  // MARK: Merging

  private mutating func merges() {
    let local = sample().plainFields
    let other = sample(other: 1).plainFields
    for (key, type) in H.types {
      guard let here = local[key], let there = other[key], !here.repeatsIdentity else { continue }
      merges(key, type, here, there)
    }
  }

  private mutating func merges(_ key: String, _ type: String, _ here: Plain, _ there: Plain) {
    var mixer = Mixer(random: SeededRandom(seed: seed &+ 0xABCD))
    let complete = mixer.mix(here, with: there)
    let part = mixer.thin(complete)
    guard !complete.repeatsIdentity, let tree = part.jsonTree else { return }
    let text = JSONTree.object([.init(key: key, value: tree)]).text
    let data = Data(text.utf8)
    let record = PlainModel(kind: H.kind, fields: [key: part]).record()
    let expected = try? Oracle().merged(here, part)
    let shown = "\(here.shown) and \(text)"

    let whole = merge(.absentText, key, type, part, expected, shown) { try $0.merge(.json(data)) }
    let value = merge(.absentValue, key, type, part, expected, shown) {
      try $0.merge(.json(JSONReader().read(data)))
    }
    let recorded = merge(.absentRecord, key, type, part, expected, shown) { try $0.merge(.record(record)) }
    let archived = merge(.absentArchive, key, type, part, expected, shown) {
      try $0.merge(.archive(ArchiveEncoder().encode(record)))
    }
    let old = PlainModel(kind: H.kind, fields: [key: part]).record(inOldForm: true)
    let upgraded = merge(.absentOld, key, type, part, expected, shown) { try $0.merge(.record(old)) }
    mergeRow(key, type, part, expected, shown, tree)
    // A merge of untyped values works on trees, which have no object identity.
    if Self.compared.count == H.types.count, let local = try? sample().archivedTree {
      _ = merge(.absentMerger, key, type, part, expected, shown) { value in
        let (merged, report) = try Merger(models: [H.self]).merge(.record(record), into: local)
        value = try ArchiveDecoder().decode(H.self, from: ArchiveEncoder().encode(merged))
        return report
      }
    }
    let sides = [whole, value, recorded, archived, upgraded]
    if !sides.contains(nil) {
      add(.sourcesAgree, type, Set(sides).count == 1 ? nil : shown)
    }
    // A merge patch sets keys of objects. It cannot replace an enum case, or a value that merges don't look into.
    if !part.hasModelsInLists, !part.hasNullInDictionary, !part.holdsChoices, !part.holdsOpaque {
      _ = merge(.absentPatch, key, type, part, expected, shown) { try $0.merge(.mergePatch(data)) }
    }
    if let server = try? H(
      fromJSON: Data(JSONTree.object([.init(key: key, value: complete.jsonTree ?? .null)]).text.utf8))
    {
      _ = merge(
        .completeModel, key, type, part, try? Oracle(keepsUnlisted: false).merged(here, complete),
        "\(here.shown) and \(complete.shown)"
      ) {
        try $0.merge(.model(server), options: MergeOptions(keys: [key]))
      }
    }
    withBase(key, type, here, there, part, data)
    unlisted(key, type, here, complete)
    positions(key, type, here, there)
    subclass(key, type, here)
    reported(key, type, here, data, shown)
    forward(key, type, here, mixer.drop(complete))
    own(key, type, here)
    repeated(key, type, data, shown)
    broken(key, type, data)
  }

  /// Merges into a new value and returns the resulting field, or `nil` if the merge failed.
  ///
  /// - Parameter part: the incoming value. If a case of an enum in it lacks an associated value, the merge may throw
  ///   `missingValue`.
  private mutating func merge(
    _ law: Law, _ key: String, _ type: String, _ part: Plain, _ expected: Plain?, _ shown: String,
    _ form: (Plain) -> Plain = { $0.unordered }, _ merge: (inout H) throws -> MergeReport
  ) -> Plain? {
    let mayFail = (try? Oracle().completed(part)) == nil
    var value = sample()
    let before = value.plainFields
    do {
      _ = try merge(&value)
      let after = value.plainFields
      let result = after[key] ?? .null
      let same = form(result) == expected.map(form)
      add(law, type, same ? nil : "\(shown) became \(result.shown), expected \(expected.shown)")
      let others = before.filter { $0.key != key } == after.filter { $0.key != key }
      add(.untouched, type, others ? nil : "\(shown) changed another field")
      return result.unordered
    } catch {
      let isRefused = mayFail && (error as? ArchiveError)?.code == .missingValue
      add(law, type, isRefused ? nil : "\(shown): \(error)")
      return nil
    }
  }

  /// Merging a document into a row has the same result as merging it into a value.
  private mutating func mergeRow(
    _ key: String, _ type: String, _ part: Plain, _ expected: Plain?, _ shown: String, _ tree: JSONTree
  ) {
    guard Self.hasColumn(type) else { return }
    let document = JSONTree.object([.init(key: "id", value: .number("0")), .init(key: key, value: tree)])
    let value = sample()
    do {
      let after = try Self.withRow { store, db in
        try store.save(value, in: db)
        _ = try store.apply(.json(Data(document.text.utf8)), to: H.self, in: db)
        return try Self.row(store, db).plainFields
      }
      let same = after[key]?.unordered == expected?.unordered
      add(.absentRow, type, same ? nil : "\(shown) became \(after[key].shown), expected \(expected.shown)")
    } catch {
      let mayFail = (try? Oracle().completed(part)) == nil
      add(.absentRow, type, mayFail ? nil : "\(shown): \(error)")
    }
  }

  /// Checks that elements missing from the source are kept if it is a partial document, and removed if it is a model.
  private mutating func unlisted(_ key: String, _ type: String, _ here: Plain, _ complete: Plain) {
    var mixer = Mixer(random: SeededRandom(seed: seed &+ 0x77))
    let fewer = mixer.drop(complete)
    guard fewer != complete, !here.listsListsOfIdentities, let tree = fewer.jsonTree else { return }
    let data = Data(JSONTree.object([.init(key: key, value: tree)]).text.utf8)
    let shown = "\(here.shown) and \(fewer.shown)"
    _ = merge(.unlistedKept, key, type, fewer, try? Oracle().merged(here, fewer).unplaced, shown, \.unplaced) {
      try $0.merge(.json(data))
    }
    guard let server = try? H(fromJSON: data) else { return }
    _ = merge(
      .unlistedGone, key, type, fewer, try? Oracle(keepsUnlisted: false).merged(here, fewer).unplaced, shown, \.unplaced
    ) {
      try $0.merge(.model(server), options: MergeOptions(keys: [key]))
    }
  }

  /// Checks that a merge moves elements to their positions in the document.
  private mutating func positions(_ key: String, _ type: String, _ here: Plain, _ there: Plain) {
    var mixer = Mixer(random: SeededRandom(seed: seed &+ 0x99))
    let moved = mixer.move(here, adding: there)
    guard moved != here, !moved.repeatsIdentity, let tree = moved.jsonTree else { return }
    let data = Data(JSONTree.object([.init(key: key, value: tree)]).text.utf8)
    _ = merge(.positions, key, type, moved, try? Oracle().merged(here, moved), "\(here.shown) and \(moved.shown)") {
      try $0.merge(.json(data))
    }
  }

  /// If the incoming object is of a subclass, the existing object changes its class. Keys that the document lacks are kept.
  private mutating func subclass(_ key: String, _ type: String, _ here: Plain) {
    let other = here.withSubclasses
    var mixer = Mixer(random: SeededRandom(seed: seed &+ 0x55))
    let part = mixer.thin(other)
    guard other != here, let tree = part.jsonTree else { return }
    let data = Data(JSONTree.object([.init(key: key, value: tree)]).text.utf8)
    _ = merge(.subclass, key, type, part, try? Oracle().merged(here, part), "\(here.shown) and \(part.shown)") {
      try $0.merge(.json(data))
    }
  }

  /// Checks that the report has a changed entry for a field if, and only if, the field changed.
  private mutating func reported(_ key: String, _ type: String, _ here: Plain, _ data: Data, _ shown: String) {
    var value = sample()
    guard let report = try? value.merge(.json(data)) else { return }
    let isChanged = value.plainFields[key]?.unordered != here.unordered
    let changed = report.changedKeys
    let hasLine = report.entries.contains { $0.result != $0.local }
    let isRight = changed.contains(key) == isChanged && hasLine == isChanged && changed.allSatisfy { $0 == key }
    add(
      .reported, type,
      isRight ? nil : "\(shown) became \(value.plainFields[key].shown), changed keys \(changed), report:\n\(report)")
  }

  /// Checks that a merge with a base gives the server's value if there are no local edits, whatever the source.
  private mutating func forward(_ key: String, _ type: String, _ here: Plain, _ complete: Plain) {
    guard let tree = complete.jsonTree else { return }
    let data = Data(JSONTree.object([.init(key: key, value: tree)]).text.utf8)
    let base = sample()
    let shown = "\(here.shown) and \(complete.shown)"
    _ = merge(.forwardText, key, type, complete, complete, shown) { try $0.merge(.json(data), base: base) }
    guard let server = try? H(fromJSON: data) else { return }
    _ = merge(.forwardModel, key, type, complete, complete, shown) {
      try $0.merge(.model(server), base: base, options: MergeOptions(keys: [key]))
    }
  }

  /// Checks that merging a value with its own document changes nothing.
  private mutating func own(_ key: String, _ type: String, _ here: Plain) {
    guard let data = try? sample().jsonData() else { return }
    _ = merge(.ownDocument, key, type, here, here, here.shown) { try $0.merge(.json(data)) }
    let value = sample()
    _ = merge(.ownModel, key, type, here, here, here.shown) { try $0.mergeValues(from: value) }
  }

  /// Checks a merge with a base. The base is the value before a local edit.
  private mutating func withBase(
    _ key: String, _ type: String, _ here: Plain, _ there: Plain, _ part: Plain, _ data: Data
  ) {
    var mixer = Mixer(random: SeededRandom(seed: seed &+ 0x1234))
    let before = mixer.mix(here, with: there)
    guard !before.repeatsIdentity, let tree = before.jsonTree,
      let base = try? H(fromJSON: Data(JSONTree.object([.init(key: key, value: tree)]).text.utf8))
    else { return }
    // A list whose elements have no identity is merged as one value. If it is incomplete, it cannot be compared with its base.
    guard !part.listsAnonymousModels, !here.listsAnonymousModels, !before.listsAnonymousModels else { return }
    guard ![part, here, before].contains(where: \.listsChoices) else { return }
    // Both sides may have replaced a null with a model. In that case, the positions of the elements conflict.
    guard !(before.listsNull && before.holdsIdentities) else { return }
    let shown = "\(here.shown) and \(String(decoding: data, as: UTF8.self)) from \(before.shown)"
    _ = merge(.withBase, key, type, part, try? Oracle().merged(here, part, base: before), shown) {
      try $0.merge(.json(data), base: base)
    }
    conflicts(key, type, part, data, base, here, before, shown)
    remembered(key, type, part, data, here, before, shown)
  }

  /// Checks the options for conflicts, which either take the server's value or make the merge fail.
  private mutating func conflicts(
    _ key: String, _ type: String, _ part: Plain, _ data: Data, _ base: H, _ here: Plain, _ before: Plain,
    _ shown: String
  ) {
    let expected = try? Oracle(takesServer: true).merged(here, part, base: before)
    _ = merge(.takesServer, key, type, part, expected, shown) {
      try $0.merge(.json(data), base: base, options: MergeOptions(conflicts: .takeServer))
    }
    var kept = sample()
    var failing = sample()
    guard let report = try? kept.merge(.json(data), base: base) else { return }
    do {
      _ = try failing.merge(.json(data), base: base, options: MergeOptions(conflicts: .fail))
      let same = failing.plainFields == kept.plainFields && report.conflicts.isEmpty
      add(.failsOnConflict, type, same ? nil : "\(shown) had conflicts: \(report)")
    } catch {
      let isRight = (error as? ArchiveError)?.code == .mergeFailed && !report.conflicts.isEmpty
      add(.failsOnConflict, type, isRight && failing.plainFields[key] == here ? nil : "\(shown): \(error)")
    }
  }

  /// Checks that a model that remembers the server's state merges as if that state were passed as the base, even after a round trip
  /// through an archive, and that its conflicts can be resolved.
  private mutating func remembered(
    _ key: String, _ type: String, _ part: Plain, _ data: Data, _ here: Plain, _ before: Plain, _ shown: String
  ) {
    guard H.remembers, let tree = before.jsonTree else { return }
    do {
      var known = try H(fromJSON: Data("{}".utf8))
      try known.merge(.json(Data(JSONTree.object([.init(key: key, value: tree)]).text.utf8)))
      var edited = sample()
      edited.memory = known.memory
      var archived = try ArchiveDecoder().decode(H.self, from: ArchiveEncoder().encode(edited))
      let expected = try? Oracle().merged(here, part, base: before)
      guard expected != nil else { return }
      _ = try edited.merge(.json(data))
      _ = try archived.merge(.json(data))
      for value in [edited, archived] {
        let result = value.plainFields[key] ?? .null
        add(
          .remembered, type,
          result.unordered == expected?.unordered ? nil : "\(shown) became \(result.shown), expected \(expected.shown)")
      }
      let server = try Oracle(takesServer: true).merged(here, part, base: before)
      let conflicts = edited.mergeConflicts
      for conflict in conflicts { try edited.resolve(conflict, with: .server) }
      for conflict in conflicts { try archived.resolve(conflict, with: .local) }
      let (taken, kept) = (edited.plainFields[key] ?? .null, archived.plainFields[key] ?? .null)
      add(
        .resolved, type,
        taken.unordered == server.unordered ? nil : "\(shown) became \(taken.shown), expected \(server.shown)")
      let isOver =
        kept.unordered == expected?.unordered && archived.mergeConflicts.isEmpty && edited.mergeConflicts.isEmpty
      add(.resolved, type, isOver ? nil : "\(shown): local became \(kept.shown)")
    } catch { add(.remembered, type, "\(shown): \(error)") }
  }

  /// Checks that a preview changes nothing and predicts the merge, and that repeating the merge changes nothing.
  private mutating func repeated(_ key: String, _ type: String, _ data: Data, _ shown: String) {
    var value = sample()
    let (before, preview) = (value.plainFields, try? value.mergePreview(.json(data)))
    let isUntouched = value.plainFields == before
    guard let report = try? value.merge(.json(data)) else { return }
    let isSame =
      preview?.changedKeys == report.changedKeys && preview?.table(showsValues: true) == report.table(showsValues: true)
    add(.previewed, type, isUntouched && isSame ? nil : "\(shown): \(String(describing: preview)), merged: \(report)")
    let once = value.plainFields[key]
    do {
      let report = try value.merge(.json(data))
      let same = value.plainFields[key] == once && report.changes.isEmpty
      add(.idempotent, type, same ? nil : "\(shown), twice: \(once.shown) became \(value.plainFields[key].shown)")
    } catch { add(.idempotent, type, "\(shown), twice: \(error)") }
  }

  /// Checks that a failed merge changes nothing.
  private mutating func broken(_ key: String, _ type: String, _ data: Data) {
    for (other, _) in H.types where other != key {
      let text = String(decoding: data.dropLast(), as: UTF8.self) + ",\"\(other)\":{\"\":[[{}]]}}"
      var value = sample()
      let before = value.plainFields
      if (try? value.mergeValues(fromJSON: Data(text.utf8))) != nil { continue }
      add(.atomic, type, value.plainFields == before ? nil : "\(text) failed and changed a value")
      return
    }
  }
}

extension ArchiveError {
  /// The first key on the path, which names the field that failed.
  var failedKey: String? {
    for component in codingPath { if case .key(let key) = component { return key } }
    return key
  }
}

extension Plain {
  /// Whether there are models inside a list or a set, which a merge patch replaces as a whole.
  var hasModelsInLists: Bool {
    switch self {
    case .list, .set: !models.isEmpty
    case .null, .scalar, .opaque: false
    case .model(let model): model.fields.values.contains(where: \.hasModelsInLists)
    case .choice(let choice): choice.values.values.contains(where: \.hasModelsInLists)
    case .dictionary(let pairs): pairs.values.contains(where: \.hasModelsInLists)
    case .ordered(let pairs): pairs.contains(where: \.value.hasModelsInLists)
    }
  }

  /// Whether a dictionary contains null, which removes the key in a merge patch.
  var hasNullInDictionary: Bool {
    switch self {
    case .null, .scalar, .opaque: false
    case .list(let elements): elements.contains(where: \.hasNullInDictionary)
    case .set(let elements): elements.contains(where: \.hasNullInDictionary)
    case .model(let model): model.fields.values.contains(where: \.hasNullInDictionary)
    case .choice(let choice): choice.values.values.contains(where: \.hasNullInDictionary)
    case .dictionary(let pairs): pairs.values.contains { $0 == .null || $0.hasNullInDictionary }
    case .ordered(let pairs): pairs.contains { $0.value == .null || $0.value.hasNullInDictionary }
    }
  }

  /// The value on one line.
  var shown: String { jsonTree?.text ?? "\(self)" }
}

extension Plain? {
  var shown: String { self?.shown ?? "nothing" }
}
