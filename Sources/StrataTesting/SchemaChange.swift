internal import StrataCore

/// A difference between two versions of a model.
package struct SchemaChange {
  package let text: String
  /// The key that a migration step must set, change or remove; `nil` if data of the older version does not need a step.
  package let key: String?
  /// Whether an older program can still read data of the newer version, provided that the program keeps unknown keys.
  let isAddition: Bool

  private init(_ text: String, needsStepFor key: String? = nil, isAddition: Bool = false) {
    (self.text, self.key, self.isAddition) = (text, key, isAddition)
  }

  /// The current names of models, fields and cases, by their former names.
  package struct Names {
    package var models: [String: String] = [:]
    package var keys: [String: String] = [:]
    package var cases: [String: String] = [:]
    /// The keys that subclasses currently declare.
    package var subclassKeys: Set<String> = []

    package init() {}
  }

  /// Returns the differences between an older schema and a newer schema.
  package static func changes(from old: RecordedSchema, to new: RecordedSchema, _ names: Names) -> [SchemaChange] {
    var changes: [SchemaChange] = []
    func note(_ text: String, needsStepFor key: String? = nil) { changes.append(.init(text, needsStepFor: key)) }
    if old.name != new.name { note("the model was renamed from \(old.name) to \(new.name)") }
    if old.kind != new.kind { note("the model changed from a \(old.kind.noun) to a \(new.kind.noun)") }
    func today(_ name: String?) -> String? { name.map { names.models[$0] ?? $0 } }
    if today(old.superclass) != today(new.superclass) {
      note("the superclass changed from \(old.superclass ?? "none") to \(new.superclass ?? "none")")
      let left = Set(new.fields.keys).union((new.inherited ?? [:]).keys)
      for key in (old.inherited ?? [:]).keys.sorted() where !left.contains(key) {
        note("the inherited field \(key) was removed", needsStepFor: key)
      }
    }
    if old.keepsUnknownFields != new.keepsUnknownFields {
      note(
        new.keepsUnknownFields == true
          ? "the model now keeps unknown fields" : "the model no longer keeps unknown fields")
    }
    changes += self.changes(ofFields: old, new, names)
    return changes + self.changes(ofCases: old.cases ?? [:], new.cases ?? [:], names)
  }

  /// Returns the reasons why a program with the older schema cannot read data of the newer schema.
  static func obstacles(from old: RecordedSchema, to new: RecordedSchema, _ names: Names) -> [String] {
    let changes = changes(from: old, to: new, names).filter { !$0.isAddition }.map(\.text)
    guard old.keepsUnknownFields != true else { return changes }
    let loss = "version \(old.version) would lose new fields because it has no property of the type UnknownFields"
    return [loss] + changes
  }

  private static func changes(
    ofFields old: RecordedSchema, _ new: RecordedSchema, _ names: Names
  ) -> [SchemaChange] {
    var changes: [SchemaChange] = []
    var taken: Set<String> = []
    for (key, field) in old.fields.sorted(by: { $0.key < $1.key }) {
      guard let match = match(key, new.fields.keys, names.keys), let newField = new.fields[match] else {
        if let newType = new.inherited?[key] {
          let isRead = RecordedType(parsing: field.type).isRead(as: RecordedType(parsing: newType))
          changes.append(
            .init(
              "the field \(key), whose type is \(newType), was moved to a superclass",
              needsStepFor: isRead ? nil : key))
        } else if names.subclassKeys.contains(key) {
          // This change requires no step of this class, because such a step would remove the value before the subclass could read
          // it.
          changes.append(.init("the field \(key) was moved to a subclass"))
        } else {
          changes.append(.init("the field \(key) was removed", needsStepFor: field.isArchived ? key : nil))
        }
        continue
      }
      taken.insert(match)
      if match != key { changes.append(.init("the field \(key) was renamed to \(match)")) }
      changes += self.changes(of: match, formerly: key, from: field, to: newField, names)
    }
    for (key, field) in new.fields.sorted(by: { $0.key < $1.key }) where !taken.contains(key) {
      changes.append(
        .init(
          "the field \(key) of the type \(field.type) was added",
          needsStepFor: field.isOptional || !field.isArchived ? nil : key,
          isAddition: true))
    }
    return changes
  }

  /// Returns the entry of `names` for the field or case that had an older name: the older name itself, or a name that has the same
  /// current name. Only former names that are still declared are considered, because data of every version is read with these names.
  private static func match(_ name: String, _ names: some Collection<String>, _ today: [String: String]) -> String? {
    if names.contains(name) { return name }
    guard let final = today[name] else { return nil }
    return names.filter { $0 == final || today[$0] == final }.min()
  }

  private static func changes(
    of key: String, formerly oldKey: String, from old: RecordedSchema.Field, to new: RecordedSchema.Field,
    _ names: Names
  ) -> [SchemaChange] {
    // Each change contains the old key. Steps use the old key, because former keys are read only after the last step.
    var changes: [SchemaChange] = []
    let oldType = RecordedType(parsing: old.type).renamed(names.models)
    let newType = RecordedType(parsing: new.type).renamed(names.models)
    if !oldType.isSame(as: newType) {
      changes.append(
        .init(
          "the type of the field \(key) changed from \(old.type) to \(new.type)",
          needsStepFor: new.isArchived && !oldType.isRead(as: newType) ? oldKey : nil))
    }
    if old.initial != new.initial {
      changes.append(
        .init(
          "the default of the field \(key) changed from \(old.initial ?? "none") to \(new.initial ?? "none")",
          isAddition: true))
    }
    if old.archive != new.archive {
      let isLost = old.isArchived && !new.isArchived
      let isMissing = !old.isArchived && new.isArchived && !new.isOptional
      changes.append(
        .init(
          "the archive behavior of the field \(key) changed from \(old.archive ?? "always") to "
            + "\(new.archive ?? "always")",
          needsStepFor: isLost || isMissing ? oldKey : nil))
    }
    if old.json != new.json {
      changes.append(
        .init(
          "the JSON mapping of the field \(key) changed from “\(old.json ?? oldKey)” to “\(new.json ?? key)”",
          isAddition: true))
    }
    return changes
  }

  private static func changes(
    ofCases old: [String: RecordedSchema.Case], _ new: [String: RecordedSchema.Case], _ names: Names
  ) -> [SchemaChange] {
    var changes: [SchemaChange] = []
    var taken: Set<String> = []
    for (name, info) in old.sorted(by: { $0.key < $1.key }) {
      guard let match = match(name, new.keys, names.cases), let newInfo = new[match] else {
        changes.append(.init("the case \(name) was removed", needsStepFor: name))
        continue
      }
      taken.insert(match)
      if match != name { changes.append(.init("the case \(name) was renamed to \(match)")) }
      for key in Set(info.payload.keys).union(newInfo.payload.keys).sorted() {
        let (oldType, newType) = (info.payload[key], newInfo.payload[key])
        let one = oldType.map { RecordedType(parsing: $0).renamed(names.models) }
        let other = newType.map { RecordedType(parsing: $0).renamed(names.models) }
        if let one, let other, one.isSame(as: other) { continue }
        let isRead = other.map { other in one.map { $0.isRead(as: other) } ?? other.isOptional } ?? false
        changes.append(
          .init(
            "the type of the associated value \(key) of the case \(name) changed from \(oldType ?? "none") to "
              + "\(newType ?? "none")",
            needsStepFor: isRead ? nil : name))
      }
    }
    for name in new.keys.sorted() where !taken.contains(name) { changes.append(.init("the case \(name) was added")) }
    return changes
  }
}

extension RecordedSchema.Kind {
  fileprivate var noun: String {
    switch self {
    case .structure: "structure"
    case .object: "class"
    case .enumeration: "enum"
    }
  }
}
