public import Foundation
internal import StrataCore

/// A property list as a file has it: a table of objects, which refer to each other by number.
///
/// The table keeps what a tree would lose: which objects are one and the same, and references in cycles, which plain
/// property lists must not have and keyed archives may.
public struct PropertyList: Sendable, Hashable {
  public enum Object: Sendable, Hashable {
    case null
    case bool(Bool)
    /// Integers of up to 128 bits, which binary property lists can hold.
    case integer(Int128)
    case float(Float)
    case double(Double)
    case date(Date)
    case data(Data)
    case string(String)
    /// A number that means another object of a keyed archive.
    case uid(UInt64)
    case array([Int])
    case set([Int])
    case dictionary([Entry])
  }

  /// A key and its value, by the numbers of their objects.
  public struct Entry: Sendable, Hashable {
    public var key: Int
    public var value: Int

    public init(key: Int, value: Int) {
      self.key = key
      self.value = value
    }
  }

  /// The objects, by number.
  public var objects: [Object]
  /// The number of the outermost object.
  public var root: Int

  public init(objects: [Object], root: Int) {
    self.objects = objects
    self.root = root
  }
}

extension BinaryPropertyList {
  /// All objects as a table.
  var propertyList: PropertyList {
    var list = PropertyList(objects: [], root: root)
    list.objects.reserveCapacity(count)
    for number in 0..<count { list.objects.append(object(at: offset(of: number))) }
    return list
  }

  private func object(at offset: Int) -> PropertyList.Object {
    let marker = marker(at: offset)
    switch marker >> 4 {
    case 0x0: return marker == 0x08 || marker == 0x09 ? .bool(marker == 0x09) : .null
    case 0x1: return .integer(integer(at: offset))
    case 0x2 where marker == 0x22:
      return .float(Float(bitPattern: UInt32(truncatingIfNeeded: unsigned(at: offset + 1, size: 4))))
    case 0x2: return .double(double(at: offset))
    case 0x3: return .date(Date(timeIntervalSinceReferenceDate: double(at: offset)))
    case 0x4: return .data(data(at: offset))
    case 0x5, 0x6: return .string(string(at: offset))
    case 0x8: return .uid(unsigned(at: offset + 1, size: Int(marker & 0xF) + 1))
    case 0xC: return .set(references(content(at: offset)))
    case 0xD:
      let (start, count) = content(at: offset)
      let keys = references((start, count))
      let values = references((start + count * referenceSize, count))
      return .dictionary(zip(keys, values).map { PropertyList.Entry(key: $0, value: $1) })
    default: return .array(references(content(at: offset)))
    }
  }

  private func references(_ content: (start: Int, count: Int)) -> [Int] {
    var numbers: [Int] = []
    numbers.reserveCapacity(content.count)
    for index in 0..<content.count { numbers.append(reference(at: content.start + index * referenceSize)) }
    return numbers
  }
}
