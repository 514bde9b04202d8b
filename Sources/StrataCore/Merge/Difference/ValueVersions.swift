/// Aligns values that contain the same types in different versions, so that they can be compared field by field.
package enum ValueVersions {
  /// A type that has different versions in the two values.
  package struct Difference: Sendable {
    package let name: String
    /// The versions in the old value, with `nil` for a record without a version.
    package let old: Set<Int?>
    package let new: Set<Int?>
  }

  /// Removes the versions from records of types whose versions differ, so that they can be compared as records of one type.
  ///
  /// - Returns: the aligned values, and the types whose versions differ, sorted by name.
  package static func aligned(_ old: ArchiveValue, _ new: ArchiveValue) -> (
    old: ArchiveValue, new: ArchiveValue, types: [Difference]
  ) {
    func versions(_ value: ArchiveValue) -> [String: Set<Int?>] {
      var versions: [String: Set<Int?>] = [:]
      value.visitRecords { for (name, version) in $0.versions { versions[name, default: []].insert(version) } }
      return versions
    }
    let news = versions(new)
    let types = versions(old).compactMap { name, old in
      news[name].flatMap { $0 == old ? nil : Difference(name: name, old: old, new: $0) }
    }
    guard !types.isEmpty else { return (old, new, []) }
    let names = Set(types.map(\.name))
    return (
      old.mapRecords { $0.withoutVersions(of: names) }, new.mapRecords { $0.withoutVersions(of: names) },
      types.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
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

  /// Returns the value with each record replaced, including nested records.
  fileprivate func mapRecords(_ change: (ModelRecord) -> ModelRecord) -> ArchiveValue {
    let changed = mapInside { $0.mapRecords(change) }
    return if case .record(let record) = changed { .record(change(record)) } else { changed }
  }
}
