import Foundation
internal import StrataCore

/// The property list of a keyed archive that is being written: its objects by UID, and what is in them.
struct KeyedObjects {
  private var list: [PropertyList.Object] = [.null]
  /// What is the same wherever it is, by content.
  private var known: [Scalar: Int] = [:]
  /// The objects by UID, as numbers of the property list.
  private var numbers: [Int] = []
  /// UIDs of strings and numbers.
  private var shared: [Scalar: UInt64] = [:]

  /// What is compared bit by bit: Swift calls 0 and -0 equal, and two spellings of one text.
  private enum Scalar: Hashable {
    case bool(Bool)
    case integer(WideInteger)
    case float(UInt32)
    case double(UInt64)
    case string(ExactKey)
    case uid(UInt64)

    init?(_ object: PropertyList.Object) {
      switch object {
      case .bool(let value): self = .bool(value)
      case .integer(let value): self = .integer(value)
      case .float(let value): self = .float(value.bitPattern)
      case .double(let value): self = .double(value.bitPattern)
      case .string(let value): self = .string(ExactKey(value))
      case .uid(let value): self = .uid(value)
      default: return nil
      }
    }
  }

  init() { _ = append(.string("$null")) }

  /// Adds something to the property list, or finds it there.
  mutating func add(_ object: PropertyList.Object) -> Int {
    let scalar = Scalar(object)
    if let scalar, let number = known[scalar] { return number }
    list.append(object)
    if let scalar { known[scalar] = list.count - 1 }
    return list.count - 1
  }

  /// Adds an object and gives its UID. Strings and numbers are added once.
  mutating func append(_ object: PropertyList.Object) -> UInt64 {
    let scalar = Scalar(object)
    if let scalar, let uid = shared[scalar] { return uid }
    numbers.append(add(object))
    let uid = UInt64(numbers.count - 1)
    if let scalar { shared[scalar] = uid }
    return uid
  }

  /// A UID for an object that follows.
  mutating func reserve() -> UInt64 {
    numbers.append(0)
    return UInt64(numbers.count - 1)
  }

  /// Sets the object of a UID.
  mutating func set(_ uid: UInt64, to object: PropertyList.Object) { numbers[Int(uid)] = add(object) }

  /// A dictionary of the property list.
  mutating func dictionary(_ members: [(key: String, value: Int)]) -> PropertyList.Object {
    .dictionary(members.map { .init(key: add(.string($0.key)), value: $0.value) })
  }

  /// The whole, with its values under the top keys.
  consuming func finish(top: [(key: String, value: Int)], archiver: String) -> PropertyList {
    let members = [
      ("$version", add(.integer(WideInteger(KeyedArchive.knownVersion)))), ("$archiver", add(.string(archiver))),
      ("$top", add(dictionary(top))), ("$objects", add(.array(numbers))),
    ]
    list[0] = dictionary(members)
    return PropertyList(objects: list, root: 0)
  }
}
