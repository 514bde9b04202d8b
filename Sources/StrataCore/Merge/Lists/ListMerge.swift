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
    let merger = ValueMerger(catalog: catalog, options: options, isBaseKnown: isBaseKnown)
    guard !merger.countsEqualChanges, options.policy(at: []) == nil else { return nil }
  }

  private struct List {
    let elements: [Element]
    let ranges: [Range<Int>]
    var places: [ElementIdentity: Int] = [:]
    var identities: [ElementIdentity] = []
  }

  /// The merged list; `nil` where elements cannot be told apart by the key.
  func run(_ local: [Element], _ server: [Element], _ base: [Element]?) throws -> ([Element], MergeReport)? {
    var bytes = ElementBytes()
    var own = List(elements: local, ranges: try bytes.add(local))
    var other = List(elements: server, ranges: try bytes.add(server))
    var old = List(elements: base ?? [], ranges: try bytes.add(base ?? []))
    return try bytes.withReader { reader in
      guard try identify(&own, &reader), try identify(&other, &reader), try identify(&old, &reader) else { return nil }
      var state = State(merger: ValueMerger(catalog: catalog, options: options, isBaseKnown: isBaseKnown))
      return try merge(own, other, old, &state, &reader)
    }
  }

  /// - Returns: whether each element has a key of its own.
  private func identify(_ list: inout List, _ reader: inout ArchiveReader) throws -> Bool {
    list.places.reserveCapacity(list.ranges.count)
    list.identities.reserveCapacity(list.ranges.count)
    for (place, range) in list.ranges.enumerated() {
      reader.position = range.lowerBound
      guard try reader.beginAnyRecord() != nil else { return false }
      for _ in 0..<keyPlace { try reader.skipItem() }
      let start = reader.position
      guard try reader.peekByte() != CBOR.nullByte else { return false }
      try reader.skipItem()
      let identity = reader.identity(start..<reader.position)
      guard list.places.updateValue(place, forKey: identity) == nil else { return false }
      list.identities.append(identity)
    }
    return true
  }

  private struct State {
    var merger: ValueMerger
    var isChanged = false
    var fields: [Int] = []
    var others: [Int] = []
    var olds: [Int] = []
  }

  // MARK: The list

  private func merge(
    _ own: List, _ other: List, _ old: List, _ state: inout State, _ reader: inout ArchiveReader
  ) throws -> ([Element], MergeReport) {
    var result: [Int: Element] = [:]
    var merged = [Element?](repeating: nil, count: own.elements.count)
    for place in own.elements.indices {
      let identity = own.identities[place]
      let counterpart = other.places[identity]
      if let counterpart, reader.areEqual(own.ranges[place], other.ranges[counterpart]) {
        merged[place] = own.elements[place]
        continue
      }
      merged[place] = try located(counterpart ?? place) {
        if let counterpart {
          return try merge(own, place, other, counterpart, old, old.places[identity], &state, &reader)
        }
        return try missing(own, place, old, old.places[identity], &state, &reader)
      }
    }
    var inserted: [Int: Element] = [:]
    for place in other.elements.indices where own.places[other.identities[place]] == nil {
      inserted[place] = try located(place) {
        try insert(other, place, old, old.places[other.identities[place]], &state, &reader)
      }
    }
    // The order of most lists is the same on all sides.
    let elements: [Element]
    if inserted.isEmpty, own.identities == other.identities, !isBaseKnown || own.identities == old.identities {
      elements = merged.compactMap(\.self)
    } else {
      var numbers: [ElementIdentity: Int] = [:]
      func numbered(_ list: List) -> [Int] {
        list.identities.map { identity in
          if let number = numbers[identity] { return number }
          numbers[identity] = numbers.count
          return numbers.count - 1
        }
      }
      let order = ListOrder(base: numbered(old), local: numbered(own), server: numbered(other))
      for (number, element) in zip(order.local, merged) { if let element { result[number] = element } }
      for (place, element) in inserted { result[order.server[place]] = element }
      let surviving = Set(result.keys)
      let places = isBaseKnown ? order.merged(surviving) : order.following(surviving)
      state.merger.noteOrder(
        state.merger.sides(nil, nil, nil), order, surviving, places, .byID(key, missing: missing))
      elements = places.compactMap { result[$0] }
      if places.filter(Set(order.local).contains) != order.local { state.isChanged = true }
    }
    var report = MergeReport()
    report.entries = state.merger.entries
    report.isChangedInside = state.isChanged
    try report.checkConflicts(options, typeName: schema.name)
    return (elements, report)
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

  private func record(_ list: List, _ place: Int?) throws -> Record? {
    try place.map { try list.elements[$0].shallowRecord(ObjectNeighbours()) }
  }

  /// What the list on one side has and the other does not.
  private func missing(
    _ own: List, _ place: Int, _ old: List, _ origin: Int?, _ state: inout State, _ reader: inout ArchiveReader
  ) throws -> Element? {
    state.merger.path = [try component(own.elements[place])]
    defer { state.merger.path = [] }
    let sides = state.merger.sides(
      try record(old, origin).map { .record($0) }, try record(own, place).map { .record($0) }, nil)
    let kept = try state.merger.mergeElement(sides, missing, .byID(key, missing: missing))
    if kept == nil { state.isChanged = true }
    return kept == nil ? nil : own.elements[place]
  }

  private func insert(
    _ other: List, _ place: Int, _ old: List, _ origin: Int?, _ state: inout State, _ reader: inout ArchiveReader
  ) throws -> Element? {
    state.merger.path = [try component(other.elements[place])]
    defer { state.merger.path = [] }
    let sides = state.merger.sides(
      try record(old, origin).map { .record($0) }, nil, try record(other, place).map { .record($0) })
    guard try state.merger.mergeElement(sides, missing, .byID(key, missing: missing)) != nil else { return nil }
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
    _ own: List, _ place: Int, _ other: List, _ counterpart: Int, _ old: List, _ origin: Int?, _ state: inout State,
    _ reader: inout ArchiveReader
  ) throws -> Element {
    guard !needsWholeModels,
      try reader.findFields(schema.fullShape, in: own.ranges[place], &state.fields),
      try reader.findFields(schema.fullShape, in: other.ranges[counterpart], &state.others),
      try origin.map({ try reader.findFields(schema.fullShape, in: old.ranges[$0], &state.olds) }) ?? true
    else { return try mergeWhole(own, place, other, counterpart, old, origin, &state) }
    var isLocal = true, isServer = true
    var changes: [(place: Int, value: Value?)] = []
    for (number, field) in schema.fields.enumerated() where !(field.type is MergeState.Type) {
      let mine = state.fields[number]..<state.fields[number + 1]
      let theirs = state.others[number]..<state.others[number + 1]
      if reader.areEqual(mine, theirs) { continue }
      if state.merger.path.isEmpty { state.merger.path = [try component(own.elements[place])] }
      func value(_ start: Int) throws -> Value {
        reader.position = start
        return try reader.readValue()
      }
      let (local, server) = (try value(mine.lowerBound), try value(theirs.lowerBound))
      let base = origin == nil ? nil : try value(state.olds[number])
      state.merger.path.append(.key(field.key))
      defer { state.merger.path.removeLast() }
      let result: Value?
      do {
        result = try state.merger.merge(
          state.merger.sides(base, local, server), state.merger.policy(of: field, schema, inherited: .recursive))
      } catch { throw ArchiveError.at(.key(field.key), error) }
      if result != local {
        isLocal = false
        changes.append((number, result))
      }
      if result != server { isServer = false }
    }
    state.merger.path = []
    if isLocal { return own.elements[place] }
    state.isChanged = true
    if isServer { return try finished(other.elements[counterpart]) }
    var record = try own.elements[place].shallowRecord(ObjectNeighbours())
    for change in changes { record[schema.fields[change.place].key] = change.value }
    return try made(record)
  }

  private func mergeWhole(
    _ own: List, _ place: Int, _ other: List, _ counterpart: Int, _ old: List, _ origin: Int?, _ state: inout State
  ) throws -> Element {
    guard let local = try record(own, place), let server = try record(other, counterpart) else {
      return own.elements[place]
    }
    state.merger.path = [try component(own.elements[place])]
    defer { state.merger.path = [] }
    let sides = state.merger.sides(try record(old, origin).map { .record($0) }, .record(local), .record(server))
    let merged = try state.merger.mergeElement(sides, missing, .byID(key, missing: missing))
    guard case .record(let result)? = merged, result != local else { return own.elements[place] }
    state.isChanged = true
    return try made(result)
  }
}

extension MergePolicy {
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
