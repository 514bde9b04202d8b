/// Merges lists of values by their bytes: models are only taken apart where they differ, and there only the fields that do.
///
/// It knows nothing of the models' type, so that its loops are the same machine code for all of them.
struct ListMerge {
  /// What becomes of a place of the list.
  enum Choice {
    case local(Int)
    case server(Int)
    /// A model to be made of these fields.
    case made(ModelRecord)
  }

  /// A model's fields, where they are asked for: 0 is the local list, 1 the server's, 2 the base.
  typealias Fields = (_ side: Int, _ place: Int) throws -> ModelRecord

  private let schema: ModelSchema
  private let key: String
  private let keyPlace: Int
  private let missing: MissingElements
  private let isBaseKnown: Bool
  private let options: MergeOptions
  private let catalog: SchemaCatalog
  /// Whether the policies of fields look at other fields.
  private let needsWholeModels: Bool
  /// How each field is merged; `nil` for what merging does not touch.
  private let policies: [MergePolicy?]
  /// Whether a field that is one value can be taken from the side that changed it, without looking at the value.
  private let isTakenAsItIs: [Bool]

  /// - Returns: `nil` where the models are objects, or have code of their own to merge.
  init?(
    _ schema: ModelSchema, _ catalog: SchemaCatalog, key: String, missing: MissingElements, isBaseKnown: Bool,
    _ options: MergeOptions
  ) {
    guard let place = schema.fields.firstIndex(where: { $0.key == key }), !schema.isEnumeration, !schema.holdsObjects,
      !(schema.type is any ValueMerging.Type)
    else { return nil }
    self.schema = schema
    self.key = key
    keyPlace = place
    self.missing = missing
    self.isBaseKnown = isBaseKnown
    self.options = options
    self.catalog = catalog
    let merger = ValueMerger(
      catalog: catalog, options: options, isBaseKnown: isBaseKnown, incoming: .init(isWhole: true))
    let policies = schema.fields.map { field in
      field.type is MergeState.Type ? nil : merger.policy(of: field, schema, inherited: .recursive)
    }
    self.policies = policies
    let all = policies.compactMap(\.self) + [options.policy].compactMap(\.self) + options.policies.map(\.policy)
    needsWholeModels = all.contains(where: \.looksAtTimes)
    isTakenAsItIs = policies.map { policy in
      guard let policy, options.policies.isEmpty else { return false }
      let effective = options.policy ?? policy
      return isBaseKnown ? effective.claims.contains(.respectsBase) : effective.isAutomatic || effective.isServer
    }
    guard !merger.countsEqualChanges, options.policy(at: []) == nil else { return nil }
  }

  private struct List {
    let side: Int
    let ranges: [Range<Int>]
    /// The elements that are not merged yet begin here.
    var start = 0
    var places: [ElementIdentity: Int] = [:]
    var identities: [ElementIdentity] = []

    var rest: Range<Int> { start..<ranges.count }
  }

  private struct State {
    var merger: ValueMerger
    let fieldsOf: Fields
    var notes: [ListEntries.Note] = []
    var fields: [Int] = []
    var others: [Int] = []
    var olds: [Int] = []

    /// Takes over what the merger accounted for.
    mutating func collect() {
      guard !merger.notes.isEmpty else { return }
      notes += merger.notes.map { .entry($0.entry) }
      merger.notes.removeAll(keepingCapacity: true)
    }
  }

  /// What becomes of the local list.
  struct Result {
    /// Places that get another element.
    var changes: [(place: Int, choice: Choice)] = []
    /// The elements from a place on; `nil` where the list keeps its length and order.
    var rest: (start: Int, choices: [Choice])?
    var report = MergeReport()
  }

  /// - Returns: `nil` where elements cannot be identified by the key.
  func run(
    _ bytes: borrowing ElementBytes, _ local: [Range<Int>], _ server: [Range<Int>], _ base: [Range<Int>],
    _ fieldsOf: @escaping Fields
  ) throws -> Result? {
    var own = List(side: 0, ranges: local), other = List(side: 1, ranges: server), old = List(side: 2, ranges: base)
    var state = State(
      merger: ValueMerger(
        catalog: catalog, options: options, isBaseKnown: isBaseKnown, incoming: .init(isWhole: true)),
      fieldsOf: fieldsOf)
    var result = Result()
    let isTold: Bool = try bytes.withReader { reader in
      try mergeAligned(&own, &other, &old, &result, &state, &reader)
      if own.rest.isEmpty, other.rest.isEmpty { return true }
      guard try identify(&own, &reader), try identify(&other, &reader), try identify(&old, &reader) else {
        return false
      }
      result.rest = (own.start, try merge(own, other, old, &state, &reader))
      return true
    }
    guard isTold else { return nil }
    state.collect()
    if !state.notes.isEmpty {
      result.report.listEntries = ListEntries(
        state.notes, bytes: bytes.array(), shapes: bytes.shapes(), keys: schema.allKeys, identityKey: key)
    }
    try result.report.checkConflicts(options, typeName: schema.name)
    return result
  }

  // MARK: The list

  /// Merges the elements that all sides have in the same places, up to the first that differs: in most lists these are
  /// all, and nothing needs to be looked up.
  private func mergeAligned(
    _ own: inout List, _ other: inout List, _ old: inout List, _ result: inout Result, _ state: inout State,
    _ reader: inout ArchiveReader
  ) throws {
    let count = min(own.ranges.count, other.ranges.count, isBaseKnown ? old.ranges.count : .max)
    let (local, server, base) = (own.ranges, other.ranges, old.ranges)
    var place = 0
    defer { (own.start, other.start, old.start) = (place, place, isBaseKnown ? place : 0) }
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
            let choice = try merge(own, place, other, place, old, origin, identity, &state, &reader)
            if case .local = choice {} else { result.changes.append((place, choice)) }
          } catch { throw located(error, place) }
        }
      }
      place += 1
    }
  }

  /// Where the key of an element stands; `nil` where it has none.
  private func identity(of range: Range<Int>, _ reader: inout ArchiveReader) throws -> Range<Int>? {
    reader.position = range.lowerBound
    guard try reader.beginAnyRecord() != nil else { return nil }
    for _ in 0..<keyPlace { try reader.skipValue() }
    let start = reader.position
    guard try reader.peekByte() != CBOR.nullByte else { return nil }
    try reader.skipValue()
    return start..<reader.position
  }

  /// - Returns: whether each element that is left has a key of its own.
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

  /// Merges what is left.
  private func merge(
    _ own: List, _ other: List, _ old: List, _ state: inout State, _ reader: inout ArchiveReader
  ) throws -> [Choice] {
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
          result[number] = try missing(own, place, old, old.places[identity], &state)
          continue
        }
        guard !reader.areEqual(own.ranges[place], other.ranges[counterpart]),
          let mine = try self.identity(of: own.ranges[place], &reader)
        else {
          result[number] = .local(place)
          continue
        }
        result[number] = try merge(own, place, other, counterpart, old, old.places[identity], mine, &state, &reader)
      } catch { throw located(error, counterpart ?? place) }
    }
    for (place, identity) in zip(other.rest, other.identities) where own.places[identity] == nil {
      do {
        result[order.server[place - other.start]] = try insert(other, place, old, old.places[identity], &state)
      } catch { throw located(error, place) }
    }
    let surviving = Set(result.indices.filter { result[$0] != nil })
    let places = isBaseKnown ? order.merged(surviving) : order.following(surviving)
    state.merger.noteOrder(
      state.merger.sides(nil, nil, nil), order, surviving, places, .byID(key, missing: missing))
    state.collect()
    return places.compactMap { result[$0] }
  }

  private func located(_ error: any Error, _ place: Int) -> ArchiveError {
    let error = ArchiveError.wrap(error)
    if error.code == .mergeFailed || error.code == .invalid { return error.prefixed(by: .index(place)) }
    let cause = error.code == .rejected ? error.underlyingError ?? error : error
    return ArchiveError(
      .mergeFailed, "the values cannot be merged", path: [.index(place)] + error.codingPath, typeName: schema.name,
      underlying: cause)
  }

  // MARK: One element

  private func component(_ record: ModelRecord) -> MergePath.Component { .element(key: key, id: record[key] ?? .null) }

  private func record(_ list: List, _ place: Int?, _ state: State) throws -> Value? {
    try place.map { .record(try state.fieldsOf(list.side, $0)) }
  }

  /// What the list here has and the server's has not.
  private func missing(
    _ own: List, _ place: Int, _ old: List, _ origin: Int?, _ state: inout State
  ) throws -> Choice? {
    let mine = try state.fieldsOf(0, place)
    state.merger.path = [component(mine)]
    defer { state.merger.path = [] }
    let sides = state.merger.sides(try record(old, origin, state), .record(mine), nil)
    let kept = try state.merger.mergeElement(sides, missing, .byID(key, missing: missing))
    state.collect()
    return kept == nil ? nil : .local(place)
  }

  /// What the server's list has and the one here has not.
  private func insert(
    _ other: List, _ place: Int, _ old: List, _ origin: Int?, _ state: inout State
  ) throws -> Choice? {
    let theirs = try state.fieldsOf(1, place)
    state.merger.path = [component(theirs)]
    defer { state.merger.path = [] }
    let sides = state.merger.sides(try record(old, origin, state), nil, .record(theirs))
    let taken = try state.merger.mergeElement(sides, missing, .byID(key, missing: missing))
    state.collect()
    return taken == nil ? nil : .server(place)
  }

  private func merge(
    _ own: List, _ place: Int, _ other: List, _ counterpart: Int, _ old: List, _ origin: Int?, _ identity: Range<Int>,
    _ state: inout State, _ reader: inout ArchiveReader
  ) throws -> Choice {
    guard !needsWholeModels,
      try reader.findFields(schema.fullShape, in: own.ranges[place], &state.fields),
      try reader.findFields(schema.fullShape, in: other.ranges[counterpart], &state.others),
      try origin.map({ try reader.findFields(schema.fullShape, in: old.ranges[$0], &state.olds) }) ?? true
    else { return try mergeWhole(own, place, other, counterpart, old, origin, &state) }
    var isLocal = true, isServer = true
    var changes: [(place: Int, value: Value?)] = []
    for number in policies.indices {
      let mine = state.fields[number]..<state.fields[number + 1]
      let theirs = state.others[number]..<state.others[number + 1]
      guard !reader.areEqual(mine, theirs), let policy = policies[number] else { continue }
      let before = origin == nil ? nil : state.olds[number]..<state.olds[number + 1]
      if let taken = taken(number, identity, before, mine, theirs, reader) {
        state.notes.append(.taken(taken))
        if taken.outcome == .local {
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
      let result: Value?
      do { result = try state.merger.merge(state.merger.sides(base, local, server), policy) } catch {
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
    if isServer { return .server(counterpart) }
    var record = try state.fieldsOf(0, place)
    for change in changes {
      // What has no value was taken without being read.
      record.values[change.place] = try change.value ?? reader.value(at: state.others[change.place])
    }
    return .made(record)
  }

  /// What is decided by the bytes alone: a field that is one value, and that only one side changed or the server decides.
  private func taken(
    _ number: Int, _ identity: Range<Int>, _ base: Range<Int>?, _ local: Range<Int>, _ server: Range<Int>,
    _ reader: borrowing ArchiveReader
  ) -> ListEntries.Taken? {
    guard isTakenAsItIs[number], !reader.mayHoldMore(local), !reader.mayHoldMore(server) else { return nil }
    func taken(_ outcome: MergeReport.Outcome, _ rule: String) -> ListEntries.Taken {
      ListEntries.Taken(
        identity: identity.lowerBound, field: number, outcome: outcome, rule: rule, base: base?.lowerBound ?? -1,
        local: local.lowerBound, server: server.lowerBound)
    }
    guard isBaseKnown else { return taken(.server, (options.policy ?? policies[number] ?? .automatic).description) }
    guard let base, !reader.mayHoldMore(base) else { return nil }
    if reader.areEqual(base, server) { return taken(.local, "only changed here") }
    if reader.areEqual(base, local) { return taken(.server, "only changed by the server") }
    return nil
  }

  private func mergeWhole(
    _ own: List, _ place: Int, _ other: List, _ counterpart: Int, _ old: List, _ origin: Int?, _ state: inout State
  ) throws -> Choice {
    let (local, server) = (try state.fieldsOf(0, place), try state.fieldsOf(1, counterpart))
    state.merger.path = [component(local)]
    defer { state.merger.path = [] }
    let sides = state.merger.sides(try record(old, origin, state), .record(local), .record(server))
    let merged = try state.merger.mergeElement(sides, missing, .byID(key, missing: missing))
    state.collect()
    guard case .record(let result)? = merged, result != local else { return .local(place) }
    return .made(result)
  }
}

extension MergePolicy {
  var isServer: Bool { if case .server = rule { true } else { false } }

  /// Whether the policy looks at other fields.
  var looksAtTimes: Bool {
    switch rule {
    case .lastWriter: true
    case .ifPresent(let policy): policy.looksAtTimes
    case .orElse(let policy, let other): policy.looksAtTimes || other.looksAtTimes
    default: false
    }
  }
}
