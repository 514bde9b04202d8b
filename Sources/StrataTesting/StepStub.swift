/// The next step of a model as source text, with guesses for renamed fields.
struct StepStub {
  let text: String

  init(from old: RecordedSchema, to new: RecordedSchema, version: Int) {
    var added = new.fields.filter { old.fields[$0.key] == nil }
    var lines: [String] = []
    for (key, field) in old.fields.sorted(by: { $0.key < $1.key }) where field.isArchived {
      guard let newField = new.fields[key] else {
        let match = added.filter { RecordedType(parsing: field.type).isSame(as: RecordedType(parsing: $0.value.type)) }
          .keys
          .max { (Self.likeness(key, $0), $1) < (Self.likeness(key, $1), $0) }
        if let match {
          added[match] = nil
          lines.append(".rename(\"\(key)\", to: \"\(match)\"),  // or .drop(\"\(key)\"), if \(match) is a new field")
        } else {
          lines.append(".drop(\"\(key)\"),")
        }
        continue
      }
      let (oldType, newType) = (RecordedType(parsing: field.type), RecordedType(parsing: newField.type))
      if case .optional(let wrapped) = oldType, wrapped.isRead(as: newType) {
        lines.append(".replaceNull(\"\(key)\", with: \(newField.initial ?? "<#a value#>")),")
      } else if newField.isArchived, !oldType.isRead(as: newType) {
        lines.append(".convert(\"\(key)\", <#a conversion to \(newField.type)#>),")
      }
    }
    for (key, field) in added.sorted(by: { $0.key < $1.key }) where !field.isOptional && field.isArchived {
      lines.append(".setDefault(\"\(key)\", <#\(field.type)#>),")
    }
    for name in (old.cases ?? [:]).keys.sorted() where new.cases?[name] == nil {
      lines.append(".custom(\"what becomes of the case \(name)\") { record in <#change record[\"\(name)\"]#> },")
    }
    let operations = lines.map { "\n    " + $0 }.joined()
    text = ".step(from: \(old.version), to: \(version)" + (lines.isEmpty ? ")" : "," + operations + "\n  )")
  }

  /// How many characters two keys share at their beginning and end.
  private static func likeness(_ one: String, _ other: String) -> Int {
    let one = one.lowercased(), other = other.lowercased()
    return zip(one, other).prefix { $0 == $1 }.count + zip(one.reversed(), other.reversed()).prefix { $0 == $1 }.count
  }
}
