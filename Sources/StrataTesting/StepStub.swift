internal import Foundation
internal import StrataCore

/// A step of a model as source text, with guesses for renamed fields.
struct StepStub {
  let text: String

  /// - Parameter version: the version that the step leads to.
  init(from old: RecordedSchema, to new: RecordedSchema, version: Int, _ names: SchemaChange.Names) {
    let missing = Set(SchemaChange.changes(from: old, to: new, names).compactMap(\.key))
    var added = new.fields.filter { old.fields[$0.key] == nil && missing.contains($0.key) }
    var lines: [String] = []
    for key in missing.sorted() where new.fields[key] == nil || old.fields[key] != nil {
      guard let field = old.fields[key] else {
        let isCase = old.cases?[key] != nil
        lines.append(
          isCase
            ? ".custom(\"what becomes of the case \(key)\") { record in <#change record[\(key.debugDescription)]#> },"
            : ".drop(\(Self.path(key))),")
        continue
      }
      guard let newField = new.fields[key] else {
        let match = Self.added(field, new, old).max { (Self.likeness(key, $0), $1) < (Self.likeness(key, $1), $0) }
        if let match, lines.allSatisfy({ !$0.contains("to: \(match.debugDescription)") }) {
          added[match] = nil
          lines.append(
            ".rename(\(key.debugDescription), to: \(match.debugDescription)),"
              + "  // or .drop(\(Self.path(key))), if \(match) is a new field")
        } else {
          lines.append(".drop(\(Self.path(key))),")
        }
        continue
      }
      lines.append(Self.change(key, field, newField))
    }
    for (key, field) in added.sorted(by: { $0.key < $1.key }) {
      lines.append(".setDefault(\(Self.path(key)), <#\(field.type)#>),")
    }
    let operations = lines.map { "\n    " + $0 }.joined()
    text = ".step(from: \(version - 1), to: \(version)" + (lines.isEmpty ? ")" : "," + operations + "\n  )")
  }

  private static func change(_ key: String, _ old: RecordedSchema.Field, _ new: RecordedSchema.Field) -> String {
    let (oldType, newType) = (RecordedType(parsing: old.type), RecordedType(parsing: new.type))
    if !new.isArchived { return ".drop(\(path(key)))," }
    if !old.isArchived { return ".setDefault(\(path(key)), <#\(new.type)#>)," }
    if case .optional(let wrapped) = oldType, !newType.isOptional, wrapped.isRead(as: newType) {
      return ".replaceNull(\(path(key)), with: \(literal(new.initial) ?? "<#a value#>")),"
    }
    return ".convert(\(path(key)), <#a conversion to \(new.type)#>),"
  }

  /// The keys of added fields with the type of a removed one.
  private static func added(_ field: RecordedSchema.Field, _ new: RecordedSchema, _ old: RecordedSchema) -> [String] {
    let type = RecordedType(parsing: field.type)
    return new.fields.filter { old.fields[$0.key] == nil && type.isSame(as: RecordedType(parsing: $0.value.type)) }
      .map(\.key)
  }

  /// A key as the literal of a path.
  private static func path(_ key: String) -> String { ValuePath(key: key).description.debugDescription }

  /// A default as source text; `nil` if it is not a number, a boolean or a text.
  private static func literal(_ text: String?) -> String? {
    guard let text else { return nil }
    let isText = text.hasPrefix("\"") && text.hasSuffix("\"") && !text.contains("\n")
    return isText || ["true", "false"].contains(text) || Double(text)?.isFinite ?? false ? text : nil
  }

  /// How many characters two keys share at their beginning and end.
  private static func likeness(_ one: String, _ other: String) -> Int {
    let one = one.lowercased(), other = other.lowercased()
    return zip(one, other).prefix { $0 == $1 }.count + zip(one.reversed(), other.reversed()).prefix { $0 == $1 }.count
  }
}
