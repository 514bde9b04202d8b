/// The walk over a keyed archive that makes values of its objects.
///
/// What is being made stands in a list of frames and not on the stack, so an archive may nest as it likes.
struct KeyedWalk {
  private let table: KeyedTable
  private let limits: ArchiveLimits
  private let depthLimit: Int
  private(set) var objects: [Value] = []
  private(set) var classesByName: [String: KeyedClass] = [:]

  /// Something that is made of others.
  private struct Frame {
    let place: Int
    let form: Form
    /// The keys of the children; `nil` where they have places.
    let keys: [String]?
    let children: [Int]
    var values: [Value] = []
    /// How many levels of plain values stand around it, itself included.
    let depth: Int
    /// How many values it has inside, and in how many levels.
    var size = 1
    var height = 0

    var nextComponent: ArchiveError.PathComponent? {
      guard let keys else { return .index(values.count) }
      guard keys.indices.contains(values.count) else { return nil }
      if case .plain = form { return nil }
      return .key(keys[values.count])
    }
  }

  private enum Form {
    case top
    case array
    case set
    case object
    /// A value of a class of Foundation's.
    case plain(FoundationValue)
    /// An object with a number.
    case record(Int, KeyedClass)
  }

  /// A value that is made.
  private struct Made {
    let value: Value
    var size = 1
    var height = 0
  }

  private var frames: [Frame] = []
  private var open: Set<Int> = []
  private var numbers: [Int: Int] = [:]
  private var made: [Int: Made] = [:]
  private var classes: [Int: KeyedClass] = [:]
  private var shapes: [ShapeKey: RecordShape] = [:]
  private var repeated = 0

  private struct ShapeKey: Hashable {
    let typeName: String
    let version: Int?
    let keys: [String]
  }

  init(_ table: KeyedTable, limits: ArchiveLimits) {
    self.table = table
    self.limits = limits
    depthLimit = min(limits.depth, 512)
  }

  /// The values under the top keys.
  mutating func run() throws -> Object {
    do { return try walk() } catch {
      let path = frames.prefix(256).compactMap(\.nextComponent)
      throw path.reversed().reduce(ArchiveError.wrap(error)) { $0.prefixed(by: $1) }
    }
  }

  private mutating func walk() throws -> Object {
    // The frame of the top stands for no object.
    let keys = Self.unescaped(table.top.map(\.key))
    frames.append(Frame(place: -1, form: .top, keys: keys, children: table.top.map(\.value), depth: 0))
    while let place = frames.indices.last {
      if frames[place].values.count < frames[place].children.count {
        try visit(frames[place].children[frames[place].values.count], inside: frames[place].depth)
        continue
      }
      let frame = frames[place]
      if case .top = frame.form {
        return Object(zip(keys, frame.values).map { Object.Entry(key: $0, value: $1) })
      }
      let value = try finish(frame)
      frames.removeLast()
      open.remove(frame.place)
      add(value)
    }
    return Object()
  }

  /// Adds a value to the frame that waits for it.
  private mutating func add(_ made: Made) {
    let place = frames.count - 1
    frames[place].values.append(made.value)
    frames[place].size += made.size
    frames[place].height = max(frames[place].height, made.height)
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
      add(Made(value: .data(value)))
    case .string(let value):
      guard value.utf8.count <= limits.stringLength else { throw tooLong(value.utf8.count) }
      add(Made(value: .string(value)))
    case .uid: throw ArchiveError(.damaged, "a reference leads to a reference")
    case .array(let elements): try enter(target.place, .array, nil, elements, inside: depth)
    case .set(let elements): try enter(target.place, .set, nil, elements, inside: depth)
    case .dictionary(let entries): try enter(target.place, entries, inside: depth)
    }
  }

  /// What is known of an object that was met before.
  private mutating func known(_ place: Int, inside depth: Int) throws -> Made? {
    if let number = numbers[place] { return Made(value: .reference(number)) }
    if let made = made[place] {
      guard depth + made.height <= depthLimit else { throw ArchiveError.tooDeep(depthLimit) }
      // What has nothing inside multiplies nothing.
      let (sum, overflow) = repeated.addingReportingOverflow(made.size - 1)
      let limit = max(1 << 20, 16 * table.count)
      guard !overflow, sum <= limit else {
        throw ArchiveError(.limitExceeded, "shared collections stand for more than \(limit) values", limit: .count)
      }
      repeated = sum
      return made
    }
    guard open.contains(place) else { return nil }
    return Made(value: .reference(number(for: place)))
  }

  private mutating func number(for place: Int) -> Int {
    let number = objects.count
    numbers[place] = number
    objects.append(.null)
    return number
  }

  private mutating func enter(_ place: Int, _ entries: [PropertyList.Entry], inside depth: Int) throws {
    if let known = try known(place, inside: depth) { return add(known) }
    let members = try table.members(entries)
    guard let classNumber = members.first(where: { $0.key == "$class" })?.value else {
      return try enter(place, .object, Self.unescaped(members.map(\.key)), members.map(\.value), inside: depth)
    }
    let found = try readClass(classNumber)
    let fields = members.filter { $0.key != "$class" }
    let keys = Self.unescaped(fields.map(\.key))
    if let value = FoundationValue(found, keys: keys) {
      return try enter(place, .plain(value), keys, fields.map(\.value), inside: depth)
    }
    try enter(place, .record(number(for: place), found), keys, fields.map(\.value), inside: 0)
  }

  private mutating func enter(
    _ place: Int, _ form: Form, _ keys: [String]?, _ children: [Int], inside depth: Int
  ) throws {
    if case .record = form {} else if let known = try known(place, inside: depth) { return add(known) }
    guard children.count <= limits.count else { throw KeyedTable.tooMany(limits.count) }
    var depth = depth + 1
    // A collection has its elements in an array of the property list, which is the level that counts.
    if case .plain(let value) = form, value.isCollection { depth -= 1 }
    guard depth <= depthLimit else { throw ArchiveError.tooDeep(depthLimit) }
    open.insert(place)
    frames.append(Frame(place: place, form: form, keys: keys, children: children, depth: depth))
  }

  private mutating func readClass(_ number: Int) throws -> KeyedClass {
    let target = try table.target(number)
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
    case .record(let number, let type):
      objects[number] = .record(try record(type, frame.keys ?? [], frame.values))
      return Made(value: .reference(number))
    case .array: value = .array(frame.values)
    case .set: value = .set(FoundationValue.unique(frame.values))
    case .top, .object:
      let entries = zip(frame.keys ?? [], frame.values).map { Object.Entry(key: $0, value: $1) }
      value = .object(Object(uniqueEntries: entries))
    case .plain(let plain): value = try plain.make(KeyedFields(keys: frame.keys ?? [], values: frame.values))
    }
    if let number = numbers[frame.place] {
      objects[number] = value
      return Made(value: .reference(number))
    }
    var made = Made(value: value, size: frame.size, height: frame.height + 1)
    if case .plain(let plain) = frame.form {
      if plain.isCollection { made.height = frame.height } else { made.size = 1 }
    }
    self.made[frame.place] = made
    return made
  }

  private mutating func record(_ type: KeyedClass, _ keys: [String], _ values: [Value]) throws -> Record {
    var fields = try FoundationRecord.fields(of: type.name, KeyedFields(keys: keys, values: values))
    var version: Int?
    if let place = fields.keys.firstIndex(of: Self.versionKey) {
      fields.keys.remove(at: place)
      guard let found = fields.values.remove(at: place).intValue, found >= 0 else {
        throw ArchiveError(
          .damaged, "a model version is an integer of 0 or more", path: [.key(Self.versionKey)], typeName: type.name)
      }
      version = found
    }
    let key = ShapeKey(typeName: type.name, version: version, keys: fields.keys)
    if let shape = shapes[key] { return Record(shape: shape, values: fields.values) }
    let shape = RecordShape(typeName: type.name, modelVersion: version, keys: fields.keys)
    // Data can hold shapes without end.
    if shapes.count < 1024 { shapes[key] = shape }
    return Record(shape: shape, values: fields.values)
  }

  /// The key under which Mantle writes a model's version.
  private static let versionKey = "MTLModelVersion"

  /// Keys without the mark that the archiver gives to those that begin with `$`, which it needs for itself.
  private static func unescaped(_ keys: [String]) -> [String] {
    guard keys.contains(where: { $0.hasPrefix("$$") }) else { return keys }
    let plain = Set(keys.map { ExactKey($0) })
    // Values without a key have `$0`, `$1` …, which an escaped key must not take from them.
    return keys.map { key in
      guard key.hasPrefix("$$"), !plain.contains(ExactKey(String(key.dropFirst()))) else { return key }
      return String(key.dropFirst())
    }
  }

  private func tooLong(_ length: Int) -> ArchiveError {
    ArchiveError(
      .limitExceeded, "a string of \(length) bytes is longer than the limit of \(limits.stringLength)",
      limit: .stringLength)
  }
}
