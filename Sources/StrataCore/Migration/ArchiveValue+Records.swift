extension ArchiveValue {
  /// Creates a record of a model, for use in a migration step.
  ///
  /// - Parameters:
  ///   - typeName: the registered name of the model.
  ///   - version: the version of the model that has these fields. The model's own steps upgrade the record to the
  ///     current version.
  ///   - fields: the values by key.
  public static func record(_ typeName: String, version: Int, _ fields: KeyValuePairs<String, ArchiveValue>)
    -> ArchiveValue
  {
    .record(ModelRecord(typeName: typeName, modelVersion: version, fields: fields.map { ($0.key, $0.value) }))
  }

  /// Creates a record of an enum case, for use in a migration step.
  ///
  /// - Parameters:
  ///   - name: the name of the case.
  ///   - typeName: the registered name of the enum.
  ///   - version: the version of the enum that has this case.
  ///   - values: the associated values by label. The labels of values without a label are `_0`, `_1` and so on.
  public static func enumCase(
    _ name: String, of typeName: String, version: Int, _ values: KeyValuePairs<String, ArchiveValue> = [:]
  ) -> ArchiveValue {
    .record(
      typeName, version: version, [name: .object(ArchiveObject(values.map { .init(key: $0.key, value: $0.value) }))])
  }
}
