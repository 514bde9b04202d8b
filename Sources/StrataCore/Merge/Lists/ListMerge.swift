/// Merges lists of models by comparing their encoded bytes. Only the differing fields of differing models are decoded.
///
/// This type is not generic over the type of the models, so that the compiler generates its loops only once.
struct ListMerge {
  typealias Choice = ListChanges.Choice

  /// Returns the fields of a model. `side` is 0 for the local list, 1 for the server's list and 2 for the base. `place` is the index of the
  /// model in that list.
  typealias Fields = (_ side: Int, _ place: Int) throws -> ModelRecord

  private let schema: ModelSchema
  private let key: IdentityKey
  private let keyPlace: Int
  private let unlisted: Unlisted
  private let isBaseKnown: Bool
  private let options: MergeOptions
  private let catalog: SchemaCatalog
  /// Whether the policy of any field depends on other fields of the model.
  private let needsWholeModels: Bool
  /// The policy of each field; `nil` for a field that a merge never changes.
  private let policies: [MergePolicy?]
  /// For each field, whether the merge can copy the encoded value of one side without decoding it.
  private let needsNoDecoding: [Bool]

  /// Creates a merge of lists, if the policies allow the elements to be compared by their bytes.
  ///
  /// - Returns: `nil` if the models are enums, are or contain class instances, have merge hooks or are identified by several keys, or if a
  ///   policy applies to the whole list. Also `nil` if a policy counts equal changes of both sides twice (see ``MergePolicy/sumOfDeltas``).
  init?(
    _ schema: ModelSchema, _ catalog: SchemaCatalog, key: IdentityKey, unlisted: Unlisted, isBaseKnown: Bool,
    _ options: MergeOptions
  ) {
    guard key.keys.count == 1, let place = schema.fullShape.place(of: key.keys[0]), !schema.isEnumeration,
      !schema.holdsObjects,
      schema.mergeTraits.hooks == nil
    else { return nil }
    self.schema = schema
    self.key = key
    keyPlace = place
    self.unlisted = unlisted
    self.isBaseKnown = isBaseKnown
    self.options = options
    self.catalog = catalog
    let merger = ValueMerger(
      catalog: catalog, options: options, isBaseKnown: isBaseKnown, incoming: .init(isWhole: true))
    let policies = schema.fields.map { field in
      field.type is MergeState.Type
        ? nil : merger.policy(field, schema.mergeTraits.rules?.policy, .recursive, isTyped: true)
    }
    self.policies = policies
    let all = policies.compactMap(\.self) + [options.policy].compactMap(\.self) + options.policies.map(\.policy)
    needsWholeModels = all.contains(where: \.looksAtTimes)
    needsNoDecoding = policies.map { policy in
      guard let policy, options.policies.isEmpty else { return false }
      let effective = options.policy ?? policy
      return isBaseKnown ? effective.claims.contains(.respectsBase) : effective.isAutomatic || effective.isServer
    }
    guard !merger.countsEqualChanges, merger.selectedPolicy == nil else { return nil }
  }

  private struct List {
    let ranges: [Range<Int>]
    /// The index of the first element that is not merged yet.
    var start = 0
    var places: [ElementIdentity: Int] = [:]
    var identities: [ElementIdentity] = []

    var rest: Range<Int> { start..<ranges.count }
  }

  private struct State {
    var own: List
    var other: List
    var old: List
    var merger: ValueMerger
    let fieldsOf: Fields
    var notes: [ListEntries.Note] = []
    var fields: [Int] = []
    var others: [Int] = []
    var olds: [Int] = []

    /// Moves the notes of the merger to ``notes``.
    mutating func collect() {
      guard !merger.notes.isEmpty else { return }
      notes += merger.notes.map { .entry($0.entry) }
      merger.notes.removeAll(keepingCapacity: true)
    }
  }

  /// Merges the encoded elements of the three lists.
  ///
  /// - Returns: the changes and the report; `nil` if an element has no key, or if two elements of a list have the same key.
  func run(
    _ bytes: borrowing ElementBytes, _ local: [Range<Int>], _ server: [Range<Int>], _ base: [Range<Int>],
    _ fieldsOf: @escaping Fields
  ) throws -> (changes: ListChanges, report: MergeReport)? {
    var state = State(
      own: List(ranges: local), other: List(ranges: server), old: List(ranges: base),
      merger: ValueMerger(
        catalog: catalog, options: options, isBaseKnown: isBaseKnown, incoming: .init(isWhole: true)),
      fieldsOf: fieldsOf)
    var result = ListChanges()
    let isTold: Bool = try bytes.withReader { reader in
      try mergeAligned(&result, &state, &reader)
      if state.own.rest.isEmpty, state.other.rest.isEmpty { return true }
      guard try identify(&state.own, &reader), try identify(&state.other, &reader), try identify(&state.old, &reader)
      else { return false }
      result.rest = (state.own.start, try mergeRest(&state, &reader))
      return true
    }
    guard isTold else { return nil }
    state.collect()
    var report = MergeReport()
    if !state.notes.isEmpty {
      report.listEntries = ListEntries(
        state.notes, bytes: bytes.array(), shapes: bytes.shapes(), keys: schema.allKeys, identityKey: key)
    }
    try report.checkConflicts(options, typeName: schema.name)
    return (result, report)
  }

  // MARK: The list

  /// Merges elements that are at the same index in all lists, up to the first mismatch. In most lists, these are all elements, and no
  /// lookup table is needed.
  private func mergeAligned(
    _ result: inout ListChanges, _ state: inout State, _ reader: inout ArchiveReader
  ) throws {
    let (local, server, base) = (state.own.ranges, state.other.ranges, state.old.ranges)
    let count = min(local.count, server.count, isBaseKnown ? base.count : .max)
    var place = 0
    defer { (state.own.start, state.other.start, state.old.start) = (place, place, isBaseKnown ? place : 0) }
    while place < count {
      let (mine, theirs) = (local[place], server[place])
      let isSame = reader.areEqual(mine, theirs)
      if !isSame || (isBaseKnown && !reader.areEqual(mine, base[place])) {
        guard let identity = try identity(of: mine, &reader), let counterpart = try self.identity(of: theirs, &reader),
          reader.areEqual(identity, counterpart)
        else { return }
        if isBaseKnown {
          guard let before = try self.identity(of: base[place], &reader), reader.areEqual(identity, before)
          else { return }
        }
        if !isSame {
          let origin = isBaseKnown ? place : nil
          do {
            let choice = try merge(place, place, origin, identity, &state, &reader)
            if case .local = choice {} else { result.changes.append((place, choice)) }
          } catch { throw located(error, place) }
        }
      }
      place += 1
    }
  }

  /// Returns the byte range of the value that identifies an element; `nil` if the value is null.
  private func identity(of range: Range<Int>, _ reader: inout ArchiveReader) throws -> Range<Int>? {
    reader.position = range.lowerBound
    guard try reader.beginAnyRecord() != nil else { return nil }
    for _ in 0..<keyPlace { try reader.skipValue() }
    let start = reader.position
    guard try reader.peekByte() != CBOR.nullByte else { return nil }
    try reader.skipValue()
    return start..<reader.position
  }

  /// Finds the key of each element that is not merged yet.
  ///
  /// - Returns: `false` if one of these elements has no key, or if two of them have the same key.
  private func identify(_ list: inout List, _ reader: inout ArchiveReader) throws -> Bool {
    list.places.reserveCapacity(list.rest.count)
    list.identities.reserveCapacity(list.rest.count)
    for place in list.rest {
      guard let range = try identity(of: list.ranges[place], &reader) else { return false }
      let identity = reader.identity(range)
      guard list.places.updateValue(place, forKey: identity) == nil else { return false }
      list.identities.append(identity)
    }
    return true
  }

  private func mergeRest(_ state: inout State, _ reader: inout ArchiveReader) throws -> [Choice] {
    let (own, other, old) = (state.own, state.other, state.old)
    var numbers: [ElementIdentity: Int] = [:]
    numbers.reserveCapacity(own.identities.count)
    func numbered(_ list: List) -> [Int] {
      list.identities.map { identity in
        if let number = numbers[identity] { return number }
        numbers[identity] = numbers.count
        return numbers.count - 1
      }
    }
    let order = ListOrder(base: numbered(old), local: numbered(own), server: numbered(other))
    var result = [Choice?](repeating: nil, count: numbers.count)
    for (place, identity) in zip(own.rest, own.identities) {
      let number = order.local[place - own.start]
      let counterpart = other.places[identity]
      do {
        guard let counterpart else {
          result[number] = try mergeWhole(place, nil, old.places[identity], &state)
          continue
        }
        guard !reader.areEqual(own.ranges[place], other.ranges[counterpart]),
          let mine = try self.identity(of: own.ranges[place], &reader)
        else {
          result[number] = .local(place)
          continue
        }
        result[number] = try merge(place, counterpart, old.places[identity], mine, &state, &reader)
      } catch { throw located(error, counterpart ?? place) }
    }
    for (place, identity) in zip(other.rest, other.identities) where own.places[identity] == nil {
      do {
        result[order.server[place - other.start]] = try mergeWhole(nil, place, old.places[identity], &state)
      } catch { throw located(error, place) }
    }
    let surviving = Set(result.indices.filter { result[$0] != nil })
    let places = isBaseKnown ? order.merged(surviving) : order.following(surviving)
    state.merger.noteOrder(
      state.merger.sides(nil, nil, nil), order, surviving, places, .byID(key, unlisted: unlisted), nil)
    state.collect()
    return places.compactMap { result[$0] }
  }

  private func located(_ error: any Error, _ place: Int) -> ArchiveError {
    let error = ArchiveError.wrap(error)
    if error.code == .mergeFailed || error.code == .invalid { return error.prefixed(by: .index(place)) }
    let cause = error.code == .rejected ? error.underlyingError ?? error : error
    return ArchiveError(
      .mergeFailed,
      "the local and incoming values cannot be merged", path: [.index(place)] + error.codingPath, typeName: schema.name,
      underlying: cause)
  }

  // MARK: One element

  private func merge(
    _ place: Int, _ counterpart: Int, _ origin: Int?, _ identity: Range<Int>, _ state: inout State,
    _ reader: inout ArchiveReader
  ) throws -> Choice {
    guard !needsWholeModels,
      try reader.findFields(schema.fullShape, in: state.own.ranges[place], &state.fields),
      try reader.findFields(schema.fullShape, in: state.other.ranges[counterpart], &state.others),
      try origin.map({ try reader.findFields(schema.fullShape, in: state.old.ranges[$0], &state.olds) }) ?? true
    else { return try mergeWhole(place, counterpart, origin, &state) ?? .local(place) }
    var isLocal = true, isServer = true
    var changes: [(place: Int, value: ArchiveValue?)] = []
    for number in policies.indices {
      let mine = state.fields[number]..<state.fields[number + 1]
      let theirs = state.others[number]..<state.others[number + 1]
      guard !reader.areEqual(mine, theirs) else { continue }
      guard let policy = policies[number] else {
        // A merge always keeps the local value of this field, so the server's element cannot be used unchanged.
        isServer = false
        continue
      }
      let before = origin == nil ? nil : state.olds[number]..<state.olds[number + 1]
      if let decision = decideByBytes(number, identity, before, mine, theirs, reader) {
        state.notes.append(.undecoded(decision))
        if decision.outcome == .local {
          isServer = false
        } else {
          isLocal = false
          changes.append((number, nil))
        }
        continue
      }
      let (local, server) = (try reader.value(at: mine.lowerBound), try reader.value(at: theirs.lowerBound))
      let base = before == nil ? nil : try reader.value(at: state.olds[number])
      let key = schema.allKeys[number]
      state.merger.path = [.element(key: self.key, id: try reader.value(at: identity.lowerBound)), .key(key)]
      defer { state.merger.path = [] }
      let result: ArchiveValue?
      do {
        result = try state.merger.merge(
          state.merger.sides(base, local, server), policy, schema.fields[number].shape.unwrapped)
      } catch {
        throw ArchiveError.at(.key(key), error)
      }
      state.collect()
      if result != local {
        isLocal = false
        changes.append((number, result))
      }
      if result != server { isServer = false }
    }
    if isLocal { return .local(place) }
    if isServer { return .server(counterpart, into: place) }
    var record = try state.fieldsOf(0, place)
    for change in changes {
      // If the server's value was chosen without decoding it, it is decoded now.
      record.values[change.place] = try change.value ?? reader.value(at: state.others[change.place])
    }
    return .made(record, into: place)
  }

  /// Merges a field by comparing encoded bytes. This is possible if the values are not containers, the policy allows it and, if the base is
  /// known, only one side changed the value. Returns `nil` if the field must be decoded.
  private func decideByBytes(
    _ number: Int, _ identity: Range<Int>, _ base: Range<Int>?, _ local: Range<Int>, _ server: Range<Int>,
    _ reader: borrowing ArchiveReader
  ) -> ListEntries.Undecoded? {
    guard needsNoDecoding[number], !reader.mayHoldMore(local), !reader.mayHoldMore(server) else { return nil }
    func decision(_ outcome: MergeReport.Outcome, _ rule: String) -> ListEntries.Undecoded {
      ListEntries.Undecoded(
        identity: identity.lowerBound, field: number, outcome: outcome, rule: rule, base: base?.lowerBound ?? -1,
        local: local.lowerBound, server: server.lowerBound)
    }
    guard isBaseKnown else { return decision(.server, (options.policy ?? policies[number] ?? .automatic).description) }
    guard let base, !reader.mayHoldMore(base) else { return nil }
    if reader.areEqual(base, server) { return decision(.local, "changed only locally") }
    if reader.areEqual(base, local) { return decision(.server, "changed only by the server") }
    return nil
  }

  /// Merges an element with all of its fields. This is necessary if only one of the lists contains the element, or if a policy depends on
  /// other fields of the element.
  ///
  /// - Returns: `nil` if the merged list does not contain the element.
  private func mergeWhole(_ own: Int?, _ other: Int?, _ old: Int?, _ state: inout State) throws -> Choice? {
    let local = try own.map { try state.fieldsOf(0, $0) }, server = try other.map { try state.fieldsOf(1, $0) }
    let base = try old.map { try state.fieldsOf(2, $0) }
    state.merger.path = [.element(key: key, id: (local ?? server)?[key] ?? .null)]
    defer { state.merger.path = [] }
    let sides = state.merger.sides(
      base.map { .record($0) }, local.map { .record($0) }, server.map { .record($0) })
    let merged = try state.merger.mergeElement(sides, unlisted, .byID(key, unlisted: unlisted))
    state.collect()
    guard case .record(let result)? = merged else { return nil }
    guard let own else { return other.map { .server($0, into: nil) } }
    return result == local ? .local(own) : .made(result, into: own)
  }
}

extension MergePolicy {
  var isServer: Bool { if case .server = rule { true } else { false } }

  /// Whether the policy depends on other fields of the model.
  var looksAtTimes: Bool {
    switch rule {
    case .lastWriter: true
    case .ifPresent(let policy): policy.looksAtTimes
    case .orElse(let policy, let other): policy.looksAtTimes || other.looksAtTimes
    default: false
    }
  }
}
