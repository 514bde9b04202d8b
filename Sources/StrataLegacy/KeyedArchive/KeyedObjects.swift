import Foundation
internal import StrataCore

/// Builds the property list of a keyed archive that is being written.
struct KeyedObjects {
  private var list: [PropertyList.Object] = [.null]
  /// The property list number of each distinct scalar added so far.
  private var known: [Scalar: Int] = [:]
  /// The property list number of each object in `$objects`, by UID.
  private var numbers: [Int] = []
  /// The UID of each distinct scalar in `$objects`.
  private var shared: [Scalar: UInt64] = [:]

  /// A scalar that is compared bit by bit, because Swift's equality does not distinguish 0 from -0, or different normal
  /// forms of the same string.
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

  /// Adds an object to the property list and returns its number in the property list. A scalar that equals an earlier
  /// scalar is not added again.
  mutating func add(_ object: PropertyList.Object) -> Int {
    let scalar = Scalar(object)
    if let scalar, let number = known[scalar] { return number }
    list.append(object)
    if let scalar { known[scalar] = list.count - 1 }
    return list.count - 1
  }

  /// Adds an object to `$objects` and returns its UID. A scalar that equals an earlier scalar is not added again.
  mutating func append(_ object: PropertyList.Object) -> UInt64 {
    let scalar = Scalar(object)
    if let scalar, let uid = shared[scalar] { return uid }
    numbers.append(add(object))
    let uid = UInt64(numbers.count - 1)
    if let scalar { shared[scalar] = uid }
    return uid
  }

  /// Reserves a UID for an object that will be set later, so that other objects can already refer to it.
  mutating func reserve() -> UInt64 {
    numbers.append(0)
    return UInt64(numbers.count - 1)
  }

  mutating func set(_ uid: UInt64, to object: PropertyList.Object) { numbers[Int(uid)] = add(object) }

  mutating func dictionary(_ members: [(key: String, value: Int)]) -> PropertyList.Object {
    .dictionary(members.map { .init(key: add(.string($0.key)), value: $0.value) })
  }

  /// Returns the complete property list.
  ///
  /// - Parameter top: the top keys, with the property list numbers of their values.
  consuming func finish(top: [(key: String, value: Int)], archiver: String) -> PropertyList {
    let members = [
      ("$version", add(.integer(WideInteger(KeyedArchive.knownVersion)))), ("$archiver", add(.string(archiver))),
      ("$top", add(dictionary(top))), ("$objects", add(.array(numbers))),
    ]
    list[0] = dictionary(members)
    return PropertyList(objects: list, root: 0)
  }
}
