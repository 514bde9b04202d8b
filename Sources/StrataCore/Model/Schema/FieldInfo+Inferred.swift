extension FieldInfo {
  /// A field whose type is that of its default: for a property declared without one.
  public init<T>(
    _ key: String, formerly: [String] = [], archive: ArchiveBehavior = .always,
    storage: StorageBehavior = .permanent, merge: MergePolicy = .automatic,
    json: JSONField = .automatic, unknown: UnknownCasePolicy = .fail, isConstant: Bool = false,
    default makeDefault: @escaping @Sendable () -> T
  ) {
    self.init(
      key, T.self, formerly: formerly, archive: archive, storage: storage, merge: merge, json: json, unknown: unknown,
      isConstant: isConstant, default: makeDefault)
  }

  /// A field of a generic model, whose default may name generic parameters.
  ///
  /// `initialValue` is that of a stored property. It captures nothing but types, though the compiler cannot know that
  /// of a parameter's type.
  public init<T>(
    _ key: String, _ type: T.Type = T.self, formerly: [String] = [], archive: ArchiveBehavior = .always,
    storage: StorageBehavior = .permanent, merge: MergePolicy = .automatic, json: JSONField = .automatic,
    unknown: UnknownCasePolicy = .fail,
    isConstant: Bool = false, initialValue: @escaping () -> T
  ) {
    let value = InitialValue(make: initialValue)
    self.init(
      key, T.self, formerly: formerly, archive: archive, storage: storage, merge: merge, json: json, unknown: unknown,
      isConstant: isConstant, default: { value.make() })
  }
}

/// Unchecked, since an initial value has nothing to share but types.
private struct InitialValue<T>: @unchecked Sendable {
  let make: () -> T
}
