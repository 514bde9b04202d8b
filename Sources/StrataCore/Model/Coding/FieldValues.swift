/// The values of a model's fields, by the index of the field in the schema.
package enum FieldValues {
  /// One value for each field; `nil` if the field is absent.
  case slots([ArchiveValue?])
  /// Like `slots`, but with some fields already decoded. The dictionary contains the decoded fields by index, and their
  /// slots are `nil`.
  case partlyMade([ArchiveValue?], [Int: Any])
  /// The values of a record and, for each field of the schema, the index of its value; -1 if the record lacks the field.
  case record([ArchiveValue], indices: [Int])

  /// The value of the field with this index in the schema; `nil` if the field is absent, or if there is no such field.
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

  /// Returns the value of the field with this index in the schema if it is already decoded; otherwise `nil`.
  func made(_ field: Int) -> Any? {
    if case .partlyMade(_, let made) = self { made[field] } else { nil }
  }
}
