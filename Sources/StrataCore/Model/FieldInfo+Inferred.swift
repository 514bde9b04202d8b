extension FieldInfo {
  /// A field whose type is that of its default: for a property declared without one.
  public init<T>(
    _ key: String, formerly: [String] = [], archive: ArchiveBehavior = .always,
    merge: MergePolicy = .takeSource,
    json: ValuePath? = nil, unknown: UnknownCasePolicy = .fail, isConstant: Bool = false,
    default makeDefault: @escaping @Sendable () -> T
  ) {
    self.init(
      key, T.self, formerly: formerly, archive: archive, merge: merge, json: json, unknown: unknown,
      isConstant: isConstant, default: makeDefault)
  }
}
