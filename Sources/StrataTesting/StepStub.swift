internal import Foundation
internal import StrataCore

/// The source text of a suggested migration step. It contains guesses about renamed fields.
struct StepStub {
  let text: String

  /// - Parameters:
  ///   - version: the version after the step.
  ///   - covered: the keys that the model's existing operations already change.
  ///   - nested: returns the current schema of a nested model by its registered name.
  init(
    from old: RecordedSchema, to new: RecordedSchema, version: Int, _ names: SchemaChange.Names,
    covered: Set<String> = [], nested: (String) -> ModelSchema?
  ) {
    let missing = Set(SchemaChange.changes(from: old, to: new, names).compactMap(\.key)).subtracting(covered)
    var free = Set(new.fields.keys.filter { old.fields[$0] == nil }).subtracting(covered)
    var added = new.fields.filter { old.fields[$0.key] == nil && missing.contains($0.key) }
    var lines: [String] = []
    for key in missing.sorted() where new.fields[key] == nil || old.fields[key] != nil {
      guard let field = old.fields[key] else {
        let isCase = old.cases?[key] != nil
        lines.append(
          isCase
            ? ".custom(\("what becomes of the case \(key)".debugDescription)) { record in "
              + "<#change record[\(key.debugDescription)]#> },"
            : ".drop(\(Self.path(key))),")
        continue
      }
      guard let newField = new.fields[key] else {
        if let renamed = names.keys[key], let newField = new.fields[renamed] {
          lines.append(".rename(\(key.debugDescription), to: \(renamed.debugDescription)),")
          lines.append(Self.change(renamed, field, newField, names))
          continue
        }
        let type = RecordedType(parsing: field.type).renamed(names.models)
        if let (owner, model) = Self.owner(of: key, type, among: free, new, names, nested) {
          added[owner] = nil
          lines.append(
            ".move(\(Self.path(key)), to: \(ValuePath(owner, key).description.debugDescription), "
              + "creating: .init(\(model.name.debugDescription), version: \(model.modelVersion))),"
              + "  // or .drop(\(Self.path(key))), if the new field does not hold this value")
          continue
        }
        let matches = free.filter { added in
          new.fields[added].map { type.isSame(as: RecordedType(parsing: $0.type).renamed(names.models)) } ?? false
        }
        if let match = matches.max(by: { (Self.likeness(key, $0), $1) < (Self.likeness(key, $1), $0) }) {
          added[match] = nil
          free.remove(match)
          lines.append(
            ".rename(\(key.debugDescription), to: \(match.debugDescription)),"
              + "  // or .drop(\(Self.path(key))), if \(match) is a new field")
        } else {
          lines.append(".drop(\(Self.path(key))),")
        }
        continue
      }
      lines.append(Self.change(key, field, newField, names))
    }
    for (key, field) in added.sorted(by: { $0.key < $1.key }) {
      lines.append(".setDefault(\(Self.path(key)), <#\(field.type)#>),")
    }
    let operations = lines.map { "\n    " + $0 }.joined()
    text = ".step(from: \(version - 1), to: \(version)" + (lines.isEmpty ? ")" : "," + operations + "\n  )")
  }

  /// Returns a new field whose nested model has a field with the given key and type; `nil` if there is none.
  private static func owner(
    of key: String, _ type: RecordedType, among free: Set<String>, _ new: RecordedSchema, _ names: SchemaChange.Names,
    _ nested: (String) -> ModelSchema?
  ) -> (key: String, model: ModelSchema)? {
    for owner in free.sorted() {
      guard case .named(let name)? = new.fields[owner].map({ RecordedType(parsing: $0.type).unwrapped }),
        let model = nested(name), let field = model.fields.first(where: { $0.key == key }),
        type.isRead(as: RecordedType(field.type).renamed(names.models))
      else { continue }
      return (owner, model)
    }
    return nil
  }

  private static func change(
    _ key: String, _ old: RecordedSchema.Field, _ new: RecordedSchema.Field, _ names: SchemaChange.Names
  ) -> String {
    let oldType = RecordedType(parsing: old.type).renamed(names.models)
    let newType = RecordedType(parsing: new.type).renamed(names.models)
    if !new.isArchived { return ".drop(\(path(key)))," }
    if !old.isArchived { return ".setDefault(\(path(key)), <#\(new.type)#>)," }
    if case .optional(let wrapped) = oldType, !newType.isOptional, wrapped.isRead(as: newType) {
      return ".replaceNull(\(path(key)), with: \(literal(new) ?? "<#a value#>")),"
    }
    return ".convert(\(path(key)), <#a conversion to \(new.type)#>),"
  }

  /// Returns the source text of a path literal for a key.
  private static func path(_ key: String) -> String { ValuePath(key: key).description.debugDescription }

  /// Returns the source text of a default; `nil` if the default is not an integer, a double, a Boolean or a string.
  private static func literal(_ field: RecordedSchema.Field) -> String? {
    guard let text = field.initial else { return nil }
    switch field.type {
    case "String": return text.contains("\n") ? nil : text
    case "Bool", "Double", "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64":
      return text == "a value" ? nil : text
    default: return nil
    }
  }

  /// Returns the similarity of two keys: the length of their common prefix plus the length of their common suffix, ignoring case.
  private static func likeness(_ one: String, _ other: String) -> Int {
    let one = one.lowercased(), other = other.lowercased()
    return zip(one, other).prefix { $0 == $1 }.count + zip(one.reversed(), other.reversed()).prefix { $0 == $1 }.count
  }
}
