/// A class as a keyed archive describes it.
struct KeyedClass: Sendable, Hashable {
  let name: String
  /// The class and its superclasses.
  let chain: [String]
  /// Classes that may stand for it.
  let hints: [String]
}

/// The property list of a keyed archive, looked at as objects by the numbers that references name.
struct KeyedTable {
  let list: PropertyList
  /// The objects by UID, as numbers of the property list.
  private let objects: [Int]
  let archiver: String
  let version: Int
  let top: [(key: String, value: Int)]

  /// An object and what tells it from others: its UID, or a number above all UIDs where it stands in its place.
  struct Target {
    let place: Int
    let object: PropertyList.Object
    let isNull: Bool
  }

  init(_ list: PropertyList, limits: ArchiveLimits) throws {
    self.list = list
    guard list.objects.indices.contains(list.root), case .dictionary(let root) = list.objects[list.root] else {
      throw Self.notAnArchive("its outermost object is no dictionary")
    }
    let keys = try Self.members(root, of: list)
    func member(_ key: String) throws -> PropertyList.Object {
      guard let found = keys.first(where: { $0.key == key }) else {
        throw Self.notAnArchive("the key \(key) is missing")
      }
      return try Self.object(found.value, of: list)
    }
    guard case .string(let archiver) = try member("$archiver") else {
      throw Self.notAnArchive("$archiver is no string")
    }
    guard case .integer(let number) = try member("$version"), let version = Int(exactly: number) else {
      throw Self.notAnArchive("$version is no integer")
    }
    guard version == KeyedArchive.knownVersion else {
      let code: ArchiveError.Code = version > KeyedArchive.knownVersion ? .newerFormat : .notAnArchive
      throw ArchiveError(
        code, "a keyed archive of format version \(version); there is only \(KeyedArchive.knownVersion)",
        foundVersion: version, supportedVersion: KeyedArchive.knownVersion)
    }
    guard case .array(let objects) = try member("$objects") else {
      throw Self.notAnArchive("$objects is no array")
    }
    guard case .dictionary(let top) = try member("$top") else { throw Self.notAnArchive("$top is no dictionary") }
    guard objects.count <= limits.count else { throw Self.tooMany(limits.count) }
    self.archiver = archiver
    self.version = version
    self.objects = objects
    self.top = try Self.members(top, of: list)
  }

  var count: Int { objects.count }
  /// How many places there are.
  var placeCount: Int { objects.count + list.objects.count }

  /// Bytes of all text and data in the property list, each counted once.
  var byteCount: Int {
    list.objects.reduce(0) { $0 + $1.byteCount }
  }

  /// The object that stands at a number of the property list: where that is a UID, the one that it names.
  func target(_ number: Int) throws -> Target {
    var place = objects.count + max(number, 0)
    var object = try Self.object(number, of: list)
    var hops = 0
    while let uid = uid(object) {
      guard uid < UInt64(objects.count) else {
        throw ArchiveError(
          .damaged, "a reference names object \(uid), and the archive has \(objects.count) of them")
      }
      place = Int(uid)
      object = try Self.object(objects[place], of: list)
      hops += 1
      guard hops <= 64 else { throw ArchiveError(.damaged, "references lead to references in a circle") }
    }
    return Target(place: place, object: object, isNull: place == 0 && object == .string("$null"))
  }

  /// Whether what stands at a number of the property list is no reference.
  func isInPlace(_ number: Int) -> Bool { list.objects.indices.contains(number) && uid(list.objects[number]) == nil }

  /// The UID that an object is. Property lists in XML have a dictionary with one key for it.
  private func uid(_ object: PropertyList.Object) -> UInt64? {
    switch object {
    case .uid(let uid): return uid
    case .dictionary(let entries) where entries.count == 1:
      guard list.objects.indices.contains(entries[0].key), list.objects.indices.contains(entries[0].value),
        list.objects[entries[0].key] == .string("CF$UID"),
        case .integer(let uid) = list.objects[entries[0].value]
      else { return nil }
      return UInt64(exactly: uid)
    default: return nil
    }
  }

  /// The keys of a dictionary as strings, with the numbers of their values.
  func members(_ entries: [PropertyList.Entry]) throws -> [(key: String, value: Int)] {
    try Self.members(entries, of: list)
  }

  /// How many classes may stand above one: many times what any framework has.
  private static let mostNames = 64

  /// The class that the value of a `$class` key describes.
  func readClass(_ object: PropertyList.Object) throws -> KeyedClass {
    guard case .dictionary(let entries) = object else {
      throw ArchiveError(.damaged, "a class is no dictionary")
    }
    let members = try members(entries)
    guard let number = members.first(where: { $0.key == "$classname" })?.value,
      case .string(let name) = try target(number).object, !name.isEmpty
    else { throw ArchiveError(.damaged, "a class has no name: $classname is to be a string") }
    func names(_ key: String) throws -> [String] {
      guard let number = members.first(where: { $0.key == key })?.value else { return [] }
      guard case .array(let elements) = try target(number).object else {
        throw ArchiveError(.damaged, "\(key) of a class is no array")
      }
      // Many classes may refer to one array, and each keeps the names.
      guard elements.count <= Self.mostNames else {
        throw ArchiveError(
          .limitExceeded, "\(key) of a class has \(elements.count) names; \(Self.mostNames) are allowed", limit: .count)
      }
      return try elements.map { element in
        guard case .string(let name) = try target(element).object else {
          throw ArchiveError(.damaged, "\(key) of a class holds something else than names")
        }
        return name
      }
    }
    let chain = try names("$classes")
    return KeyedClass(name: name, chain: chain.isEmpty ? [name] : chain, hints: try names("$classhints"))
  }

  private static func object(_ number: Int, of list: PropertyList) throws -> PropertyList.Object {
    guard list.objects.indices.contains(number) else {
      throw ArchiveError(.damaged, "the property list names an object that it does not have")
    }
    return list.objects[number]
  }

  private static func members(
    _ entries: [PropertyList.Entry], of list: PropertyList
  ) throws -> [(key: String, value: Int)] {
    var seen = Set<ExactKey>(minimumCapacity: entries.count)
    return try entries.map { entry in
      guard case .string(let key) = try object(entry.key, of: list) else {
        throw ArchiveError(.damaged, "a key of a dictionary is no string")
      }
      guard seen.insert(ExactKey(key)).inserted else {
        throw ArchiveError(.damaged, "a dictionary has a key twice", path: [.key(key)])
      }
      return (key, entry.value)
    }
  }

  static func tooMany(_ limit: Int) -> ArchiveError {
    ArchiveError(
      .limitExceeded, "a collection is longer than the limit of \(limit) elements", limit: .count)
  }

  private static func notAnArchive(_ reason: String) -> ArchiveError {
    ArchiveError(.notAnArchive, "this property list is no keyed archive: \(reason)")
  }
}
