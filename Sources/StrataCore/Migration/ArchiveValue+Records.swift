extension ArchiveValue {
  /// A record of a model, for a step that creates one.
  ///
  /// - Parameters:
  ///   - typeName: the registered name of the model.
  ///   - version: the version of the model with these fields. The model's own steps upgrade it from there.
  ///   - fields: the values by their keys.
  public static func record(_ typeName: String, version: Int, _ fields: KeyValuePairs<String, ArchiveValue>)
    -> ArchiveValue
  {
    .record(ModelRecord(typeName: typeName, modelVersion: version, fields: fields.map { ($0.key, $0.value) }))
  }

  /// A record of a case of an enum, for a step that creates one.
  ///
  /// - Parameters:
  ///   - name: the case.
  ///   - typeName: the registered name of the enum.
  ///   - version: the version of the enum that has this case.
  ///   - values: the associated values by their labels. Values without a label have `_0`, `_1` and so on.
  public static func enumCase(
    _ name: String, of typeName: String, version: Int, _ values: KeyValuePairs<String, ArchiveValue> = [:]
  ) -> ArchiveValue {
    .record(
      typeName, version: version, [name: .object(ArchiveObject(values.map { .init(key: $0.key, value: $0.value) }))])
  }
}
