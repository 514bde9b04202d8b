extension ArchiveValue {
  /// A placeholder for a dictionary value with an unknown enumeration case. A merge keeps the local value of that key. No file can contain
  /// the placeholder, because its shape is compared by reference.
  static let unknownCase = ArchiveValue.record(ModelRecord(shape: unknownCaseShape, values: []))

  private static let unknownCaseShape = RecordShape(typeName: "strata.unknownCase", modelVersion: nil, keys: [])

  var isUnknownCase: Bool {
    if case .record(let record) = self { record.shape === Self.unknownCaseShape } else { false }
  }
}
