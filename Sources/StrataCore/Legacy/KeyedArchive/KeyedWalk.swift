import Foundation

/// The walk over a keyed archive that makes values of its objects.
///
/// What is being made stands in a list of frames and not on the stack, so an archive may nest as it likes.
struct KeyedWalk {
  private let table: KeyedTable
  private let limits: ArchiveLimits
  private let depthLimit: Int
  private(set) var objects: [Value] = []
  private(set) var classesByName: [String: KeyedClass] = [:]
  /// How the objects of each class stand in the archive, for writing them again.
  private(set) var forms: [String: KeyedForm] = [:]
  private(set) var topForm = KeyedForm()

  /// Something that is made of others.
  private struct Frame {
    let place: Int
    let form: Form
    /// The keys of the children; `nil` where they have places.
    let layout: KeyedLayout?
    /// The children, as the property list has them: elements, or entries without the one of the class.
    let elements: [Int]
    let entries: [PropertyList.Entry]
    let classEntry: Int
    let count: Int
    /// How many children have their values: in the order of the layout where there is one.
    var done = 0
    var values: [Value]
    /// How many levels of plain values stand around it, itself included.
    let depth: Int
    /// How many values it has inside, and in how many levels.
    var size = 1
    var height = 0
    var bytes: Int

    init(place: Int, form: Form, elements: [Int], depth: Int) {
      self.place = place
      self.form = form
      layout = nil
      self.elements = elements
      entries = []
      classEntry = .max
      count = elements.count
      values = []
      values.reserveCapacity(count)
      self.depth = depth
      bytes = 0
    }

    init(
      place: Int, form: Form, layout: KeyedLayout, entries: [PropertyList.Entry], classEntry: Int? = nil, depth: Int
    ) {
      self.place = place
      self.form = form
      self.layout = layout
      elements = []
      self.entries = entries
      self.classEntry = classEntry ?? .max
      count = layout.keys.count
      values = [Value](repeating: .null, count: count)
      self.depth = depth
      bytes = layout.keyBytes
    }

    /// The entry of a child.
    func entry(_ child: Int) -> PropertyList.Entry { entries[child < classEntry ? child : child + 1] }

    /// The number of the child that comes next.
    var nextChild: Int { layout == nil ? elements[done] : entry(done).value }
  }

  private enum Form {
    case top
    case array
    case set
    case object
    /// A value of a class of Foundation's.
    case plain(FoundationValue)
    /// An object with a number.
    case record(Int, KeyedLayout.Plan)
  }

  /// A value that is made.
  private struct Made {
    let value: Value
    var size = 1
    var height = 0
    /// Bytes of text and data inside.
    var bytes = 0
  }

  /// What is known of a place.
  private struct Mark {
    /// The number of the object in the graph; -1 where it has none.
    var number: Int32 = -1
    /// Where the value stands among those that are made; -1 where it does not, -2 while it is being made.
    var made: Int32 = -1
  }

  private var frames: [Frame] = []
  private var marks: [Mark]
  private var made: [Made] = []
  private var classes: [Int: KeyedClass] = [:]
  private var keyNumbers: KeyNumbers
  /// Layouts, each in one of a fixed number of slots.
  private var layouts = [KeyedLayout?](repeating: nil, count: 256)
  private var nested: KeyedNesting?
  private let digests: ValueDigests
  /// Also for archives inside.
  private let budget: WorkBudget
  /// How many bytes of text and data there were so far, in archives inside too.
  private var byteCount = 0

  init(_ table: KeyedTable, limits: ArchiveLimits, nested: KeyedNesting? = nil, budget: WorkBudget? = nil) throws {
    self.table = table
    self.limits = limits
    self.nested = nested
    self.budget = budget ?? WorkBudget(limits, fileSize: table.count + table.byteCount)
    digests = ValueDigests(self.budget, remembersAll: true)
    depthLimit = min(limits.depth, 512)
    guard table.placeCount <= Int(Int32.max) else { throw KeyedTable.tooMany(Int(Int32.max)) }
    keyNumbers = KeyNumbers(count: table.list.objects.count)
    marks = [Mark](repeating: Mark(), count: table.placeCount)
  }

  /// The values under the top keys, and in how many levels they stand.
  ///
  /// - Parameter depth: how many levels of plain values stand around the archive.
  mutating func run(inside depth: Int = 0) throws -> (values: Object, size: Int, height: Int) {
    let rawKeys = table.top.map(\.key)
    let keys = KeyedLayout.unescaped(rawKeys)
    topForm.note(keys, rawKeys, inPlace: table.top.map { table.isInPlace($0.value) })
    do { return try walk(keys, inside: depth) } catch {
      let path = frames.prefix(256).compactMap { nextComponent(of: $0, keys) }
      throw path.reversed().reduce(ArchiveError.wrap(error)) { $0.prefixed(by: $1) }
    }
  }

  private func nextComponent(of frame: Frame, _ topKeys: [String]) -> ArchiveError.PathComponent? {
    if case .top = frame.form { return topKeys.indices.contains(frame.done) ? .key(topKeys[frame.done]) : nil }
    guard let layout = frame.layout else { return .index(frame.done) }
    if case .plain = frame.form { return nil }
    guard frame.done < frame.count, let place = layout.place(of: keyNumbers[frame.entry(frame.done).key]) else {
      return nil
    }
    return .key(layout.keys[place])
  }

  private mutating func walk(
    _ keys: [String], inside depth: Int
  ) throws -> (values: Object, size: Int, height: Int) {
    // The frame of the top stands for no object.
    frames.append(Frame(place: -1, form: .top, elements: table.top.map(\.value), depth: depth))
    while let last = frames.indices.last {
      if frames[last].done < frames[last].count {
        try visit(frames[last].nextChild, inside: frames[last].depth)
      } else if last == 0 {
        let values = Object(zip(keys, frames[0].values).map { Object.Entry(key: $0, value: $1) })
        return (values, frames[0].size, frames[0].height)
      } else {
        add(try finish(frames.removeLast()))
      }
    }
    return (Object(), 1, 0)
  }

  /// What data holds that is a keyed archive itself; `nil` for other data.
  private mutating func openNested(_ data: Data, at place: Int, inside depth: Int) throws -> Made? {
    guard nested != nil else { return nil }
    if let known = try known(place, inside: depth) { return known }
    guard let table = try nested?.table(of: data, limits: limits), let nested else { return nil }
    var walk = try KeyedWalk(table, limits: limits, nested: nested, budget: budget)
    walk.nested?.level += 1
    (walk.objects, walk.classesByName, walk.forms) = (objects, classesByName, forms)
    (objects, classesByName, forms) = ([], [:], [:])
    let found = try walk.run(inside: depth)
    (objects, classesByName, forms) = (walk.objects, walk.classesByName, walk.forms)
    byteCount += walk.byteCount
    self.nested = walk.nested
    self.nested?.level -= 1
    let value = found.values["root"] ?? .object(found.values)
    let made = Made(value: value, size: found.size, height: found.height + 1, bytes: walk.byteCount)
    remember(made, at: place)
    return made
  }

  /// Adds a value to the frame that waits for it.
  private mutating func add(_ made: Made) {
    let last = frames.count - 1
    if let layout = frames[last].layout {
      let number = keyNumbers[frames[last].entry(frames[last].done).key]
      if let place = layout.place(of: number) { frames[last].values[place] = made.value }
    } else {
      frames[last].values.append(made.value)
    }
    frames[last].done += 1
    frames[last].size += made.size
    frames[last].bytes += made.bytes
    frames[last].height = max(frames[last].height, made.height)
  }

  /// Makes the value of what stands at a number of the property list, or opens a frame for it.
  private mutating func visit(_ number: Int, inside depth: Int) throws {
    let target = try table.target(number)
    guard !target.isNull else { return add(Made(value: .null)) }
    switch target.object {
    case .null: add(Made(value: .null))
    case .bool(let value): add(Made(value: .bool(value)))
    case .integer(let value): add(Made(value: .integer(value)))
    case .float(let value): add(Made(value: .float(value)))
    case .double(let value): add(Made(value: .double(value)))
    case .date(let value): add(Made(value: .date(value)))
    case .data(let value):
      guard value.count <= limits.stringLength else { throw tooLong(value.count) }
      if let opened = try openNested(value, at: target.place, inside: depth) { return add(opened) }
      try spend(value.count)
      add(Made(value: .data(value), bytes: value.count))
    case .string(let value):
      let bytes = value.utf8.count
      guard bytes <= limits.stringLength else { throw tooLong(bytes) }
      try spend(bytes)
      add(Made(value: .string(value), bytes: bytes))
    case .uid: throw ArchiveError(.damaged, "a reference leads to a reference")
    case .array(let elements):
      try enter(Frame(place: target.place, form: .array, elements: elements, depth: depth + 1))
    case .set(let elements):
      try enter(Frame(place: target.place, form: .set, elements: elements, depth: depth + 1))
    case .dictionary(let entries): try enter(target.place, entries, inside: depth)
    }
  }

  /// What is known of an object that was met before.
  private mutating func known(_ place: Int, inside depth: Int) throws -> Made? {
    let mark = marks[place]
    if mark.number >= 0 { return Made(value: .reference(Int(mark.number))) }
    guard mark.made >= 0 else { return mark.made == -1 ? nil : Made(value: .reference(number(for: place))) }
    let made = made[Int(mark.made)]
    guard depth + made.height <= depthLimit else { throw ArchiveError.tooDeep(depthLimit) }
    // What has nothing inside multiplies nothing.
    try budget.spend(values: made.size - 1)
    try spend(made.bytes)
    return made
  }

  /// Counts text and data, which many objects may share.
  private mutating func spend(_ count: Int) throws {
    byteCount &+= count
    try budget.spend(bytes: count)
  }

  private mutating func remember(_ made: Made, at place: Int) {
    marks[place].made = Int32(self.made.count)
    self.made.append(made)
  }

  private mutating func number(for place: Int) -> Int {
    let number = objects.count
    marks[place].number = Int32(number)
    objects.append(.null)
    return number
  }

  private mutating func enter(_ place: Int, _ entries: [PropertyList.Entry], inside depth: Int) throws {
    if let known = try known(place, inside: depth) { return add(known) }
    let layout = try layout(of: entries)
    guard let classEntry = layout.classEntry(of: entries, keyNumbers) else {
      if let key = layout.reservedKey {
        throw ArchiveError(
          .damaged, "an object without a $class has the key \(key); keys of its own begin with $$", path: [.key(key)])
      }
      return try open(Frame(place: place, form: .object, layout: layout, entries: entries, depth: depth + 1))
    }
    let plan = try plan(of: layout, entries[classEntry].value)
    if let value = plan.plain {
      // A collection has its elements in an array of the property list, which is the level that counts.
      return try open(
        Frame(
          place: place, form: .plain(value), layout: layout, entries: entries, classEntry: classEntry,
          depth: value.isCollection ? depth : depth + 1))
    }
    try spend(plan.type.name.utf8.count)
    let form = Form.record(number(for: place), plan)
    try open(Frame(place: place, form: form, layout: layout, entries: entries, classEntry: classEntry, depth: 1))
  }

  private mutating func enter(_ frame: Frame) throws {
    if let known = try known(frame.place, inside: frame.depth - 1) { return add(known) }
    try open(frame)
  }

  private mutating func open(_ frame: Frame) throws {
    guard frame.count <= limits.count else { throw KeyedTable.tooMany(limits.count) }
    guard frame.depth <= depthLimit else { throw ArchiveError.tooDeep(depthLimit) }
    try spend(frame.bytes)
    if marks[frame.place].made == -1 { marks[frame.place].made = -2 }
    frames.append(frame)
  }

  private mutating func layout(of entries: [PropertyList.Entry]) throws -> KeyedLayout {
    var hash = UInt64(entries.count)
    for entry in entries {
      guard let number = keyNumbers.number(of: entry.key, in: table.list) else { return try newLayout(of: entries) }
      // Sums do not depend on the order.
      let mixed = UInt64(number + 1) &* 0x9E37_79B9_7F4A_7C15
      hash &+= mixed ^ mixed >> 29
    }
    let slot = Int((hash ^ hash >> 23) & 0xFF)
    if let known = layouts[slot], known.fits(entries, keyNumbers) { return known }
    let layout = try newLayout(of: entries)
    layouts[slot] = layout
    return layout
  }

  /// - Throws: ``ArchiveError`` with the code `damaged` where a key is no string or a duplicate.
  private func newLayout(of entries: [PropertyList.Entry]) throws -> KeyedLayout {
    _ = try table.members(entries)
    return KeyedLayout(entries.map { keyNumbers[$0.key] }, keys: keyNumbers.keys)
  }

  private mutating func plan(of layout: KeyedLayout, _ classNumber: Int) throws -> KeyedLayout.Plan {
    let target = try table.target(classNumber)
    return try layout.plan(ofClassAt: target.place) { try readClass(target) }
  }

  private mutating func readClass(_ target: KeyedTable.Target) throws -> KeyedClass {
    if let known = classes[target.place] { return known }
    let found: KeyedClass
    do { found = try table.readClass(target.object) } catch { throw ArchiveError.at(.key("$class"), error) }
    classes[target.place] = found
    if classesByName[found.name] == nil { classesByName[found.name] = found }
    return found
  }

  private mutating func finish(_ frame: Frame) throws -> Made {
    let value: Value
    switch frame.form {
    case .record(let number, let plan):
      objects[number] = .record(try record(plan, frame))
      return Made(value: .reference(number))
    case .top, .array: value = .array(frame.values)
    case .set: value = .set(try digests.unique(frame.values))
    case .object: value = .object(object(frame))
    case .plain(.data) where nestedIndex(frame) != nil: value = frame.values[nestedIndex(frame) ?? 0]
    case .plain(let plain):
      value = try plain.make(KeyedFields(keys: frame.layout?.keys ?? [], values: frame.values), digests)
    }
    let number = marks[frame.place].number
    if number >= 0 {
      objects[Int(number)] = value
      return Made(value: .reference(Int(number)))
    }
    var made = Made(value: value, size: frame.size, height: frame.height + 1, bytes: frame.bytes)
    if case .plain(let plain) = frame.form {
      if plain.isCollection || nestedIndex(frame) != nil { made.height = frame.height } else { made.size = 1 }
    }
    remember(made, at: frame.place)
    return made
  }

  /// The place of an archive that was opened inside of a data object.
  private func nestedIndex(_ frame: Frame) -> Int? {
    guard nested != nil, case .plain(.data) = frame.form else { return nil }
    return frame.layout?.keys.firstIndex { $0 == "NS.data" || $0 == "NS.bytes" }.flatMap {
      if case .data = frame.values[$0] { nil } else { $0 }
    }
  }

  /// The entries in their own order, which no class shares.
  private func object(_ frame: Frame) -> Object {
    guard let layout = frame.layout else { return Object() }
    let entries = (0..<frame.count).compactMap { child in
      layout.place(of: keyNumbers[frame.entry(child).key])
        .map { Object.Entry(key: layout.keys[$0], value: frame.values[$0]) }
    }
    return Object(uniqueEntries: entries)
  }

  private mutating func record(_ plan: KeyedLayout.Plan, _ frame: Frame) throws -> ModelRecord {
    let keys = frame.layout?.keys ?? []
    var fields = KeyedFields(keys: keys, values: frame.values)
    var versionPlace = plan.versionPlace
    if !plan.isPlainRecord {
      fields = try FoundationRecord.fields(of: plan.type.name, fields)
      versionPlace = fields.keys.firstIndex(of: KeyedLayout.versionKey)
    }
    var version: Int?
    if let place = versionPlace {
      guard let found = fields.values.remove(at: place).intValue, found >= 0 else {
        throw ArchiveError(
          .damaged, "a model version is an integer of 0 or more", path: [.key(KeyedLayout.versionKey)],
          typeName: plan.type.name)
      }
      version = found
    }
    if plan.isPlainRecord, let shape = plan.shape, shape.modelVersion == version {
      return ModelRecord(shape: shape, values: fields.values)
    }
    let names = fields.keys
    if let versionPlace { fields.keys.remove(at: versionPlace) }
    if let shape = plan.shape, shape.modelVersion == version, shape.keys == fields.keys {
      return ModelRecord(shape: shape, values: fields.values)
    }
    note(plan, frame, names)
    let shape = RecordShape(typeName: plan.type.name, modelVersion: version, keys: fields.keys)
    plan.shape = shape
    return ModelRecord(shape: shape, values: fields.values)
  }

  /// Remembers the form of an object, which tells how all of its shape stand in the archive.
  private mutating func note(_ plan: KeyedLayout.Plan, _ frame: Frame, _ names: [String]) {
    let type = plan.type.name
    // Data can hold classes without end.
    guard let layout = frame.layout, forms.count < 4096 || forms[type] != nil else { return }
    var inPlace = [Bool?](repeating: nil, count: frame.count)
    for child in 0..<frame.count {
      let entry = frame.entry(child)
      guard let place = layout.place(of: keyNumbers[entry.key]), !frame.values[place].isNull else { continue }
      inPlace[place] = table.isInPlace(entry.value)
    }
    forms[type, default: KeyedForm()].note(
      FoundationRecord.parts(of: type).contains(where: names.contains) ? layout.keys : names, layout.rawKeys,
      inPlace: inPlace)
  }

  private func tooLong(_ length: Int) -> ArchiveError {
    ArchiveError(
      .limitExceeded, "a string of \(length) bytes is longer than the limit of \(limits.stringLength)",
      limit: .stringLength)
  }
}
