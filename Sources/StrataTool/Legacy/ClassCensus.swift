internal import StrataCore
internal import StrataLegacy

/// The classes of a keyed archive, including Foundation's own classes, with the number of objects of each class.
///
/// All entries of the object table are counted, whether they are reachable or not. An entry whose class cannot be read
/// is not counted.
struct ClassCensus {
  struct Entry {
    let name: String
    let chain: [String]
    var count: Int
  }

  /// The maximum number of names in a class chain, the same limit as in `KeyedArchive`.
  private static let mostNames = 64

  /// The classes, sorted by the bytes of their names.
  private(set) var classes: [Entry] = []
  /// The number of objects in the object table.
  private(set) var objectCount = 0

  init(_ list: PropertyList) {
    guard let objects = Self.elements(of: Self.member("$objects", of: list.root, in: list), in: list) else { return }
    objectCount = objects.count
    var places: [ExactKey: Int] = [:]
    var known: [Int: Int] = [:]
    for number in objects {
      guard let mark = Self.member("$class", of: number, in: list),
        let described = Self.target(mark, in: list, objects)
      else { continue }
      if let place = known[described] {
        classes[place].count += 1
        continue
      }
      guard let name = Self.text(Self.member("$classname", of: described, in: list), in: list, objects) else {
        continue
      }
      let chain = Self.elements(of: Self.member("$classes", of: described, in: list), in: list, objects)
        .map { $0.prefix(Self.mostNames).compactMap { Self.text($0, in: list, objects) } }
      let place = places[ExactKey(name)] ?? classes.count
      places[ExactKey(name)] = place
      known[described] = place
      if place == classes.count {
        let names = chain ?? []
        classes.append(Entry(name: name, chain: names.isEmpty ? [name] : names, count: 1))
      } else {
        classes[place].count += 1
      }
    }
    classes.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  /// Returns whether a property list is a keyed archive, which means that it has at least two of the four top-level
  /// keys of keyed archives.
  static func isKeyedArchive(_ list: PropertyList) -> Bool {
    ["$archiver", "$version", "$objects", "$top"].count { member($0, of: list.root, in: list) != nil } >= 2
  }

  private static func object(_ number: Int?, in list: PropertyList) -> PropertyList.Object? {
    guard let number, list.objects.indices.contains(number) else { return nil }
    return list.objects[number]
  }

  private static func member(_ key: String, of number: Int, in list: PropertyList) -> Int? {
    guard case .dictionary(let entries)? = object(number, in: list) else { return nil }
    return entries.first { object($0.key, in: list) == .string(key) }?.value
  }

  /// Returns the index of the object that a UID refers to. Returns the index of any other object unchanged.
  private static func target(_ number: Int?, in list: PropertyList, _ objects: [Int]) -> Int? {
    guard case .uid(let uid)? = object(number, in: list) else { return number }
    return uid < UInt64(objects.count) ? objects[Int(uid)] : nil
  }

  private static func elements(of number: Int?, in list: PropertyList, _ objects: [Int] = []) -> [Int]? {
    guard case .array(let elements)? = object(target(number, in: list, objects), in: list) else { return nil }
    return elements
  }

  private static func text(_ number: Int?, in list: PropertyList, _ objects: [Int]) -> String? {
    guard case .string(let text)? = object(target(number, in: list, objects), in: list) else { return nil }
    return text
  }
}
