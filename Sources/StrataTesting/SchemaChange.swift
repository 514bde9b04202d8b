internal import StrataCore

/// One difference between two versions of a model.
struct SchemaChange {
  let text: String
  /// The key whose value a step must change or remove; `nil` if data of the older version needs no step.
  let key: String?

  private init(_ text: String, needsStepFor key: String? = nil) { (self.text, self.key) = (text, key) }

  /// The differences from an older schema to a newer one.
  ///
  /// - Parameter formerKeys: the former keys of each field that the newer schema declares, if it is today's.
  static func changes(
    from old: RecordedSchema, to new: RecordedSchema, formerKeys: [String: [String]] = [:],
    formerCases: [String: String] = [:]
  ) -> [SchemaChange] {
    var changes: [SchemaChange] = []
    func note(_ text: String, needsStepFor key: String? = nil) { changes.append(.init(text, needsStepFor: key)) }
    if old.kind != new.kind { note("it was a \(old.kind.noun) and is a \(new.kind.noun)") }
    if old.superclass != new.superclass {
      note("its superclass was \(old.superclass ?? "none") and is \(new.superclass ?? "none")")
    }
    if old.keepsUnknownFields != new.keepsUnknownFields {
      note(new.keepsUnknownFields == true ? "it keeps unknown fields now" : "it no longer keeps unknown fields")
    }
    // A value of a former key is read under the key of today.
    let readAs = Dictionary(
      formerKeys.flatMap { key, formers in formers.map { ($0, key) } }, uniquingKeysWith: { first, _ in first })
    var taken: Set<String> = []
    for (key, field) in old.fields.sorted(by: { $0.key < $1.key }) {
      let newKey = new.fields[key] != nil ? key : readAs[key].flatMap { new.fields[$0] != nil ? $0 : nil }
      guard let newKey, let newField = new.fields[newKey] else {
        note("\(key) was removed", needsStepFor: field.isArchived ? key : nil)
        continue
      }
      taken.insert(newKey)
      if newKey != key { note("\(key) is called \(newKey)") }
      changes += Self.changes(of: newKey, from: field, to: newField)
    }
    for (key, field) in new.fields.sorted(by: { $0.key < $1.key }) where !taken.contains(key) {
      note("\(key): \(field.type) was added", needsStepFor: field.isOptional || !field.isArchived ? nil : key)
    }
    return changes + Self.changes(ofCases: old.cases ?? [:], new.cases ?? [:], formerCases)
  }

  private static func changes(
    of key: String, from old: RecordedSchema.Field, to new: RecordedSchema.Field
  ) -> [SchemaChange] {
    var changes: [SchemaChange] = []
    let (oldType, newType) = (RecordedType(parsing: old.type), RecordedType(parsing: new.type))
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
    ofCases old: [String: [String: String]], _ new: [String: [String: String]], _ formerCases: [String: String]
  ) -> [SchemaChange] {
    var changes: [SchemaChange] = []
    var taken: Set<String> = []
    for (name, payload) in old.sorted(by: { $0.key < $1.key }) {
      let newName = new[name] != nil ? name : formerCases[name]
      guard let newName, let newPayload = new[newName] else {
        changes.append(.init("the case \(name) was removed", needsStepFor: name))
        continue
      }
      taken.insert(newName)
      if newName != name { changes.append(.init("the case \(name) is called \(newName)")) }
      for key in Set(payload.keys).union(newPayload.keys).sorted() where !isSame(payload[key], newPayload[key]) {
        let isRead = newPayload[key].map { newType in
          payload[key].map { RecordedType(parsing: $0).isRead(as: RecordedType(parsing: newType)) }
            ?? newType.hasSuffix("?")
        }
        changes.append(
          .init(
            "\(key) of the case \(name) was \(payload[key] ?? "none") and is \(newPayload[key] ?? "none")",
            needsStepFor: isRead == true ? nil : name))
      }
    }
    for name in new.keys.sorted() where !taken.contains(name) { changes.append(.init("the case \(name) was added")) }
    return changes
  }

  private static func isSame(_ one: String?, _ other: String?) -> Bool {
    guard let one, let other else { return one == other }
    return RecordedType(parsing: one).isSame(as: RecordedType(parsing: other))
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
