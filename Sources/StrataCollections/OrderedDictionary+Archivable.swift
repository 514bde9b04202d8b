#if Collections
  public import OrderedCollections
  public import StrataCore

  /// The entries of an ordered dictionary are archived in order. A dictionary whose keys are text becomes an object.
  /// Any other dictionary becomes an array of pairs, because maps do not preserve the order of their entries
  /// (Docs/Format.md, section 8).
  ///
  /// An ordered dictionary can be decoded from an archived dictionary, in the order of the archive. A dictionary can be
  /// decoded from an archived ordered dictionary whose keys are text. In JSON, an ordered dictionary is an object or an
  /// array of pairs. In a merge, entries are matched by key. Local entries keep their order, and new entries from the
  /// server are appended in the server's order.
  extension OrderedDictionary: Archivable where Key: Archivable, Value: Archivable {
    /// - Throws: ``ArchiveError`` with the code `notEncodable` if two keys have the same encoding, and any error thrown
    ///   while writing a key or a value.
    public func write(to writer: inout ArchiveWriter) throws {
      try writer.enter()
      try CanonicalOrder.checkDifferent(
        elements,
        "two keys of an ordered dictionary differ only in excluded fields, so they would be the same key in the "
          + "archive",
        in: writer
      ) { $0.key }
      if Self.isKeyed { writer.beginMap(count: count) } else { writer.beginArray(count: count) }
      for (key, value) in self {
        if !Self.isKeyed {
          try writer.enter()
          writer.beginArray(count: 2)
        }
        try key.write(to: &writer)
        // Error paths contain the key, although it is user data. Without the key, the failing value could not be
        // located.
        do { try value.write(to: &writer) } catch { throw ArchiveError.at(.key(key as? String ?? "(key)"), error) }
        if !Self.isKeyed { writer.leave() }
      }
      writer.leave()
    }

    public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Self {
      var result = Self()
      try [Key: Value].forEachPair(of: value, takesPairs: context.source == .json || !isKeyed, in: context) {
        result.updateValue($1, forKey: $0) == nil
      }
      return result
    }

    public static var _archiveTypeName: String { [Key: Value]._archiveTypeName }
    public static var typeShape: TypeShape { containerShape }
    public var _archivedCount: Int { count }
  }

  extension OrderedDictionary: ContainerType {
    package static var containerShape: TypeShape { TypeShape(.dictionary(keys: Key.self, values: Value.self)) }
  }

  extension OrderedDictionary: PartialDictionary where Key: Archivable, Value: Archivable {
    /// Whether the keys are archived as text, which is the case for strings and for enums with string raw values.
    package static var isKeyed: Bool { TextKey.isText(Key.self) }
    package static var partType: any Archivable.Type { Value.self }

    package static func partPairs(of value: ArchiveValue, in context: DecodingContext) throws -> [(
      key: ArchiveValue, value: ArchiveValue
    )] {
      try [Key: Value].partPairs(of: value, in: context)
    }

    package static func partKey(_ key: ArchiveValue, in context: DecodingContext) throws -> ArchiveValue {
      try [Key: Value].partKey(key, in: context)
    }
  }

  private enum TextKey {
    static func isText(_ type: Any.Type) -> Bool {
      if type == String.self { return true }
      guard let type = type as? any (RawRepresentable & Archivable).Type else { return false }
      return isRawText(type)
    }

    private static func isRawText<T: RawRepresentable>(_ type: T.Type) -> Bool { T.RawValue.self == String.self }
  }
#endif
