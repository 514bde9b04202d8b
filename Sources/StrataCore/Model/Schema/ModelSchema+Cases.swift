extension ModelSchema {
  /// The error for the first enum case that could be archived but not decoded, because of its labels or of mistakes in
  /// `make(case:payload:)`; `nil` if there is no such case.
  ///
  /// A common mistake is a case named `none`. In a method that returns an optional, `.none` means nil instead of the case.
  var problemOfCases: ArchiveError? {
    for info in cases where Set(info.labels).count < info.labels.count {
      return ArchiveError(
        .invalidSchema,
        "two associated values of the case \(info.name) have the same label; use a different label for each value",
        typeName: name)
    }
    guard let type = TypeShape.model(type) else { return nil }
    let context = DecodingContext(finishing: .never)
    for info in cases where info.payload.isEmpty {
      do {
        guard try !type.makes(case: info.name, CasePayload(values: ArchiveObject(), context: context)) else { continue }
      } catch {
        // `make(case:payload:)` tried to read an associated value, which this test does not supply. The method therefore handles the case.
        continue
      }
      return ArchiveError(
        .invalidSchema,
        "make(case:payload:) returns nil for the declared case \(info.name); return the case, and if it is named "
          + "“none”, write it with its type, as in MyEnum.none",
        typeName: name)
    }
    return nil
  }

  /// Whether archives may contain keys, cases or type names that the current model would write differently, such as former names.
  var hasSubstitutes: Bool {
    !formerNames.isEmpty || !formerCases.isEmpty || type is any UnknownCaseRepresentable.Type
      || fields.contains { !$0.formerly.isEmpty || $0.unknown == .useDefault }
  }
}
