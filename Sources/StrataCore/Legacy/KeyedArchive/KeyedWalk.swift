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
    let keys: [String]?
    /// The keys as they stand in the archive, where those are others.
    var rawKeys: [String]?
    let children: [Int]
    var values: [Value] = []
    /// How many levels of plain values stand around it, itself included.
    let depth: Int
    /// How many values it has inside, and in how many levels.
    var size = 1
    var height = 0
    var bytes = 0

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
    /// Bytes of text and data inside.
    var bytes = 0
  }

  private var frames: [Frame] = []
  private var open: Set<Int> = []
  private var numbers: [Int: Int] = [:]
  private var made: [Int: Made] = [:]
  private var classes: [Int: KeyedClass] = [:]
  private var shapes: [ShapeKey: RecordShape] = [:]
  /// How many values stand for shared ones, and how many objects there are in all, in archives inside too.
  private var repeated = 0
  private var count: Int
  private var nested: KeyedNesting?
  /// How many bytes of text and data may still follow.
  private var bytesLeft: Int

  private struct ShapeKey: Hashable {
    let typeName: String
    let version: Int?
    let keys: [String]
  }

  init(_ table: KeyedTable, limits: ArchiveLimits, nested: KeyedNesting? = nil) {
    self.table = table
    self.limits = limits
    self.nested = nested
    count = table.count
    depthLimit = min(limits.depth, 512)
    bytesLeft = PropertyListReader.mostBytes(of: table.byteCount)
  }

  /// The values under the top keys, and in how many levels they stand.
  ///
  /// - Parameter depth: how many levels of plain values stand around the archive.
  mutating func run(inside depth: Int = 0) throws -> (values: Object, size: Int, height: Int) {
    do { return try walk(inside: depth) } catch {
      let path = frames.prefix(256).compactMap(\.nextComponent)
      throw path.reversed().reduce(ArchiveError.wrap(error)) { $0.prefixed(by: $1) }
    }
  }

  private mutating func walk(inside depth: Int) throws -> (values: Object, size: Int, height: Int) {
    // The frame of the top stands for no object.
    let rawKeys = table.top.map(\.key)
    let keys = Self.unescaped(rawKeys)
    topForm.note(keys, rawKeys, inPlace: table.top.map { table.isInPlace($0.value) })
    frames.append(Frame(place: -1, form: .top, keys: keys, children: table.top.map(\.value), depth: depth))
    while let place = frames.indices.last {
      if frames[place].values.count < frames[place].children.count {
        try visit(frames[place].children[frames[place].values.count], inside: frames[place].depth)
        continue
      }
      let frame = frames[place]
      if case .top = frame.form {
        let entries = zip(keys, frame.values).map { Object.Entry(key: $0, value: $1) }
        return (Object(entries), frame.size, frame.height)
      }
      let value = try finish(frame)
      frames.removeLast()
      open.remove(frame.place)
      add(value)
    }
    return (Object(), 1, 0)
  }

  /// What data holds that is a keyed archive itself; `nil` for other data.
  private mutating func openNested(_ data: Data, at place: Int, inside depth: Int) throws -> Made? {
    guard nested != nil else { return nil }
    if let known = try known(place, inside: depth) { return known }
    guard let table = try nested?.table(of: data, limits: limits), let nested else { return nil }
    var walk = KeyedWalk(table, limits: limits, nested: nested)
    walk.nested?.level += 1
    (walk.objects, walk.classesByName, walk.forms) = (objects, classesByName, forms)
    (walk.repeated, walk.count, walk.bytesLeft) = (repeated, count + table.count, bytesLeft)
    (objects, classesByName, forms) = ([], [:], [:])
    let found = try walk.run(inside: depth)
    (objects, classesByName, forms) = (walk.objects, walk.classesByName, walk.forms)
    let bytes = bytesLeft - walk.bytesLeft
    (repeated, count, bytesLeft) = (walk.repeated, walk.count, walk.bytesLeft)
    self.nested = walk.nested
    self.nested?.level -= 1
    let value = found.values["root"] ?? .object(found.values)
    let made = Made(value: value, size: found.size, height: found.height + 1, bytes: bytes)
    self.made[place] = made
    return made
  }

  /// Adds a value to the frame that waits for it.
  private mutating func add(_ made: Made) {
    let place = frames.count - 1
    frames[place].values.append(made.value)
    frames[place].size += made.size
    frames[place].bytes += made.bytes
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
      if let opened = try openNested(value, at: target.place, inside: depth) {
        add(opened)
      } else {
        try spend(value.count)
        add(Made(value: .data(value), bytes: value.count))
      }
    case .string(let value):
      guard value.utf8.count <= limits.stringLength else { throw tooLong(value.utf8.count) }
      try spend(value.utf8.count)
      add(Made(value: .string(value), bytes: value.utf8.count))
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
      let limit = max(1 << 20, 16 * count)
      guard !overflow, sum <= limit else {
        throw ArchiveError(.limitExceeded, "shared collections stand for more than \(limit) values", limit: .count)
      }
      repeated = sum
      try spend(made.bytes)
      return made
    }
    guard open.contains(place) else { return nil }
    return Made(value: .reference(number(for: place)))
  }

  /// Counts text and data, which many objects may share.
  private mutating func spend(_ count: Int) throws {
    bytesLeft -= count
    guard bytesLeft >= 0 else {
      throw ArchiveError(
        .limitExceeded, "shared text and data stand for many times the bytes of the archive", limit: .count)
    }
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
      for (key, _) in members where Self.isReserved(key) {
        throw ArchiveError(
          .damaged, "an object without a $class has the key \(key); keys of its own begin with $$", path: [.key(key)])
      }
      return try enter(place, .object, Self.unescaped(members.map(\.key)), members.map(\.value), inside: depth)
    }
    let found = try readClass(classNumber)
    let fields = members.filter { $0.key != "$class" }
    let rawKeys = fields.map(\.key)
    let keys = Self.unescaped(rawKeys)
    if let value = FoundationValue(found, keys: keys) {
      return try enter(place, .plain(value), keys, fields.map(\.value), inside: depth)
    }
    try spend(found.name.utf8.count)
    try enter(place, .record(number(for: place), found), keys, fields.map(\.value), inside: 0)
    if keys != rawKeys { frames[frames.count - 1].rawKeys = rawKeys }
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
    let keyBytes = keys?.reduce(0) { $0 + $1.utf8.count } ?? 0
    try spend(keyBytes)
    open.insert(place)
    frames.append(
      Frame(place: place, form: form, keys: keys, children: children, depth: depth, bytes: keyBytes))
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
      objects[number] = .record(try record(type, frame))
      return Made(value: .reference(number))
    case .array: value = .array(frame.values)
    case .set: value = .set(FoundationValue.unique(frame.values))
    case .top, .object:
      let entries = zip(frame.keys ?? [], frame.values).map { Object.Entry(key: $0, value: $1) }
      value = .object(Object(uniqueEntries: entries))
    case .plain(.data) where nestedIndex(frame) != nil: value = frame.values[nestedIndex(frame) ?? 0]
    case .plain(let plain): value = try plain.make(KeyedFields(keys: frame.keys ?? [], values: frame.values))
    }
    if let number = numbers[frame.place] {
      objects[number] = value
      return Made(value: .reference(number))
    }
    var made = Made(value: value, size: frame.size, height: frame.height + 1, bytes: frame.bytes)
    if case .plain(let plain) = frame.form {
      if plain.isCollection || nestedIndex(frame) != nil { made.height = frame.height } else { made.size = 1 }
    }
    self.made[frame.place] = made
    return made
  }

  /// The place of an archive that was opened inside of a data object.
  private func nestedIndex(_ frame: Frame) -> Int? {
    guard nested != nil, case .plain(.data) = frame.form else { return nil }
    return frame.keys?.firstIndex { $0 == "NS.data" || $0 == "NS.bytes" }.flatMap {
      if case .data = frame.values[$0] { nil } else { $0 }
    }
  }

  private mutating func record(_ type: KeyedClass, _ frame: Frame) throws -> Record {
    let keys = frame.keys ?? []
    var fields = try FoundationRecord.fields(of: type.name, KeyedFields(keys: keys, values: frame.values))
    let named = fields.keys
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
    // One object tells how all of its shape stand there.
    if forms.count < 4096 || forms[type.name] != nil {
      let rawKeys = frame.rawKeys ?? keys
      forms[type.name, default: KeyedForm()].note(
        FoundationRecord.parts(of: type.name).contains(where: named.contains) ? keys : named, rawKeys,
        inPlace: zip(frame.children, frame.values).map { $1.isNull ? nil : table.isInPlace($0) })
    }
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

  /// Whether only the archiver itself has a key: one `$` before anything but a number.
  private static func isReserved(_ key: String) -> Bool {
    guard key.hasPrefix("$"), !key.hasPrefix("$$") else { return false }
    return key.count == 1 || !key.dropFirst().allSatisfy { $0.isASCII && $0.isNumber }
  }

  private func tooLong(_ length: Int) -> ArchiveError {
    ArchiveError(
      .limitExceeded, "a string of \(length) bytes is longer than the limit of \(limits.stringLength)",
      limit: .stringLength)
  }
}
