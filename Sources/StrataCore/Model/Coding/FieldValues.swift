/// The values of a model's fields, by the indices of the fields in the schema.
package enum FieldValues {
  /// One for each field; `nil` where it is absent.
  case slots([ArchiveValue?])
  /// The same beside fields that are made already, whose values are absent.
  case partlyMade([ArchiveValue?], [Int: Any])
  /// Those of a record, and for each field the index of its value there; -1 where it is absent.
  case record([ArchiveValue], indices: [Int])

  /// The value of a field; `nil` where it is absent, and for an index beyond the fields.
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

  /// What a field is, where it is made already.
  func made(_ field: Int) -> Any? {
    if case .partlyMade(_, let made) = self { made[field] } else { nil }
  }
}
