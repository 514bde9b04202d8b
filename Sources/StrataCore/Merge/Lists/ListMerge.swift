/// Merges lists of values by their bytes: models are only taken apart where they differ, and there only the fields that do.
struct ListMerge<Element: Model> {
  private let schema = Element.schema
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
  init?(key: String, missing: MissingElements, isBaseKnown: Bool, _ options: MergeOptions) throws {
    guard let place = schema.fields.firstIndex(where: { $0.key == key }), !schema.isEnumeration, !schema.holdsObjects,
      !(Element.self is any ValueMerging.Type)
    else { return nil }
    self.key = key
    keyPlace = place
    self.missing = missing
    self.isBaseKnown = isBaseKnown
    self.options = options
    var catalog = SchemaCatalog()
    Element.collectSchemas(into: &catalog)
    self.catalog = catalog
    let rules = (Element.self as? any Mergeable.Type)?.mergeRules
    let policies = schema.fields.map(\.merge) + [options.policy, rules?.policy].compactMap(\.self)
    needsWholeModels = (policies + options.policies.map(\.policy)).contains(where: \.looksAtTimes)
    var merger = ValueMerger(catalog: catalog, options: options, isBaseKnown: isBaseKnown)
    let schema = schema
    self.policies = schema.fields.map { field in
      field.type is MergeState.Type ? nil : merger.policy(of: field, schema, inherited: .recursive)
    }
    isTakenAsItIs = self.policies.map { policy in
      guard let policy, options.policies.isEmpty else { return false }
      let effective = options.policy ?? policy
      return isBaseKnown ? effective.claims.contains(.respectsBase) : effective.isAutomatic || effective.isServer
    }
    guard !merger.countsEqualChanges, options.policy(at: []) == nil else { return nil }
  }

  private struct List {
    let elements: [Element]
    let ranges: [Range<Int>]
    /// The elements that are not merged yet begin here.
    var start = 0
    var places: [ElementIdentity: Int] = [:]
    var identities: [ElementIdentity] = []

    var rest: Range<Int> { start..<elements.count }
  }

  private struct State {
    var merger: ValueMerger
    var notes: [ListEntries.Note] = []
    var isChanged = false
    var fields: [Int] = []
    var others: [Int] = []
    var olds: [Int] = []

    /// Takes over what the merger accounted for.
    mutating func collect() {
      guard !merger.entries.isEmpty else { return }
      notes += merger.entries.map { .entry($0) }
      merger.entries.removeAll(keepingCapacity: true)
    }
  }

  /// The merged list; `nil` where elements cannot be told apart by the key.
  func run(_ local: [Element], _ server: [Element], _ base: [Element]?) throws -> ([Element], MergeReport)? {
    var bytes = ElementBytes()
    var own = List(elements: local, ranges: try bytes.add(local))
    var other = List(elements: server, ranges: try bytes.add(server))
    var old = List(elements: base ?? [], ranges: try bytes.add(base ?? []))
    var state = State(merger: ValueMerger(catalog: catalog, options: options, isBaseKnown: isBaseKnown))
    let result: [Element]? = try bytes.withReader { reader in
      var result: [Element] = []
      result.reserveCapacity(max(local.count, server.count))
      try mergeAligned(&own, &other, &old, &result, &state, &reader)
      if own.rest.isEmpty, other.rest.isEmpty { return result }
      guard try identify(&own, &reader), try identify(&other, &reader), try identify(&old, &reader) else { return nil }
      return try result + merge(own, other, old, &state, &reader)
    }
    guard let result else { return nil }
    state.collect()
    var report = MergeReport()
    if !state.notes.isEmpty {
      report.listEntries = ListEntries(
        state.notes, bytes: bytes.array(), shapes: bytes.shapes(), keys: schema.allKeys, identityKey: key)
    }
    report.isChangedInside = state.isChanged
    try report.checkConflicts(options, typeName: schema.name)
    return (result, report)
  }

  // MARK: The list

  /// Merges the elements that all sides have in the same places, up to the first that differs: in most lists these are
  /// all, and nothing needs to be looked up.
  private func mergeAligned(
    _ own: inout List, _ other: inout List, _ old: inout List, _ result: inout [Element], _ state: inout State,
    _ reader: inout ArchiveReader
  ) throws {
    let count = min(own.elements.count, other.elements.count, isBaseKnown ? old.elements.count : .max)
    for place in 0..<count {
      let isSame = reader.areEqual(own.ranges[place], other.ranges[place])
      if isSame, !isBaseKnown || reader.areEqual(own.ranges[place], old.ranges[place]) {
        result.append(own.elements[place])
      } else {
        guard let mine = try identity(of: own, place, &reader), let theirs = try identity(of: other, place, &reader),
          reader.areEqual(mine, theirs)
        else { return }
        if isBaseKnown {
          guard let before = try identity(of: old, place, &reader), reader.areEqual(mine, before) else { return }
        }
        if isSame {
          result.append(own.elements[place])
        } else {
          result.append(
            try located(place) {
              try merge(own, place, other, place, old, isBaseKnown ? place : nil, mine, &state, &reader)
            })
        }
      }
      (own.start, other.start, old.start) = (place + 1, place + 1, isBaseKnown ? place + 1 : 0)
    }
  }

  /// Where the key of an element stands; `nil` where it has none.
  private func identity(of list: List, _ place: Int, _ reader: inout ArchiveReader) throws -> Range<Int>? {
    reader.position = list.ranges[place].lowerBound
    guard try reader.beginAnyRecord() != nil else { return nil }
    for _ in 0..<keyPlace { try reader.skipItem() }
    let start = reader.position
    guard try reader.peekByte() != CBOR.nullByte else { return nil }
    try reader.skipItem()
    return start..<reader.position
  }

  /// - Returns: whether each element that is left has a key of its own.
  private func identify(_ list: inout List, _ reader: inout ArchiveReader) throws -> Bool {
    list.places.reserveCapacity(list.rest.count)
    list.identities.reserveCapacity(list.rest.count)
    for place in list.rest {
      guard let range = try identity(of: list, place, &reader) else { return false }
      let identity = reader.identity(range)
      guard list.places.updateValue(place, forKey: identity) == nil else { return false }
      list.identities.append(identity)
    }
    return true
  }

  /// Merges what is left.
  private func merge(
    _ own: List, _ other: List, _ old: List, _ state: inout State, _ reader: inout ArchiveReader
  ) throws -> [Element] {
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
    var result = [Element?](repeating: nil, count: numbers.count)
    for (place, identity) in zip(own.rest, own.identities) {
      let counterpart = other.places[identity]
      let number = order.local[place - own.start]
      if let counterpart, reader.areEqual(own.ranges[place], other.ranges[counterpart]) {
        result[number] = own.elements[place]
        continue
      }
      result[number] = try located(counterpart ?? place) {
        guard let counterpart else { return try missing(own, place, old, old.places[identity], &state) }
        guard let mine = try self.identity(of: own, place, &reader) else { return own.elements[place] }
        return try merge(own, place, other, counterpart, old, old.places[identity], mine, &state, &reader)
      }
    }
    for (place, identity) in zip(other.rest, other.identities) where own.places[identity] == nil {
      result[order.server[place - other.start]] = try located(place) {
        try insert(other, place, old, old.places[identity], &state)
      }
    }
    let surviving = Set(result.indices.filter { result[$0] != nil })
    let places = isBaseKnown ? order.merged(surviving) : order.following(surviving)
    state.merger.noteOrder(
      state.merger.sides(nil, nil, nil), order, surviving, places, .byID(key, missing: missing))
    state.collect()
    if places != order.local { state.isChanged = true }
    return places.compactMap { result[$0] }
  }

  private func located<R>(_ place: Int, _ body: () throws -> R) throws -> R {
    do { return try body() } catch {
      let error = ArchiveError.wrap(error)
      if error.code == .mergeFailed || error.code == .invalid { throw error.prefixed(by: .index(place)) }
      let cause = error.code == .rejected ? error.underlyingError ?? error : error
      throw ArchiveError(
        .mergeFailed, "the values cannot be merged", path: [.index(place)] + error.codingPath, typeName: schema.name,
        underlying: cause)
    }
  }

  // MARK: One element

  private func component(_ element: Element) throws -> MergePath.Component {
    .element(key: key, id: try element.shallowRecord(ObjectNeighbours())[key] ?? .null)
  }

  private func record(_ list: List, _ place: Int?) throws -> Value? {
    try place.map { .record(try list.elements[$0].shallowRecord(ObjectNeighbours())) }
  }

  /// What the list here has and the server's has not.
  private func missing(
    _ own: List, _ place: Int, _ old: List, _ origin: Int?, _ state: inout State
  ) throws -> Element? {
    state.merger.path = [try component(own.elements[place])]
    defer { state.merger.path = [] }
    let sides = state.merger.sides(try record(old, origin), try record(own, place), nil)
    let kept = try state.merger.mergeElement(sides, missing, .byID(key, missing: missing))
    state.collect()
    if kept == nil { state.isChanged = true }
    return kept == nil ? nil : own.elements[place]
  }

  /// What the server's list has and the one here has not.
  private func insert(
    _ other: List, _ place: Int, _ old: List, _ origin: Int?, _ state: inout State
  ) throws -> Element? {
    state.merger.path = [try component(other.elements[place])]
    defer { state.merger.path = [] }
    let sides = state.merger.sides(try record(old, origin), nil, try record(other, place))
    let taken = try state.merger.mergeElement(sides, missing, .byID(key, missing: missing))
    state.collect()
    guard taken != nil else { return nil }
    state.isChanged = true
    return try finished(other.elements[place])
  }

  /// An element whose fields come from the server as they are.
  private func finished(_ element: Element) throws -> Element {
    guard catalog.finishesModels else { return element }
    return try made(element.shallowRecord(ObjectNeighbours()))
  }

  private func made(_ record: Record) throws -> Element {
    let context = DecodingContext(
      source: .merge, includesExcluded: true, validates: options.validates, collectsFailures: true)
    return try MergeCommit.made(Element.self, record, in: context, ObjectNeighbours())
  }

  private func merge(
    _ own: List, _ place: Int, _ other: List, _ counterpart: Int, _ old: List, _ origin: Int?, _ identity: Range<Int>,
    _ state: inout State, _ reader: inout ArchiveReader
  ) throws -> Element {
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
      if let taken = try taken(number, identity, before, mine, theirs, reader) {
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
    if isLocal { return own.elements[place] }
    state.isChanged = true
    if isServer { return try finished(other.elements[counterpart]) }
    var record = try own.elements[place].shallowRecord(ObjectNeighbours())
    for change in changes {
      if let value = change.value {
        record[schema.allKeys[change.place]] = value
      } else {
        // It was taken without being read.
        record[schema.allKeys[change.place]] = try reader.value(at: state.others[change.place])
      }
    }
    return try made(record)
  }

  /// What is decided by the bytes alone: a field that is one value, and that only one side changed or the server decides.
  private func taken(
    _ number: Int, _ identity: Range<Int>, _ base: Range<Int>?, _ local: Range<Int>, _ server: Range<Int>,
    _ reader: borrowing ArchiveReader
  ) throws -> ListEntries.Taken? {
    guard isTakenAsItIs[number], try !reader.mayHoldMore(local), try !reader.mayHoldMore(server) else { return nil }
    func taken(_ outcome: MergeReport.Outcome, _ rule: String) -> ListEntries.Taken {
      ListEntries.Taken(
        identity: identity.lowerBound, field: number, outcome: outcome, rule: rule, base: base?.lowerBound ?? -1,
        local: local.lowerBound, server: server.lowerBound)
    }
    guard isBaseKnown else { return taken(.server, (options.policy ?? policies[number] ?? .automatic).description) }
    guard let base, try !reader.mayHoldMore(base) else { return nil }
    if reader.areEqual(base, server) { return taken(.local, "only changed here") }
    if reader.areEqual(base, local) { return taken(.server, "only changed by the server") }
    return nil
  }

  private func mergeWhole(
    _ own: List, _ place: Int, _ other: List, _ counterpart: Int, _ old: List, _ origin: Int?, _ state: inout State
  ) throws -> Element {
    state.merger.path = [try component(own.elements[place])]
    defer { state.merger.path = [] }
    let (local, server) = (try record(own, place), try record(other, counterpart))
    let sides = state.merger.sides(try record(old, origin), local, server)
    let merged = try state.merger.mergeElement(sides, missing, .byID(key, missing: missing))
    state.collect()
    guard case .record(let result)? = merged, merged != local else { return own.elements[place] }
    state.isChanged = true
    return try made(result)
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
