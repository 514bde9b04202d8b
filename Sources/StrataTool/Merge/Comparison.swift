internal import StrataCore

/// Two documents, converted so that they can be compared key by key.
struct Comparison {
  private(set) var old: ArchiveValue
  private(set) var new: ArchiveValue
  /// The differences in types and versions, one per line.
  private(set) var notes: [String] = []

  init(_ old: Document, _ new: Document) throws {
    func tree(_ document: Document) throws -> ArchiveValue {
      try ToolError.at(document.name) { try Self.tree(document.value) }
    }
    (self.old, self.new) = try Self.aligned((old, try tree(old)), (new, try tree(new)))
    alignVersions()
    alignRoots()
  }

  /// Returns both values in a form that can be compared. If only one document is JSON, its values are converted to the
  /// types of the values at the same paths in the other document. Otherwise a date would differ from the same date in
  /// JSON.
  static func aligned(
    _ old: (document: Document, value: ArchiveValue), _ new: (document: Document, value: ArchiveValue)
  ) throws -> (old: ArchiveValue, new: ArchiveValue) {
    func typed(_ json: ArchiveValue, like example: ArchiveValue) throws -> ArchiveValue {
      try JSONTyping(examples: [example], isStrict: false).typed(json, like: example)
    }
    return switch (old.document.isJSON, new.document.isJSON) {
    case (true, false): (try typed(old.value, like: new.value), new.value)
    case (false, true): (old.value, try typed(new.value, like: old.value))
    default: (old.value, new.value)
    }
  }

  static func tree(_ value: ArchiveValue) throws -> ArchiveValue {
    switch value {
    case .array(let elements): .array(try elements.map { try tree($0) })
    case .graph(let graph): try graph.unfolded()
    default: value
    }
  }

  /// Removes the versions from records of types that have different versions in the two documents, so that these
  /// records are compared field by field.
  private mutating func alignVersions() {
    let aligned = ValueVersions.aligned(old, new)
    (old, new) = (aligned.old, aligned.new)
    func text(_ versions: Set<Int?>) -> String {
      versions.sorted { $0 ?? -1 < $1 ?? -1 }.map { $0.map(String.init) ?? "none" }.joined(separator: ", ")
    }
    for type in aligned.types {
      notes.append("\(type.name): version \(text(type.old)) was compared with version \(text(type.new)) field by field")
    }
  }

  /// Reduces the roots to their fields if the roots have different types, or if only one root has a type.
  private mutating func alignRoots() {
    func fields(_ value: ArchiveValue) -> (name: String, object: ArchiveObject)? {
      switch value {
      case .record(let record): (record.typeName, record.object)
      case .object(let object): ("an object", object)
      default: nil
      }
    }
    guard let (name, object) = fields(old), let (newName, newObject) = fields(new), name != newName else { return }
    notes.append("\(name) was compared with \(newName) field by field")
    (old, new) = (.object(object), .object(newObject))
  }
}
