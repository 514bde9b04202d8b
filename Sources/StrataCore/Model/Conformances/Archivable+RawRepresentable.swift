extension Archivable where Self: RawRepresentable, RawValue: Archivable {
  /// Writes the raw value (a name or a number chosen by the program) instead of the position of the case in the enum.
  @inlinable
  public func write(to writer: inout ArchiveWriter) throws { try rawValue.write(to: &writer) }

  @inlinable
  public static func read(from reader: inout ArchiveReader) throws -> Self {
    let rawValue = try RawValue.read(from: &reader)
    if let value = Self(rawValue: rawValue) { return value }
    return try substitute(for: rawValue, in: reader.context)
  }

  /// Creates a value from an untyped raw value.
  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Self {
    let rawValue = try RawValue.decode(from: value, in: context)
    return try Self(rawValue: rawValue) ?? substitute(for: rawValue, in: context)
  }

  public static func decode(fromJSON element: JSONElement, in context: DecodingContext) throws -> Self {
    let rawValue = try RawValue.decode(fromJSON: element, in: context)
    return try Self(rawValue: rawValue) ?? substitute(for: rawValue, in: context)
  }

  public static func _collectSchemas(into catalog: inout SchemaCatalog) {
    if Self.self is any CaseAliasing.Type || Self.self is any UnknownCaseRepresentable.Type { catalog.addSubstitutes() }
  }

  public static var typeShape: TypeShape { TypeShape(.rawValue(RawValue.self, isArchivable: true)) }

  /// Returns the case to use for a raw value that no case has: the case that formerly had the raw value, or the case for unknown raw
  /// values. Throws if neither exists.
  @inline(never)
  public static func substitute(for rawValue: RawValue, in context: DecodingContext) throws -> Self {
    if let type = Self.self as? any CaseAliasing.Type, let value = former(type, rawValue) as? Self { return value }
    context.report.addUnknownCase(of: "\(Self.self)")
    if let type = Self.self as? any UnknownCaseRepresentable.Type, let value = type.unknownCase as? Self {
      return value
    }
    throw ArchiveError.unknownCase(of: Self.self)
  }

  private static func former<T: CaseAliasing>(_ type: T.Type, _ rawValue: RawValue) -> T? {
    (rawValue as? T.RawValue).flatMap { T.formerRawValues[$0] }
  }
}

extension ArchiveError {
  static func unknownCase<T>(of type: T.Type) -> ArchiveError {
    ArchiveError(
      .unknownCase,
      "the value is not a case of the type \(type); add the case, list the value in formerRawValues, or declare an "
        + "unknownCase"
    )
  }
}
