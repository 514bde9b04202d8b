public import Foundation
public import StrataCore

/// A property list as it is stored in a file: a table of objects that refer to each other by number.
///
/// Unlike a tree, the table preserves the identity of objects and can represent cycles of references. Keyed archives
/// may contain cycles, but plain property lists must not.
public struct PropertyList: Sendable, Hashable {
  /// An object of the table. A collection contains the numbers of its elements, not the elements themselves.
  public enum Object: Sendable, Hashable {
    /// The null object.
    case null
    /// A boolean.
    case bool(Bool)
    /// An integer of up to 128 bits, the maximum size in binary property lists.
    case integer(WideInteger)
    /// A 32-bit floating-point number.
    case float(Float)
    /// A 64-bit floating-point number.
    case double(Double)
    /// A point in time.
    case date(Date)
    /// Bytes.
    case data(Data)
    /// Text.
    case string(String)
    /// A reference to an object of a keyed archive.
    case uid(UInt64)
    /// An array, as the object numbers of its elements.
    case array([Int])
    /// A set, as the object numbers of its elements.
    case set([Int])
    /// A dictionary, as the object numbers of its keys and values.
    case dictionary([Entry])
  }

  /// A key and its value, given by their object numbers.
  public struct Entry: Sendable, Hashable {
    /// The object number of the key.
    public var key: Int
    /// The object number of the value.
    public var value: Int

    /// Creates an entry from the object numbers of its key and value.
    public init(key: Int, value: Int) {
      self.key = key
      self.value = value
    }
  }

  /// The objects of the table. The number of an object is its index.
  public var objects: [Object]
  /// The number of the root object in ``objects``.
  public var root: Int

  /// Creates a property list from its objects and the number of the root object.
  public init(objects: [Object], root: Int) {
    self.objects = objects
    self.root = root
  }
}

extension BinaryPropertyList {
  /// The property list as a table in memory, with all objects of the file.
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
