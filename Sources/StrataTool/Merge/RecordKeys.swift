internal import StrataCore

/// The keys that every record of a type has in the local archive. A merge without a model must not add a record that
/// lacks one of these keys, because the model would then use the field's default or fail to decode the record.
struct RecordKeys {
  private var keys: [String: Set<String>] = [:]

  init(of local: ArchiveValue) { note(local) }

  private mutating func note(_ value: ArchiveValue) {
    if case .record(let record) = value {
      let mark = record.shape.mark
      keys[mark] = keys[mark].map { $0.intersection(record.keys) } ?? Set(record.keys)
    }
    guard !isMemory(value) else { return }
    value.forEachInside { note($0) }
  }

  /// Throws a `ToolError` if a record in the merged value lacks a key.
  func check(_ value: ArchiveValue, _ name: String) throws {
    if case .record(let record) = value, let needed = keys[record.shape.mark], !isCase(record) {
      let missing = needed.subtracting(record.keys).sorted()
      guard missing.isEmpty else {
        throw ToolError(
          "\(name): after the merge, an object of \(record.typeName) lacks the keys \(missing.joined(separator: ", ")); "
            + "to merge list elements by identity, pass --policy 'byID(id)'; if the object is new, merge with the app's own "
            + "tool, which knows the default values"
        )
      }
    }
    guard !isMemory(value) else { return }
    try value.forEachInside { try check($0, name) }
  }

  /// Whether a value is a `MergeState`. Its records are not checked, because they contain only the keys that the server sent.
  private func isMemory(_ value: ArchiveValue) -> Bool {
    guard case .object(let object) = value else { return false }
    return object["base"] != nil && object["conflicts"] != nil
  }

  /// Whether a record can be an enum case. The only key of such a record is the name of the case.
  private func isCase(_ record: ModelRecord) -> Bool {
    guard record.keys.count == 1, let key = record.keys.first, case .object? = record[key] else { return false }
    return true
  }
}
