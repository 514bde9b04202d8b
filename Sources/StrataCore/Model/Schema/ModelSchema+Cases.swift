extension ModelSchema {
  /// The error for an enum case that could be archived but not decoded, because of its labels or the model's own code;
  /// `nil` if there is none.
  ///
  /// A common mistake is a case named `none`: in a method that returns an optional, `.none` means nil rather than the case.
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
        // The method tried to read an associated value, so it knows the case.
        continue
      }
      return ArchiveError(
        .invalidSchema,
        "make(case:payload:) returns nil for the declared case \(info.name); return the case, and qualify a case "
          + "called none with its type", typeName: name)
    }
    return nil
  }

  /// Whether archives may contain keys, cases or type names that the model would write differently today.
  var hasSubstitutes: Bool {
    !formerNames.isEmpty || !formerCases.isEmpty || type is any UnknownCaseRepresentable.Type
      || fields.contains { !$0.formerly.isEmpty || $0.unknown == .useDefault }
  }
}
