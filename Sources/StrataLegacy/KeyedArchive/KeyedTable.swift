import Foundation
internal import StrataCore

/// The description of a class in a keyed archive.
struct KeyedClass: Sendable, Hashable {
  let name: String
  /// The name of the class, followed by the names of its superclasses.
  let chain: [String]
  /// The names of the fallback classes that a program without this class can use to decode its objects.
  let hints: [String]
}

/// Reads the object table of a keyed archive and resolves UIDs to the objects in the table.
struct KeyedTable: ~Escapable {
  let list: BinaryPropertyList
  /// The number of objects in `$objects`.
  let count: Int
  let archiver: String
  let version: Int
  let top: [(key: String, value: Int)]
  /// The offset in the file of the references to the values in ``top``.
  let topValues: Int
  /// The offset in the file of the references in the array `$objects`.
  private let objects: Int
  /// Whether the first object in `$objects` is the string `$null`, which represents nil.
  private let hasNull: Bool

  struct Target {
    /// The UID of the object. For an inlined object, which has no UID, a number greater than all UIDs.
    var identity: Int
    var offset: Int
    /// The first byte of the object.
    var marker: UInt8
    var isNull = false
  }

  @_lifetime(copy list)
  init(_ list: BinaryPropertyList, limits: ArchiveLimits) throws {
    let root = list.offset(of: list.root)
    guard list.marker(at: root) >> 4 == 0xD else { throw Self.notAnArchive("the outermost object is not a dictionary") }
    let members = try Self.members(at: root, of: list)
    func member(_ key: String) throws -> Int {
      guard let found = members.first(where: { $0.key == key }) else {
        throw Self.notAnArchive("the key \(key) is missing")
      }
      return found.value
    }
    let archiver = list.offset(of: try member("$archiver"))
    guard let name = Self.string(at: archiver, of: list) else {
      throw Self.notAnArchive("the value of $archiver is not a string")
    }
    let number = list.offset(of: try member("$version"))
    guard list.marker(at: number) >> 4 == 0x1, let version = list.integer(at: number).exactly(Int.self) else {
      throw Self.notAnArchive("the value of $version is not an integer")
    }
    guard version == KeyedArchive.knownVersion else {
      let code: ArchiveError.Code = version > KeyedArchive.knownVersion ? .newerFormat : .notAnArchive
      throw ArchiveError(
        code,
        "the keyed archive has format version \(version), but only version \(KeyedArchive.knownVersion) is supported",
        foundVersion: version, supportedVersion: KeyedArchive.knownVersion)
    }
    let array = list.offset(of: try member("$objects"))
    guard Self.isArray(list.marker(at: array)) else { throw Self.notAnArchive("the value of $objects is not an array") }
    let top = list.offset(of: try member("$top"))
    guard list.marker(at: top) >> 4 == 0xD else { throw Self.notAnArchive("the value of $top is not a dictionary") }
    (objects, count) = list.content(at: array)
    guard count <= limits.count else { throw Self.tooMany(limits.count) }
    self.archiver = name
    self.version = version
    self.top = try Self.members(at: top, of: list)
    topValues = list.content(at: top).start + self.top.count * list.referenceSize
    hasNull = count > 0 && Self.string(at: list.offset(of: list.reference(at: objects)), of: list) == "$null"
    self.list = list
  }

  /// The size of the archive, from which the work budget is computed: the number of objects in `$objects`, plus the number of bytes of text
  /// and data. Each object is counted once.
  var size: Int { count + list.textSize + list.dataSize }

  /// The number of possible values of ``Target/identity``. Every identity is smaller than this number, so an array with one element for
  /// each identity needs this size.
  var identityCount: Int { count + list.count }

  // MARK: References

  /// Returns the object with the given number in the property list. If that object is a UID, returns the object to which the UID
  /// refers.
  @inline(__always)
  func target(_ number: Int) throws -> Target {
    let offset = list.offset(of: number)
    let target = Target(identity: count &+ number, offset: offset, marker: list.marker(at: offset))
    return target.marker & 0xF0 == 0x80 || target.marker == 0xD1 ? try follow(target) : target
  }

  @inline(__always)
  private func follow(_ target: Target) throws -> Target {
    var target = target
    var hops = 0
    while let uid = uid(target) {
      guard uid < UInt64(count) else {
        throw ArchiveError(
          .damaged, "a reference names object \(uid), but the archive has only \(count) objects")
      }
      target.identity = Int(uid)
      target.offset = list.offset(of: list.reference(at: objects &+ Int(uid) &* list.referenceSize))
      target.marker = list.marker(at: target.offset)
      hops &+= 1
      guard hops <= 64 else { throw ArchiveError(.damaged, "references form a cycle and never reach an object") }
    }
    target.isNull = hasNull && target.identity == 0
    return target
  }

  /// Returns the number of a UID object, or `nil` if the object is not a UID. In an archive that was converted from XML, a UID
  /// can be a dictionary with one key.
  @inline(__always)
  private func uid(_ target: Target) -> UInt64? {
    if target.marker >> 4 == 0x8 {
      return list.unsigned(at: target.offset &+ 1, size: Int(target.marker & 0xF) &+ 1)
    }
    return target.marker == 0xD1 ? uid(ofDictionary: target.offset) : nil
  }

  @inline(never)
  private func uid(ofDictionary offset: Int) -> UInt64? {
    let start = list.content(at: offset).start
    let value = list.offset(of: list.reference(at: start + list.referenceSize))
    guard list.marker(at: value) >> 4 == 0x1,
      Self.string(at: list.offset(of: list.reference(at: start)), of: list) == "CF$UID"
    else { return nil }
    return list.integer(at: value).exactly(UInt64.self)
  }

  /// Returns whether the object with the given number in the property list is the value itself and not a UID.
  func isInlined(_ number: Int) -> Bool {
    let offset = list.offset(of: number)
    return uid(Target(identity: 0, offset: offset, marker: list.marker(at: offset))) == nil
  }

  // MARK: Objects

  static func isArray(_ marker: UInt8) -> Bool { marker >> 4 == 0xA || marker >> 4 == 0xB }

  /// Returns the string at an offset in the file, or `nil` if the object at that offset is not a string.
  static func string(at offset: Int, of list: borrowing BinaryPropertyList) -> String? {
    let type = list.marker(at: offset) >> 4
    return type == 0x5 || type == 0x6 ? list.string(at: offset) : nil
  }

  /// Returns the keys of a dictionary, each with the index of its value in the property list's object table.
  ///
  /// - Throws: `ArchiveError` with the code `damaged` if a key is not a string or is a duplicate.
  private static func members(
    at offset: Int, of list: borrowing BinaryPropertyList
  ) throws -> [(key: String, value: Int)] {
    let (start, count) = list.content(at: offset)
    var seen = Set<ExactKey>(minimumCapacity: count)
    var members: [(key: String, value: Int)] = []
    members.reserveCapacity(count)
    for index in 0..<count {
      guard let key = string(at: list.offset(of: list.reference(at: start + index * list.referenceSize)), of: list)
      else { throw keyIsNoString }
      guard seen.insert(ExactKey(key)).inserted else { throw duplicate(key) }
      members.append((key, list.reference(at: start + (count + index) * list.referenceSize)))
    }
    return members
  }

  /// The maximum number of class names in one list, which is many times more than any real class needs.
  private static let mostNames = 64

  /// Reads the description of a class, which is the value of a `$class` key.
  func readClass(_ target: Target) throws -> KeyedClass {
    guard target.marker >> 4 == 0xD else { throw ArchiveError(.damaged, "a class is not a dictionary") }
    let members = try Self.members(at: target.offset, of: list)
    func member(_ key: String) throws -> Target? {
      try members.first { $0.key == key }.map { try self.target($0.value) }
    }
    guard let name = try member("$classname").flatMap({ Self.string(at: $0.offset, of: list) }), !name.isEmpty else {
      throw ArchiveError(.damaged, "a class has no name: “$classname” must be a string")
    }
    func names(_ key: String) throws -> [String] {
      guard let array = try member(key) else { return [] }
      guard Self.isArray(array.marker) else {
        throw ArchiveError(.damaged, "the value of the key \(key) in a class is not an array")
      }
      let (start, count) = list.content(at: array.offset)
      // The number of names is limited, because each class keeps its own copy of the names. In a hostile file, many classes could
      // refer to the same long array.
      guard count <= Self.mostNames else {
        throw ArchiveError(
          .limitExceeded,
          "the value of the key \(key) in a class has \(count) names, which exceeds the limit of \(Self.mostNames) "
            + "names",
          limit: .count)
      }
      return try (0..<count).map { index in
        let element = try self.target(list.reference(at: start + index * list.referenceSize))
        guard let name = Self.string(at: element.offset, of: list) else {
          throw ArchiveError(
            .damaged, "the value of the key \(key) in a class contains an element that is not a string")
        }
        return name
      }
    }
    let chain = try names("$classes")
    return KeyedClass(name: name, chain: chain.isEmpty ? [name] : chain, hints: try names("$classhints"))
  }

  // MARK: Errors

  static var keyIsNoString: ArchiveError { ArchiveError(.damaged, "a key of a dictionary is not a string") }

  static func duplicate(_ key: String) -> ArchiveError {
    ArchiveError(.damaged, "a dictionary has a duplicate key", path: [.key(key)])
  }

  static func tooMany(_ limit: Int) -> ArchiveError {
    ArchiveError(
      .limitExceeded, "a collection has more elements than the limit of \(limit) elements", limit: .count)
  }

  static func notAnArchive(_ reason: String) -> ArchiveError {
    ArchiveError(.notAnArchive, "the property list is not a keyed archive: \(reason)")
  }
}
