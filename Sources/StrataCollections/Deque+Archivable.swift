#if Collections
  public import DequeModule
  public import StrataCore

  /// Archives and JSON hold a deque as an array of its elements. Merging treats it as an array.
  extension Deque: Archivable where Element: Archivable {
    public func write(to writer: inout ArchiveWriter) throws { try Array(self).write(to: &writer) }
    public static func read(from reader: inout ArchiveReader) throws -> Deque {
      Deque(try [Element].read(from: &reader))
    }
    public static func make(from value: ArchiveValue, in context: DecodingContext) throws -> Deque {
      Deque(try [Element].make(from: value, in: context))
    }
    public static func collectSchemas(into catalog: inout SchemaCatalog) { Element.collectSchemas(into: &catalog) }
    public static var archiveTypeName: String { [Element].archiveTypeName }
    public static var rootSchema: ModelSchema? { Element.rootSchema }
    public static var typeShape: TypeShape { TypeShape(.array(Element.self)) }
    public var archivedCount: Int { count }
  }

  extension Deque: ArrayType {
    package static func made(of elements: [Element]) -> Any { Deque(elements) }
  }
#endif
