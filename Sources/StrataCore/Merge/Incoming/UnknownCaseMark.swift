extension ArchiveValue {
  /// Marks the value of a dictionary's key in a source whose case this program does not know. A merge keeps the local value of the key.
  /// No file can hold the mark, because its shape is compared by reference.
  static let unknownCase = ArchiveValue.record(ModelRecord(shape: unknownCaseShape, values: []))

  private static let unknownCaseShape = RecordShape(typeName: "strata.unknownCase", modelVersion: nil, keys: [])

  var isUnknownCase: Bool {
    if case .record(let record) = self { record.shape === Self.unknownCaseShape } else { false }
  }
}
