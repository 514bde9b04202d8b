extension ArchiveValue {
  /// A marker for a dictionary value in a source whose enumeration case this program does not know. For this key, a merge keeps the local
  /// value. No file can contain the marker, because its shape is compared by reference.
  static let unknownCase = ArchiveValue.record(ModelRecord(shape: unknownCaseShape, values: []))

  private static let unknownCaseShape = RecordShape(typeName: "strata.unknownCase", modelVersion: nil, keys: [])

  var isUnknownCase: Bool {
    if case .record(let record) = self { record.shape === Self.unknownCaseShape } else { false }
  }
}
