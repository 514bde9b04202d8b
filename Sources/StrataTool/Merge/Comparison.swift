internal import StrataCore

/// Two documents, brought to one form so that they can be compared key by key.
struct Comparison {
  private(set) var old: Value
  private(set) var new: Value
  /// What differs beside the values, a line each.
  private(set) var notes: [String] = []

  init(_ old: Document, _ new: Document) throws {
    func tree(_ document: Document) throws -> Value {
      try ToolError.at(document.name) { try Self.tree(document.value) }
    }
    (self.old, self.new) = try Self.aligned((old, try tree(old)), (new, try tree(new)))
    alignVersions()
    alignRoots()
  }

  /// The values, where one of them is JSON with the types that the other one has at the same places: the same number or
  /// date can be spelled in several ways.
  static func aligned(
    _ old: (document: Document, value: Value), _ new: (document: Document, value: Value)
  ) throws -> (old: Value, new: Value) {
    func typed(_ json: Value, like example: Value) throws -> Value {
      try JSONTyping(examples: [example], isStrict: false).typed(json, like: example)
    }
    return switch (old.document.isJSON, new.document.isJSON) {
    case (true, false): (try typed(old.value, like: new.value), new.value)
    case (false, true): (old.value, try typed(new.value, like: old.value))
    default: (old.value, new.value)
    }
  }

  private static func tree(_ value: Value) throws -> Value {
    switch value {
    case .array(let elements): .array(try elements.map { try tree($0) })
    case .graph(let graph): try graph.unfolded()
    default: value
    }
  }

  /// Takes the versions from records of types whose versions differ.
  private mutating func alignVersions() {
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
    guard !types.isEmpty else { return }
    func text(_ versions: Set<Int?>) -> String {
      versions.sorted { $0 ?? -1 < $1 ?? -1 }.map { $0.map(String.init) ?? "none" }.joined(separator: ", ")
    }
    for (name, versions) in types.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
      notes.append("\(name): version \(text(versions.old)) → \(text(versions.new)), compared field by field")
    }
    let names = Set(types.keys)
    old = old.mapRecords { $0.withoutVersions(of: names) }
    new = new.mapRecords { $0.withoutVersions(of: names) }
  }

  /// Compares roots of two types, or of a type and none, by their fields.
  private mutating func alignRoots() {
    func fields(_ value: Value) -> (name: String, object: Object)? {
      switch value {
      case .record(let record): (record.typeName, record.object)
      case .object(let object): ("an object", object)
      default: nil
      }
    }
    guard let (name, object) = fields(old), let (newName, newObject) = fields(new), name != newName else { return }
    notes.append("\(name) → \(newName), compared field by field")
    (old, new) = (.object(object), .object(newObject))
  }
}

extension ModelRecord {
  /// The versions of the type and of its superclasses, by their names.
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

extension Value {
  fileprivate func visitRecords(_ body: (ModelRecord) -> Void) {
    if case .record(let record) = self { body(record) }
    forEachInside { $0.visitRecords(body) }
  }

  /// The value with other records in the places of its own.
  fileprivate func mapRecords(_ change: (ModelRecord) -> ModelRecord) -> Value {
    let changed = mapInside { $0.mapRecords(change) }
    return if case .record(let record) = changed { .record(change(record)) } else { changed }
  }
}
