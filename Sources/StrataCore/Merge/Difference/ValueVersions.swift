/// Aligns values that hold the same types in different versions, so that they can be compared field by field.
package enum ValueVersions {
  /// A type whose versions differ.
  package struct Difference: Sendable {
    package let name: String
    /// The versions in the old value; `nil` for a record without a version.
    package let old: Set<Int?>
    package let new: Set<Int?>
  }

  /// Removes the versions from records of types whose versions differ, so that they count as records of one type.
  ///
  /// - Returns: the values, and those types sorted by name.
  package static func aligned(_ old: ArchiveValue, _ new: ArchiveValue) -> (
    old: ArchiveValue, new: ArchiveValue, types: [Difference]
  ) {
    var types: [String: (old: Set<Int?>, new: Set<Int?>)] = [:]
    old.visitRecords {
      for (name, version) in $0.versions { types[name, default: ([], [])].old.insert(version) }
    }
    new.visitRecords {
      for (name, version) in $0.versions { types[name, default: ([], [])].new.insert(version) }
    }
    types = types.filter {
      !$0.value.old.isEmpty && !$0.value.new.isEmpty && $0.value.old != $0.value.new
    }
    guard !types.isEmpty else { return (old, new, []) }
    let names = Set(types.keys)
    return (
      old.mapRecords { $0.withoutVersions(of: names) }, new.mapRecords { $0.withoutVersions(of: names) },
      types.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        .map { Difference(name: $0.key, old: $0.value.old, new: $0.value.new) }
    )
  }
}

extension ModelRecord {
  /// The names and versions of the type and of its superclasses.
  fileprivate var versions: [(name: String, version: Int?)] {
    [(typeName, modelVersion)] + superclasses.map { ($0.typeName, $0.modelVersion) }
  }

  fileprivate func withoutVersions(of names: Set<String>) -> ModelRecord {
    var record = self
    if names.contains(typeName) { record.modelVersion = nil }
    if !superclasses.isEmpty {
      record.superclasses = superclasses.map { level in
        names.contains(level.typeName) ? .init(typeName: level.typeName, modelVersion: 0) : level
      }
    }
    return record
  }
}

extension ArchiveValue {
  fileprivate func visitRecords(_ body: (ModelRecord) -> Void) {
    if case .record(let record) = self { body(record) }
    forEachInside { $0.visitRecords(body) }
  }

  /// Returns the value with each record replaced.
  fileprivate func mapRecords(_ change: (ModelRecord) -> ModelRecord) -> ArchiveValue {
    let changed = mapInside { $0.mapRecords(change) }
    return if case .record(let record) = changed { .record(change(record)) } else { changed }
  }
}
