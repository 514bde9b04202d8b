#if Collections
  public import DequeModule
  public import StrataCore

  /// A deque is archived, written to JSON and merged like an array of its elements.
  extension Deque: Archivable where Element: Archivable {
    public func write(to writer: inout ArchiveWriter) throws { try Array(self).write(to: &writer) }
    public static func read(from reader: inout ArchiveReader) throws -> Deque {
      Deque(try [Element].read(from: &reader))
    }
    public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Deque {
      Deque(try [Element].decode(from: value, in: context))
    }
    public static var _archiveTypeName: String { [Element]._archiveTypeName }
    public static var typeShape: TypeShape { containerShape }
    public var _archivedCount: Int { count }
  }

  extension Deque: ArrayType {
    package static func made(of elements: [Element]) -> Any { Deque(elements) }
  }
#endif
