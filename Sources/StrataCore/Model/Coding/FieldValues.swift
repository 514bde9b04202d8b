/// The values of a model's fields, by the indices of the fields in the schema.
package enum FieldValues {
  /// One value for each field; `nil` if it is absent.
  case slots([ArchiveValue?])
  /// Like `slots`, with fields that are already decoded. Their values are absent.
  case partlyMade([ArchiveValue?], [Int: Any])
  /// The values of a record, and for each field the index of its value there; -1 if it is absent.
  case record([ArchiveValue], indices: [Int])

  /// The value of a field; `nil` if it is absent, and for an index beyond the fields.
  @inline(__always)
  package subscript(field: Int) -> ArchiveValue? {
    switch self {
    case .slots(let slots), .partlyMade(let slots, _): return slots.indices.contains(field) ? slots[field] : nil
    case .record(let values, let indices):
      guard indices.indices.contains(field) else { return nil }
      let index = indices[field]
      return index >= 0 ? values[index] : nil
    }
  }

  /// The field, if it is already decoded.
  func made(_ field: Int) -> Any? {
    if case .partlyMade(_, let made) = self { made[field] } else { nil }
  }
}
