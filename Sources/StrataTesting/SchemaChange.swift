internal import StrataCore

/// One difference between two versions of a model.
struct SchemaChange {
  let text: String
  /// The key whose value a step must change or remove; `nil` if data of the older version needs no step.
  let key: String?

  private init(_ text: String, needsStepFor key: String? = nil) { (self.text, self.key) = (text, key) }

  /// The names that models, fields and cases have today, by those that they had.
  struct Names {
    var models: [String: String] = [:]
    var keys: [String: String] = [:]
    var cases: [String: String] = [:]
  }

  /// The differences from an older schema to a newer one.
  static func changes(from old: RecordedSchema, to new: RecordedSchema, _ names: Names) -> [SchemaChange] {
    var changes: [SchemaChange] = []
    func note(_ text: String, needsStepFor key: String? = nil) { changes.append(.init(text, needsStepFor: key)) }
    if old.name != new.name { note("it was called \(old.name) and is called \(new.name)") }
    if old.kind != new.kind { note("it was a \(old.kind.noun) and is a \(new.kind.noun)") }
    func today(_ name: String?) -> String? { name.map { names.models[$0] ?? $0 } }
    if today(old.superclass) != today(new.superclass) {
      note("its superclass was \(old.superclass ?? "none") and is \(new.superclass ?? "none")")
      let left = Set(new.fields.keys).union(new.inherited ?? [])
      for key in (old.inherited ?? []).sorted() where !left.contains(key) {
        note("\(key), which it inherited, was removed", needsStepFor: key)
      }
    }
    if old.keepsUnknownFields != new.keepsUnknownFields {
      note(new.keepsUnknownFields == true ? "it keeps unknown fields now" : "it no longer keeps unknown fields")
    }
    changes += self.changes(ofFields: old, new, names)
    return changes + self.changes(ofCases: old.cases ?? [:], new.cases ?? [:], names)
  }

  private static func changes(
    ofFields old: RecordedSchema, _ new: RecordedSchema, _ names: Names
  ) -> [SchemaChange] {
    var changes: [SchemaChange] = []
    var taken: Set<String> = []
    for (key, field) in old.fields.sorted(by: { $0.key < $1.key }) {
      let match = Self.match(key, new.fields.mapValues { $0.formerly ?? [] }, names.keys)
      guard let match, let newField = new.fields[match] else {
        if new.inherited?.contains(key) ?? false {
          changes.append(.init("\(key) was moved to a superclass"))
        } else {
          changes.append(.init("\(key) was removed", needsStepFor: field.isArchived ? key : nil))
        }
        continue
      }
      taken.insert(match)
      if match != key { changes.append(.init("\(key) is called \(match)")) }
      changes += self.changes(of: match, from: field, to: newField, names)
    }
    for (key, field) in new.fields.sorted(by: { $0.key < $1.key }) where !taken.contains(key) {
      changes.append(
        .init(
          "\(key): \(field.type) was added", needsStepFor: field.isOptional || !field.isArchived ? nil : key))
    }
    return changes
  }

  /// The name that has a value of an older name: the same, one that declares it, or one with the same name today.
  private static func match(_ name: String, _ formers: [String: [String]], _ today: [String: String]) -> String? {
    if formers[name] != nil { return name }
    if let match = formers.filter({ $0.value.contains(name) }).keys.min() { return match }
    guard let final = today[name] else { return nil }
    return formers.keys.filter { ($0 == final || today[$0] == final) }.min()
  }

  private static func changes(
    of key: String, from old: RecordedSchema.Field, to new: RecordedSchema.Field, _ names: Names
  ) -> [SchemaChange] {
    var changes: [SchemaChange] = []
    let oldType = RecordedType(parsing: old.type).renamed(names.models)
    let newType = RecordedType(parsing: new.type).renamed(names.models)
    if !oldType.isSame(as: newType) {
      changes.append(
        .init(
          "\(key) was \(old.type) and is \(new.type)",
          needsStepFor: new.isArchived && !oldType.isRead(as: newType) ? key : nil))
    }
    if old.initial != new.initial {
      changes.append(.init("the default of \(key) was \(old.initial ?? "none") and is \(new.initial ?? "none")"))
    }
    if old.archive != new.archive {
      let isLost = old.isArchived && !new.isArchived
      let isMissing = !old.isArchived && new.isArchived && !new.isOptional
      changes.append(
        .init(
          "archives had \(key): \(old.archive ?? "always"), and have it: \(new.archive ?? "always")",
          needsStepFor: isLost || isMissing ? key : nil))
    }
    if old.json != new.json {
      changes.append(.init("JSON had \(key) at \(old.json ?? "its key") and has it at \(new.json ?? "its key")"))
    }
    return changes
  }

  private static func changes(
    ofCases old: [String: RecordedSchema.Case], _ new: [String: RecordedSchema.Case], _ names: Names
  ) -> [SchemaChange] {
    var changes: [SchemaChange] = []
    var taken: Set<String> = []
    for (name, info) in old.sorted(by: { $0.key < $1.key }) {
      let match = Self.match(name, new.mapValues { $0.formerly ?? [] }, names.cases)
      guard let match, let newInfo = new[match] else {
        changes.append(.init("the case \(name) was removed", needsStepFor: name))
        continue
      }
      taken.insert(match)
      if match != name { changes.append(.init("the case \(name) is called \(match)")) }
      for key in Set(info.payload.keys).union(newInfo.payload.keys).sorted() {
        let (oldType, newType) = (info.payload[key], newInfo.payload[key])
        let one = oldType.map { RecordedType(parsing: $0).renamed(names.models) }
        let other = newType.map { RecordedType(parsing: $0).renamed(names.models) }
        if let one, let other, one.isSame(as: other) { continue }
        let isRead = other.map { other in one.map { $0.isRead(as: other) } ?? other.isOptional } ?? false
        changes.append(
          .init(
            "\(key) of the case \(name) was \(oldType ?? "none") and is \(newType ?? "none")",
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
