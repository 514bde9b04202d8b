/// The values of a model's fields, by the indices of the fields in the schema.
package enum FieldValues {
  /// One for each field; `nil` where it is absent.
  case slots([ArchiveValue?])
  /// Those of a record, and for each field the index of its value there; -1 where it is absent.
  case record([ArchiveValue], indices: [Int])

  /// The value of a field; `nil` where it is absent, and for an index beyond the fields.
  @inline(__always)
  package subscript(field: Int) -> ArchiveValue? {
    switch self {
    case .slots(let slots): return slots.indices.contains(field) ? slots[field] : nil
    case .record(let values, let indices):
      guard indices.indices.contains(field) else { return nil }
      let index = indices[field]
      return index >= 0 ? values[index] : nil
    }
  }
}
