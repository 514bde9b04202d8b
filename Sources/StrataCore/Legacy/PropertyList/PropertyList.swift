public import Foundation

/// A property list as it stands in a file: a table of objects, which refer to each other by number.
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
