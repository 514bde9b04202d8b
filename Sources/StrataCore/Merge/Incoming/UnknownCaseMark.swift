extension ArchiveValue {
  /// What a source has under the key of a dictionary whose value has a case that this program does not know. A merge keeps the local entry.
  /// No archive can hold it: the shape is compared by reference.
  static let unknownCase = ArchiveValue.record(ModelRecord(shape: unknownCaseShape, values: []))

  private static let unknownCaseShape = RecordShape(typeName: "strata.unknownCase", modelVersion: nil, keys: [])

  var isUnknownCase: Bool {
    if case .record(let record) = self { record.shape === Self.unknownCaseShape } else { false }
  }
}
