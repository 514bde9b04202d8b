/// The functions that read and write a field of a ``DescribedModel``: as an archivable value, or with the `Codable`
/// conformance of its type.
struct FieldCoding<Value>: Sendable {
  let read: @Sendable (Int, inout ArchiveReader) throws -> Value
  let write: @Sendable (Int, Value, inout ArchiveWriter) throws -> Void
}

extension FieldCoding where Value: Archivable & SendableMetatype {
  init(
    _ archive: ArchiveBehavior, unknown: UnknownCasePolicy = .fail, _ makeDefault: (@Sendable () -> Value)? = nil
  ) {
    read =
      switch (archive, makeDefault) {
      case (.excluded, nil): { try $1.excludedField($0, default: ArchiveReader.absent()) }
      case (.excluded, let makeDefault?): { try $1.excludedField($0, default: makeDefault()) }
      case (_, nil): { try $1.field($0) }
      case (_, let makeDefault?): { try $1.field($0, default: makeDefault(), unknown: unknown) }
      }
    write =
      switch archive {
      case .always: { try $2.field($0, $1) }
      case .conditional: { try $2.conditionalField($0, $1) }
      case .excluded: { try $2.excludedField($0, $1) }
      }
  }
}

extension FieldCoding where Value: Codable & SendableMetatype {
  /// Creates the functions for a field whose type is `Codable` but not archivable.
  ///
  /// - Parameter archive: whether archives contain the field. `conditional` has the same effect as `always`, because
  ///   the value is not an object.
  init(
    codable archive: ArchiveBehavior, unknown: UnknownCasePolicy = .fail, _ makeDefault: (@Sendable () -> Value)? = nil
  ) {
    read =
      switch (archive, makeDefault) {
      case (.excluded, nil): { try $1.excludedField($0, default: ArchiveReader.absent()) }
      case (.excluded, let makeDefault?): { try $1.excludedField($0, default: makeDefault()) }
      case (_, nil): { try $1.field($0) }
      case (_, let makeDefault?): { try $1.field($0, default: makeDefault(), unknown: unknown) }
      }
    write =
      switch archive {
      case .always, .conditional: { try $2.field($0, $1) }
      case .excluded: { try $2.excludedField($0, $1) }
      }
  }
}
