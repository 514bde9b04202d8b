import Foundation
import StrataCore
import StrataLegacy

/// A property list as a literal.
indirect enum Plist: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  case plain(PropertyList.Object)
  case array([Plist])
  case dictionary([(String, Plist)])

  static func uid(_ number: UInt64) -> Plist { .plain(.uid(number)) }
  static func data(_ bytes: [UInt8]) -> Plist { .plain(.data(Data(bytes))) }

  init(stringLiteral value: String) { self = .plain(.string(value)) }
  init(integerLiteral value: Int64) { self = .plain(.integer(WideInteger(value))) }
  init(floatLiteral value: Double) { self = .plain(.double(value)) }
  init(booleanLiteral value: Bool) { self = .plain(.bool(value)) }
  init(arrayLiteral elements: Plist...) { self = .array(elements) }
  init(dictionaryLiteral elements: (String, Plist)...) { self = .dictionary(elements) }

  /// The table of all objects. The outermost object is the last one.
  var table: PropertyList {
    var objects: [PropertyList.Object] = []
    func add(_ object: PropertyList.Object) -> Int {
      objects.append(object)
      return objects.count - 1
    }
    func number(_ plist: Plist) -> Int {
      switch plist {
      case .plain(let object): return add(object)
      case .array(let elements): return add(.array(elements.map(number)))
      case .dictionary(let members):
        return add(.dictionary(members.map { .init(key: add(.string($0.0)), value: number($0.1)) }))
      }
    }
    let root = number(self)
    return PropertyList(objects: objects, root: root)
  }

  /// Creates a keyed archive whose object list is `$null`, which is object 0, followed by the given objects.
  static func keyed(_ objects: [Plist], top: Plist = ["root": .uid(1)]) -> Plist {
    [
      "$version": 100_000, "$archiver": "NSKeyedArchiver", "$top": top, "$objects": .array(["$null"] + objects),
    ]
  }

  static func type(_ names: String...) -> Plist {
    ["$classname": .plain(.string(names[0])), "$classes": .array(names.map { .plain(.string($0)) })]
  }
}

extension KeyedArchive {
  /// Creates an archive whose object list is `$null` followed by the given objects.
  init(_ objects: Plist..., top: Plist = ["root": .uid(1)]) throws {
    try self.init(Plist.keyed(objects, top: top).table)
  }
}
