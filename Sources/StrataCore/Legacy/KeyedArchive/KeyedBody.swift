import Foundation

/// The body of an archive, written straight from the bytes of a keyed archive: the fast path to plain models.
///
/// There is no table of objects, no graph and no record in between; models read the body as they read any other. What is
/// not everyday (XML, classes with identity, steps, hooks, damage) throws ``BinaryObjects/FastPathUnavailable``, and the slow path
/// over ``KeyedArchive`` does the work and tells what is wrong. What this path gives, the slow one gives too.
struct KeyedBody: ~Copyable, ~Escapable {
  typealias FastPathUnavailable = BinaryObjects.FastPathUnavailable

  let objects: BinaryObjects
  let limits: ArchiveLimits
  /// What finds duplicates in values of Foundation's classes.
  let digests: ValueDigests
  let models: KeyedModels
  var writer: ArchiveWriter
  var keys = KeyedKeys()
  var classes: [KeyedBodyClass] = []
  var classPlaces: [Int: Int] = [:]
  var lastClass = (number: -1, place: 0)
  /// The models by their numbers, so that nothing is counted where it is only looked at.
  private var plans: [KeyedModelPlan]
  /// What is known of each object of the property list: 0 where it was not met, 1 where it was, above that a key's number.
  var marks: [Int32]
  /// How many objects were met, and how many bytes they have.
  private var metCount = 0
  private var metSize = 0
  /// How many references may still be followed, and how many bytes be written: shared objects stand once for each
  /// reference, which could multiply without end.
  var rest: Int
  private let mostBytes: Int
  var depth = 0
  private var uids: (start: Int, count: Int) = (0, 0)
  private var text: [UInt8] = []
  /// The keys of the objects that are being written, and the values of their fields, each after those around it.
  var openKeys: [Int32] = []
  private var openFields: [Target] = []
  private var upgrades: [(schema: ModelSchema, version: Int, count: Int)] = []
  private var missing: [ModelSchema] = []

  /// What a reference leads to.
  struct Target {
    var number = -1
    var offset = 0
    var marker: UInt8 = 0
    /// Whether it is nil; where there is no number it is absent.
    var isNull = true
  }

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan, _ catalog: SchemaCatalog, limits: ArchiveLimits) throws {
    let objects = try BinaryObjects(bytes, limits: limits)
    let models = try KeyedModels(catalog)
    // The slow path counts levels in another way, which only matters where few are allowed.
    guard limits.depth >= Self.mostLevels else { throw FastPathUnavailable() }
    self.objects = objects
    self.limits = limits
    digests = ValueDigests(WorkBudget(limits, fileSize: bytes.byteCount))
    self.models = models
    let schemas = catalog.schemas
    plans = schemas.map { schema in
      KeyedModelPlan(schema) { inner in schemas.firstIndex { $0 === inner } ?? -1 }
    }
    writer = ArchiveWriter(limits: limits)
    marks = [Int32](repeating: 0, count: objects.count)
    rest = 4 * bytes.byteCount
    mostBytes = 4 * bytes.byteCount + 65536
  }

  private static let mostLevels = 128

  /// Writes what stands under a top key.
  ///
  /// - Parameter schema: the model that the value is or holds.
  mutating func write(_ key: String, _ schema: ModelSchema?) throws {
    let model = if let schema { number(of: schema) } else { -1 }
    var members: [String: Int] = [:]
    for (key, value) in try entries(at: objects.root) { members[key] = value }
    guard members.count == 4, let archiver = members["$archiver"], let version = members["$version"],
      let top = members["$top"], let list = members["$objects"]
    else { throw FastPathUnavailable() }
    _ = try name(archiver)
    guard try integer(at: target(version)) == Int64(KeyedArchive.knownVersion) else { throw FastPathUnavailable() }
    let offset = try objects.offset(of: list)
    guard objects.marker(at: offset) >> 4 == 0xA else { throw FastPathUnavailable() }
    uids = try objects.content(at: offset, width: objects.referenceSize)
    guard uids.count > 0, uids.count <= limits.count else { throw FastPathUnavailable() }
    meet(list, uids.start - offset + uids.count * objects.referenceSize)
    // Those that nothing leads to must be there, too.
    for place in 0..<uids.count { _ = try objects.reference(at: uids.start &+ place &* objects.referenceSize) }
    guard try name(objects.reference(at: uids.start)) == "$null" else { throw FastPathUnavailable() }
    let topEntries = try entries(at: top)
    guard topEntries.count == 1, ExactKey.isSame(topEntries[0].key, key), !key.hasPrefix("$") else {
      throw FastPathUnavailable()
    }
    try write(target(topEntries[0].value), .other, model)
    if metCount < objects.count { try checkOthers() }
    // Objects that lie over each other are for the slow path.
    guard metSize <= objects.bytes.byteCount else { throw FastPathUnavailable() }
  }

  /// The number of a model; -1 where it is none of them.
  func number(of schema: ModelSchema) -> Int { plans.firstIndex { $0.schema === schema } ?? -1 }

  /// What the models will not tell, since all records that were written have today's version.
  var report: DecodingReport {
    var report = DecodingReport()
    for schema in missing { report.addMissingVersion(of: schema.name) }
    for upgrade in upgrades {
      report.addUpgrade(
        of: upgrade.schema.name, from: upgrade.version, to: upgrade.schema.modelVersion, count: upgrade.count)
    }
    return report
  }

  /// Calls `body` with the bytes written.
  borrowing func withBytes<R>(_ body: (RawSpan) throws -> R) rethrows -> R { try writer.buffer.withBytes(body) }

  // MARK: Objects

  @inline(__always)
  mutating func meet(_ number: Int, _ size: Int) {
    guard marks[number] == 0 else { return }
    marks[number] = 1
    metCount &+= 1
    metSize &+= size
  }

  @inline(__always)
  mutating func target(_ number: Int) throws -> Target {
    let offset = try objects.offset(of: number)
    let marker = objects.marker(at: offset)
    guard marker >> 4 == 0x8 else {
      if marker == 0 { meet(number, 1) }
      return Target(number: number, offset: offset, marker: marker, isNull: marker == 0)
    }
    let size = Int(marker & 0xF) &+ 1
    guard size <= 8 else { throw FastPathUnavailable() }
    try objects.check(size, at: offset)
    meet(number, size &+ 1)
    let uid = objects.unsigned(at: offset &+ 1, size: size)
    guard uid < UInt64(uids.count) else { throw FastPathUnavailable() }
    let place = try objects.reference(at: uids.start &+ Int(uid) &* objects.referenceSize)
    let found = try objects.offset(of: place)
    let foundMarker = objects.marker(at: found)
    guard foundMarker >> 4 != 0x8, foundMarker != 0 else { throw FastPathUnavailable() }
    return Target(number: place, offset: found, marker: foundMarker, isNull: uid == 0)
  }

  /// The number of the key that an object is.
  @inline(__always)
  private mutating func key(_ number: Int) throws -> Int32 {
    let mark = marks[number]
    if mark > 1 { return mark &- 2 }
    let found = try keys.number(at: objects.offset(of: number), in: objects)
    if mark == 0 {
      metCount &+= 1
      metSize &+= found.size
    }
    let key = Int32(truncatingIfNeeded: found.number)
    marks[number] = key &+ 2
    return key
  }

  /// The keys and values of a dictionary that comes once.
  mutating func entries(at number: Int) throws -> [(key: String, value: Int)] {
    let offset = try objects.offset(of: number)
    guard objects.marker(at: offset) >> 4 == 0xD else { throw FastPathUnavailable() }
    let width = objects.referenceSize
    let (start, count) = try objects.content(at: offset, width: 2 * width)
    guard count <= 16 else { throw FastPathUnavailable() }
    meet(number, start - offset + 2 * count * width)
    var entries: [(key: String, value: Int)] = []
    for place in 0..<count {
      let number = try key(objects.reference(at: start + place * width))
      let key = keys.texts[Int(number)]
      guard !entries.contains(where: { ExactKey.isSame($0.key, key) }) else { throw FastPathUnavailable() }
      entries.append((key, try objects.reference(at: start + (count + place) * width)))
    }
    return entries
  }

  /// The text that an object is, in its place or elsewhere.
  mutating func name(_ number: Int) throws -> String {
    let target = try target(number)
    guard !target.isNull else { throw FastPathUnavailable() }
    return try string(at: target)
  }

  mutating func string(at target: Target) throws -> String {
    let isWide = target.marker >> 4 == 0x6
    let (start, count) = try objects.content(at: target.offset, width: isWide ? 2 : 1)
    guard count <= limits.stringLength else { throw FastPathUnavailable() }
    meet(target.number, start - target.offset + (isWide ? 2 * count : count))
    return try objects.string(at: target.offset)
  }

  @inline(__always)
  mutating func integer(at target: Target) throws -> Int64 {
    guard target.marker & 0xFC == 0x10 else { throw FastPathUnavailable() }
    let size = 1 &<< Int(target.marker & 0x3)
    try objects.check(size, at: target.offset)
    meet(target.number, size &+ 1)
    return Int64(bitPattern: objects.unsigned(at: target.offset &+ 1, size: size))
  }

  @inline(__always)
  mutating func double(at target: Target) throws -> Double {
    guard target.marker == 0x23 else { throw FastPathUnavailable() }
    try objects.check(8, at: target.offset)
    meet(target.number, 9)
    return Double(bitPattern: objects.word(at: target.offset &+ 1))
  }

  // MARK: Values

  mutating func write(
    _ target: Target, _ number: KeyedModelPlan.Number, _ model: Int
  ) throws {
    guard writer.buffer.count <= mostBytes else { throw FastPathUnavailable() }
    if target.isNull { return writer.writeNull() }
    switch target.marker >> 4 {
    case 0x0:
      guard target.marker == 0x08 || target.marker == 0x09 else { throw FastPathUnavailable() }
      meet(target.number, 1)
      let value = target.marker == 0x09
      switch number {
      case .integer: writer.write(value ? 1 : 0 as Int64)
      case .double: writer.write(value ? 1 : 0 as Double)
      default: writer.write(value)
      }
    case 0x1:
      let value = try integer(at: target)
      if number == .boolean, value == 0 || value == 1 { return writer.write(value == 1) }
      writer.write(value)
    case 0x2 where target.marker == 0x22:
      try objects.check(4, at: target.offset)
      meet(target.number, 5)
      let value = Float(bitPattern: UInt32(objects.unsigned(at: target.offset &+ 1, size: 4)))
      guard number == .other || number == .double else { throw FastPathUnavailable() }
      writer.write(value)
    case 0x2:
      let value = try double(at: target)
      switch number {
      case .integer:
        guard let whole = Int64(exactly: value) else { throw FastPathUnavailable() }
        writer.write(whole)
      case .boolean:
        guard value == 0 || value == 1 else { throw FastPathUnavailable() }
        writer.write(value == 1)
      default: writer.write(value)
      }
    case 0x3:
      guard target.marker == 0x33 else { throw FastPathUnavailable() }
      try objects.check(8, at: target.offset)
      meet(target.number, 9)
      let seconds = Double(bitPattern: objects.word(at: target.offset &+ 1))
      guard seconds.isFinite else { throw FastPathUnavailable() }
      writer.write(Date(timeIntervalSinceReferenceDate: seconds))
    case 0x4:
      let (start, count) = try bytes(of: target)
      writer.write(bytes: objects.bytes.extracting(start..<start &+ count))
    case 0x5, 0x6: try writeText(target)
    case 0xA: try writeArray(target, number, model)
    case 0xD: try writeObject(target, number, model)
    default: throw FastPathUnavailable()
    }
  }

  @inline(__always)
  mutating func bytes(of target: Target) throws -> (start: Int, count: Int) {
    let (start, count) = try objects.content(at: target.offset, width: 1)
    guard count <= limits.stringLength else { throw FastPathUnavailable() }
    meet(target.number, start &- target.offset &+ count)
    return (start, count)
  }

  @inline(__always)
  mutating func writeText(_ target: Target) throws {
    if target.marker >> 4 == 0x5 {
      let (start, count) = try bytes(of: target)
      return writer.write(text: objects.bytes.extracting(start..<start &+ count))
    }
    guard target.marker >> 4 == 0x6 else { throw FastPathUnavailable() }
    let (start, count) = try objects.content(at: target.offset, width: 2)
    guard count <= limits.stringLength / 3 else { throw FastPathUnavailable() }
    meet(target.number, start &- target.offset &+ 2 &* count)
    text.removeAll(keepingCapacity: true)
    try objects.appendWideText(at: target.offset, to: &text)
    writer.write(text: text)
  }

  private mutating func writeArray(
    _ target: Target, _ number: KeyedModelPlan.Number, _ model: Int
  ) throws {
    guard target.marker >> 4 == 0xA else { throw FastPathUnavailable() }
    let width = objects.referenceSize
    let (start, count) = try objects.content(at: target.offset, width: width)
    meet(target.number, start &- target.offset &+ count &* width)
    try follow(count)
    writer.beginArray(count: count)
    for place in 0..<count {
      try write(self.target(objects.reference(at: start &+ place &* width)), .other, model)
    }
    depth &-= 1
  }

  /// Goes one level deeper, to so many references.
  @inline(__always)
  mutating func follow(_ count: Int) throws {
    rest &-= count &+ 1
    depth &+= 1
    guard count <= limits.count, rest >= 0, depth <= Self.mostLevels else { throw FastPathUnavailable() }
  }

  // MARK: Objects of classes

  private mutating func writeObject(
    _ target: Target, _ number: KeyedModelPlan.Number, _ model: Int
  ) throws {
    let (type, count, values, base) = try open(target)
    switch type {
    case .model(let plan):
      guard plan == model, plan >= 0 else { throw FastPathUnavailable() }
      try write(plan, count, values, base)
    case .date:
      let date = try double(at: self.target(value(.time, of: 2, count, values, base)))
      writer.write(Date(timeIntervalSinceReferenceDate: date))
    case .set:
      // Duplicates are refused by who reads it, and left to the slow path so.
      guard number == .set else { throw FastPathUnavailable() }
      writer.writeTag(CBOR.Tag.set)
      try writeArray(self.target(value(.objects, of: 2, count, values, base)), .other, model)
    case .array: try writeArray(self.target(value(.objects, of: 2, count, values, base)), .other, model)
    case .string: try writeText(self.target(value(.string, of: 2, count, values, base)))
    case .url:
      guard try self.target(value(.base, of: 3, count, values, base)).isNull else { throw FastPathUnavailable() }
      let address = try self.target(value(.relative, of: 3, count, values, base))
      guard address.marker >> 4 == 0x5, !address.isNull else { throw FastPathUnavailable() }
      let (start, length) = try bytes(of: address)
      // What Foundation takes for no address stays text, which the slow path finds out.
      guard length > 0, objects.marker(at: start) != UInt8(ascii: ":") else { throw FastPathUnavailable() }
      writer.write(url: objects.bytes.extracting(start..<start &+ length))
    case .dictionary:
      let names = try self.target(value(.keys, of: 3, count, values, base))
      try writeMap(names, self.target(value(.objects, of: 3, count, values, base)), model)
    case .other(let plain): try write(plain, count, values, base)
    }
    openKeys.removeSubrange(base...)
    depth &-= 1
  }

  /// Goes into an object of a class, whose keys stand among the open ones then.
  @inline(__always)
  mutating func open(
    _ target: Target
  ) throws -> (type: KeyedBodyClass, count: Int, values: Int, base: Int) {
    let width = objects.referenceSize
    let (start, count) = try objects.content(at: target.offset, width: 2 &* width)
    let values = start &+ count &* width
    meet(target.number, values &- target.offset &+ count &* width)
    try follow(count)
    let base = openKeys.count
    var classPlace = -1
    for place in 0..<count {
      let key = try key(objects.reference(at: start &+ place &* width))
      if key == KeyedKeys.Known.type.rawValue { classPlace = place }
      openKeys.append(key)
    }
    guard classPlace >= 0 else { throw FastPathUnavailable() }
    let type = try type(at: objects.reference(at: values &+ classPlace &* width))
    return (type, count, values, base)
  }

  /// The value under a known key of an object with so many entries.
  @inline(__always)
  func value(
    _ key: KeyedKeys.Known, of expected: Int, _ count: Int, _ values: Int, _ base: Int
  ) throws -> Int {
    guard count == expected else { throw FastPathUnavailable() }
    for place in 0..<count where openKeys[base &+ place] == key.rawValue {
      return try objects.reference(at: values &+ place &* objects.referenceSize)
    }
    throw FastPathUnavailable()
  }

  /// Writes a record of a model.
  private mutating func write(_ model: Int, _ count: Int, _ values: Int, _ base: Int) throws {
    if plans[model].parts.count < keys.texts.count { plans[model].addParts(keys) }
    let (fields, parts) = (plans[model].fields, plans[model].parts)
    let first = openFields.count
    for _ in fields { openFields.append(Target()) }
    var (classCount, others) = (0, 0)
    var version: Int64?
    for place in 0..<count {
      let value = try objects.reference(at: values &+ place &* objects.referenceSize)
      switch parts[Int(openKeys[base &+ place])] {
      case .field(let field):
        guard openFields[first &+ field].number < 0 else { throw FastPathUnavailable() }
        openFields[first &+ field] = try target(value)
      case .version:
        guard version == nil else { throw FastPathUnavailable() }
        version = try integer(at: target(value))
      case .type: classCount += 1
      case .other:
        others += 1
        guard others <= 16, !openKeys[base..<base + place].contains(openKeys[base + place]) else {
          throw FastPathUnavailable()
        }
        try pass(target(value))
      case .unavailable: throw FastPathUnavailable()
      }
    }
    guard classCount == 1 else { throw FastPathUnavailable() }
    try note(version, model)
    var present: UInt64 = 0
    for place in fields.indices {
      let target = openFields[first &+ place]
      if target.number >= 0, !target.isNull || fields[place].takesNull { present |= 1 &<< UInt64(place) }
    }
    if present == ~0 &>> UInt64(64 &- fields.count) {
      try writer.beginRecord(plans[model].schema)
    } else {
      try writer.beginRecord(plans[model].shape(present))
    }
    for place in fields.indices where present &>> UInt64(place) & 1 == 1 {
      let field = fields[place]
      try write(openFields[first &+ place], field.number, field.model)
    }
    writer.leave()
    openFields.removeSubrange(first...)
  }

  /// Notes an object of an older version, which has today's fields where no steps lead there.
  @inline(__always)
  private mutating func note(_ version: Int64?, _ model: Int) throws {
    let found = Int(version ?? 0)
    guard version == nil || found != plans[model].schema.modelVersion else { return }
    if let upgrade = plans[model].upgrade, upgrade.version == found, version != nil || plans[model].misses {
      upgrades[upgrade.place].count &+= 1
      return
    }
    let schema = plans[model].schema
    guard schema.migration == nil, found >= 0, found <= schema.modelVersion else { throw FastPathUnavailable() }
    if version == nil, !plans[model].misses {
      plans[model].misses = true
      missing.append(schema)
    }
    guard found < schema.modelVersion else { return }
    if let upgrade = plans[model].upgrade, upgrade.version == found {
      upgrades[upgrade.place].count &+= 1
      return
    }
    plans[model].upgrade = (found, upgrades.count)
    upgrades.append((schema, found, 1))
  }
}
