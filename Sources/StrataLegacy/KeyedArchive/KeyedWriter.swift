import Foundation
internal import StrataCore

/// Writes a graph as a keyed archive. Each object of the graph, and each value that is written as an object of a
/// Foundation class, gets its UID at its first occurrence.
///
/// Referenced objects are kept in a list until they are written, so that a long linked list does not overflow the call
/// stack. Inlined values and records can be nested up to a limit.
struct KeyedWriter {
  private let graph: [ArchiveValue]
  private let classes: [String: KeyedClass]
  private let encodings: [String: KeyedEncoding]
  private let options: KeyedWriting
  /// The type names of records that are written without their nil fields, as Mantle writes them.
  let skipsNull: Set<String>

  private var objects = KeyedObjects()
  /// The UIDs of the graph's objects that have occurred so far, by object number.
  private var uids: [Int: UInt64] = [:]
  private var waiting: [(number: Int, uid: UInt64)] = []
  private var classUIDs: [KeyedClass: UInt64] = [:]
  private var nullUID: UInt64?
  private var output = OutputLimit(ArchiveLimits())
  /// An estimate of the number of bytes written so far, for checking the output limit.
  private var written = 0
  private var root = ArchiveValue.null

  init(
    _ graph: [ArchiveValue], classes: [String: KeyedClass] = [:], encodings: [String: KeyedEncoding] = [:],
    options: KeyedWriting,
    skipsNull: Set<String> = []
  ) {
    self.graph = graph
    self.classes = classes
    self.encodings = encodings
    self.options = options
    self.skipsNull = skipsNull
  }

  /// Returns the property list of an archive with the given values under its top keys.
  mutating func write(_ top: [ArchiveObject.Entry], _ encoding: KeyedEncoding, archiver: String) throws -> PropertyList
  {
    root = .graph(ObjectGraph(objects: graph, root: .object(ArchiveObject(uniqueEntries: top))))
    var members: [(key: String, value: Int)] = []
    for entry in top {
      let key = encoding.rawKey(of: entry.key) ?? Self.escaped(entry.key)
      do { members.append((key, try field(entry.value, encoding.isInlined(key) ?? false, depth: 0))) } catch {
        throw ArchiveError.at(.key(entry.key), error)
      }
    }
    var next = 0
    while next < waiting.count {
      let (number, uid) = waiting[next]
      next += 1
      do { try set(uid, to: graph[number], depth: 0) } catch {
        let top = ArchiveValue.object(ArchiveObject(uniqueEntries: top))
        throw ObjectGraph(objects: graph, root: top).located(error, at: number)
      }
    }
    return objects.finish(top: members, archiver: archiver)
  }

  // MARK: Fields

  /// Adds the value of a field to the property list, either inlined or as a UID that refers to a separate object.
  /// Returns the property list number of the inlined value or the UID.
  private mutating func field(_ value: ArchiveValue, _ isInlined: Bool, depth: Int) throws -> Int {
    if isInlined, let object = try inlined(value, depth: depth) { return objects.add(object) }
    return objects.add(.uid(value.isNull ? 0 : try uid(of: value, depth: depth)))
  }

  /// Returns a value as an inlined object of the property list, or `nil` if the value can only be written as a separate
  /// object.
  private mutating func inlined(_ value: ArchiveValue, depth: Int) throws -> PropertyList.Object? {
    switch value {
    case .array(let elements): return .array(try self.elements(of: elements, depth: depth + 1))
    case .object(let object):
      try check(depth + 1)
      var members: [(key: String, value: Int)] = []
      for entry in object.entries {
        do { members.append((Self.escaped(entry.key), try field(entry.value, false, depth: depth + 1))) } catch {
          throw ArchiveError.at(.key(entry.key), error)
        }
      }
      return objects.dictionary(members)
    case .date(let date): return .date(date)
    default: return try scalar(value)
    }
  }

  /// Returns a value as an object of the property list, or `nil` if property lists do not support the value directly.
  private func scalar(_ value: ArchiveValue) throws -> PropertyList.Object? {
    switch value {
    case .bool(let value): .bool(value)
    case .int(let value): .integer(WideInteger(value))
    case .uint(let value): .integer(WideInteger(value))
    case .wideInteger(let value):
      if value.twosComplement != nil {
        .integer(value)
      } else {
        throw ArchiveError(.notEncodable, "an integer has more than 128 bits, which is the maximum in property lists")
      }
    case .float(let value): .float(value)
    case .double(let value): .double(value)
    case .string(let value): .string(value)
    case .data(let value): .data(value)
    case .number:
      throw ArchiveError(
        .notEncodable,
        "a number has more digits than Foundation's number types can store; use a decimal, a double or a string")
    default: nil
    }
  }

  /// Writes a value as a separate object and returns the object's UID. Null becomes `NSNull`, because Foundation's
  /// collections cannot hold nil.
  private mutating func uid(of value: ArchiveValue, depth: Int) throws -> UInt64 {
    written &+= 64 &+ value.textByteCount
    try output.check(written, of: root)
    switch value {
    case .reference(let number):
      if let uid = uids[number] { return uid }
      guard graph.indices.contains(number) else {
        throw ArchiveError(.notEncodable, "a reference names an object that is not in the graph")
      }
      switch graph[number] {
      case .reference: throw ArchiveError(.notEncodable, "an entry of a graph is a reference instead of an object")
      case .null: return try uid(of: .null, depth: depth)
      default: break
      }
      let uid = objects.reserve()
      uids[number] = uid
      waiting.append((number, uid))
      return uid
    case .null:
      if let nullUID { return nullUID }
      let uid = objects.reserve()
      nullUID = uid
      try set(uid, to: value, depth: depth)
      return uid
    // The string `$null` is written as an `NSString` object, because some readers interpret the plain string as nil.
    case .string("$null"): break
    default: if let object = try scalar(value) { return objects.append(object) }
    }
    let uid = objects.reserve()
    var depth = depth
    if case .record = value { depth += 1 }
    try set(uid, to: value, depth: depth)
    return uid
  }

  private mutating func elements(of values: [ArchiveValue], names: [String]? = nil, depth: Int) throws -> [Int] {
    try check(depth)
    var numbers: [Int] = []
    numbers.reserveCapacity(values.count)
    for (index, value) in values.enumerated() {
      do { numbers.append(objects.add(.uid(try uid(of: value, depth: depth)))) } catch {
        throw ArchiveError.at(names.map { .key($0[index]) } ?? .index(index), error)
      }
    }
    return numbers
  }

  private static let depthLimit = 512

  private func check(_ depth: Int) throws {
    guard depth <= Self.depthLimit else { throw ArchiveError.tooDeep(Self.depthLimit) }
  }

  // MARK: Objects

  /// Writes a value as a separate object, with a UID that has already been reserved.
  private mutating func set(_ uid: UInt64, to value: ArchiveValue, depth: Int) throws {
    switch value {
    case .record(let record): try set(uid, to: record, depth: depth)
    case .graph:
      throw ArchiveError(
        .notEncodable, "a graph is inside another graph, which is not supported; move its objects to the outer graph")
    default:
      if let encoding = FoundationValue.encoding(of: value) { return try set(uid, to: encoding, depth: depth) }
      guard let object = try scalar(value) else {
        throw ArchiveError(.notEncodable, "a keyed archive cannot store a value of kind \(value.kind)")
      }
      objects.set(uid, to: object)
    }
  }

  /// Writes an object of a Foundation class, with a UID that has already been reserved.
  private mutating func set(_ uid: UInt64, to encoding: FoundationEncoding, depth: Int) throws {
    var members: [(key: String, value: Int)] = []
    for (key, part) in encoding.parts {
      switch part {
      case .inlined(let object): members.append((key, objects.add(object)))
      case .object(nil): members.append((key, objects.add(.uid(0))))
      case .object(let value?): members.append((key, objects.add(.uid(try self.uid(of: value, depth: depth + 1)))))
      case .list(let values, let names):
        members.append((key, objects.add(.array(try elements(of: values, names: names, depth: depth + 1)))))
      }
    }
    let mutable = options.usesMutableCollections ? encoding.mutable : nil
    let chain = (mutable.map { [$0] } ?? []) + encoding.chain
    set(uid, KeyedClass(name: chain[0], chain: chain, hints: []), members)
  }

  private mutating func set(_ uid: UInt64, _ type: KeyedClass, _ members: [(key: String, value: Int)]) {
    let type = objects.add(.uid(self.uid(of: type)))
    objects.set(uid, to: objects.dictionary([("$class", type)] + members))
  }

  /// Writes a record as an object of its class, with a UID that has already been reserved.
  private mutating func set(_ uid: UInt64, to record: ModelRecord, depth: Int) throws {
    try check(depth)
    let name = record.typeName
    let isFoundations = FoundationRecord.isKnown(name)
    let encoding = encodings[name]
    var members: [(key: String, value: Int)] = []
    var keys = Set<ExactKey>()
    func add(_ key: String, _ rawKey: String, _ value: ArchiveValue) throws {
      guard keys.insert(ExactKey(rawKey)).inserted else {
        throw ArchiveError(
          .notEncodable, "two fields have the key \(rawKey) in a keyed archive; give one of them a different key",
          path: [.key(key)])
      }
      if value.isNull, skipsNull.contains(name) { return }
      let isInlined = encoding?.isInlined(rawKey) ?? inlines(value, isFoundations && !rawKey.hasPrefix("NS.rangeval"))
      do { members.append((rawKey, try field(value, isInlined, depth: depth))) } catch {
        throw ArchiveError.at(.key(key), error)
      }
    }
    if let version = record.modelVersion { try add(KeyedLayout.versionKey, KeyedLayout.versionKey, .integer(version)) }
    let restored = try FoundationRecord.keyed(record)
    for (key, value) in restored.raw { try add(key, key, value) }
    for (key, value) in restored.others {
      let rawKey = encoding?.rawKey(of: key) ?? FoundationRecord.rawKey(of: key, in: name) ?? Self.escaped(key)
      try add(key, rawKey, value)
    }
    set(uid, try type(of: record), members)
  }

  private func inlines(_ value: ArchiveValue, _ isFoundations: Bool) -> Bool {
    switch value {
    case .bool, .int, .uint, .wideInteger, .float, .double: isFoundations || options.numbers == .inPlace
    default: false
    }
  }

  // MARK: Classes

  private func type(of record: ModelRecord) throws -> KeyedClass {
    let name = record.typeName
    if let chain = options.classes[name] {
      guard let first = chain.first, !first.isEmpty else {
        throw ArchiveError(
          .notEncodable, "a class has no name; specify the names of the class and its superclasses", typeName: name)
      }
      return KeyedClass(name: first, chain: chain, hints: [])
    }
    if let known = classes[name] { return known }
    let chain = [name] + record.superclasses.map(\.typeName) + options.baseClasses
    return KeyedClass(name: name, chain: chain, hints: [])
  }

  /// Returns the UID of a class. The description of each class is written only once.
  private mutating func uid(of type: KeyedClass) -> UInt64 {
    if let uid = classUIDs[type] { return uid }
    var members = [
      (key: "$classname", value: objects.add(.string(type.name))), ("$classes", names(type.chain)),
    ]
    if !type.hints.isEmpty { members.append(("$classhints", names(type.hints))) }
    let uid = objects.reserve()
    objects.set(uid, to: objects.dictionary(members))
    classUIDs[type] = uid
    return uid
  }

  private mutating func names(_ names: [String]) -> Int {
    var numbers: [Int] = []
    for name in names { numbers.append(objects.add(.string(name))) }
    return objects.add(.array(numbers))
  }

  /// Escapes a key that begins with `$` by adding another `$`, because keys with a single `$` are reserved for the
  /// archiver.
  private static func escaped(_ key: String) -> String { key.hasPrefix("$") ? "$" + key : key }
}

extension ArchiveValue {
  /// The number of bytes of text or data in the value itself, without nested values.
  fileprivate var textByteCount: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .data(let data): data.count
    default: 0
    }
  }
}
