#if Collections
  public import OrderedCollections
  public import StrataCore

  /// An ordered set is archived and written to JSON as the array of its elements. It can be decoded from archived
  /// arrays and sets. An archive with duplicate elements is rejected as damaged. Decoding from JSON and merging keep
  /// only the first of several equal elements. An ordered set is merged like an array.
  extension OrderedSet: Archivable where Element: Archivable {
    /// - Throws: ``ArchiveError`` with the code `notEncodable` if two elements have the same encoding, and any error
    ///   thrown while writing an element.
    public func write(to writer: inout ArchiveWriter) throws {
      try CanonicalOrder.checkDifferent(
        elements,
        "two elements of an ordered set differ only in excluded fields, so they would be the same element in the "
          + "archive",
        in: writer
      ) { $0 }
      try elements.write(to: &writer)
    }

    public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Self {
      var result = Self()
      let isArchive = context.source == .archive
      let members: ArchiveValue = if isArchive, case .array(let elements) = value { .set(elements) } else { value }
      try Set<Element>.forEachMember(of: members, takesArrays: !isArchive, in: context) { result.append($0).inserted }
      return result
    }

    public static var _archiveTypeName: String { [Element]._archiveTypeName }
    public static var typeShape: TypeShape { containerShape }
    public var _archivedCount: Int { count }
  }

  extension OrderedSet: ArrayType {
    package static func made(of elements: [Element]) -> Any { OrderedSet(elements) }
  }
#endif
