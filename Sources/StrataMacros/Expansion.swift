import SwiftSyntax

// The code that `@Model` generates for a type. The generated members in the body of the type can use all names that the
// properties use. The generated extension must not name types, because an extension of a nested type does not see the
// declarations around that type.
extension ModelDeclaration {
  /// The static property that returns the schema: the model's name, its version, and its fields or cases.
  var schema: String {
    let lines: [String]
    switch kind {
    case .structure(let properties): lines = fieldLines(properties, inClass: false)
    case .object(let properties, _): lines = fieldLines(properties, inClass: true)
    case .enumeration(let cases): lines = ["cases: ["] + cases.map { "  \($0.info)," } + ["]\(floors))"]
    }
    return schemaProperty("\(access)static", "schema", lines)
  }

  /// Returns a property that contains the schema. If the type may be generic, it cannot have stored static properties,
  /// so the property looks up the schema in a cache.
  func schemaProperty(_ head: String, _ property: String, _ lines: [String]) -> String {
    let call = schemaCall(lines)
    guard name.mayBeGeneric else { return "\(head) let \(property) = \(call)" }
    return """
      \(head) var \(property): _StrataSchema {
        _StrataSchema.cached(\(typeName).self) {
      \(call.indented(2))
        }
      }
      """
  }

  /// Returns the source text of the call that creates the schema.
  ///
  /// - Parameter lines: the lines of the argument for the fields or cases.
  private func schemaCall(_ lines: [String]) -> String {
    let superclass = superclass.map { ", superclass: \($0)" } ?? ""
    let type = hooks.reduce("\(typeName).self") { "_Strata.\($1.rawValue)(\($0))" }
    let head = "\(type), name: \(name.expression)\(formerNamesArgument), version: \(version)\(superclass),"
    return "_StrataSchema(\n\(([head] + lines).joined(separator: "\n").indented(1))"
  }

  private var formerNamesArgument: String {
    guard let formerNames else { return "" }
    guard let arguments = name.arguments else { return ", formerNames: \(formerNames)" }
    return ", formerNames: (\(formerNames)).map { \"\\($0)\(arguments)\" }"
  }

  func fieldLines(_ properties: [StoredProperty], inClass: Bool) -> [String] {
    let fields = properties.filter { $0.role == .field }.map {
      "  \($0.info(inClass: inClass, inGeneric: name.mayBeGeneric)),"
    }
    let keeps = properties.contains { $0.role == .unknownFields } ? ", keepsUnknownFields: true" : ""
    let end = keeps + floors + ")"
    return fields.isEmpty ? ["fields: []\(end)"] : ["fields: ["] + fields + ["]\(end)"]
  }

  /// The generated members that are declared in an extension, because they need not be in the body of the type.
  var extensionMembers: [String] {
    switch kind {
    case .structure(let properties):
      return [initializer(properties), encoding(properties)] + unknownFields(properties)
        + adoptionAroundOthers(properties)
    case .object(_, let form) where form.isInHierarchy: return []
    case .object(let properties, let form):
      let initializers = form.hasImplicitInitializer ? [initializer(properties)] : []
      return initializers + [encoding(properties)] + unknownFields(properties)
    case .enumeration(let cases): return [noFields, encoding(cases), making(cases)]
    }
  }

  /// Returns the initializer that reads all fields from an archive.
  func initializer(_ properties: [StoredProperty]) -> String {
    var isConvenience = false
    var lines = reads(properties)
    if case .object(_, let form) = kind {
      isConvenience = form.hasImplicitInitializer
      let first = SourcePlace.lines([(form.excludesSuperclass ? form.place : nil, ["self.init()"])])
      lines = isConvenience ? first + lines : lines + superclassInitializer(form)
    }
    let head =
      "\(access)\(isConvenience ? "convenience " : "")init(fields reader: inout _StrataReader) throws"
    return function(head, of: properties, lines)
  }

  /// Returns the statements that read all fields from an archive.
  func reads(_ properties: [StoredProperty]) -> [String] {
    var statements: [(place: SourcePlace?, lines: [String])] = []
    var place = 0
    for property in properties {
      switch property.role {
      case .field:
        statements.append((property.place, property.read(place, schema: "\(typeName).schema", inInitializer: true)))
        place += 1
      case .unknownFields: statements.append((property.place, ["\(property.access) = reader.readUnknownFields()"]))
      case .unarchived: break
      }
    }
    return SourcePlace.lines(statements)
  }

  private func encoding(_ properties: [StoredProperty]) -> String {
    let fields = properties.filter { $0.role == .field }
    return function(
      "\(access)func encodeFields(to writer: inout _StrataWriter) throws", of: fields,
      writes(fields))
  }

  /// Returns the statements that write all fields to an archive.
  func writes(_ fields: [StoredProperty]) -> [String] {
    SourcePlace.lines(fields.enumerated().map { ($1.place, [$1.write($0)]) })
  }

  func unknownFields(_ properties: [StoredProperty]) -> [String] {
    properties.filter { $0.role == .unknownFields }.map {
      function("\(access)var archivedUnknownFields: _StrataUnknownFields", [$0.access])
    }
  }

  /// The access modifier of generated members that have the model type as a parameter or result. If the model is inside
  /// a private type, the compiler requires `fileprivate`, because the generated extension itself is not private.
  private var ownTypeAccess: String { isInPrivateType ? "fileprivate " : access }

  /// Returns the method that copies all variables of another object to this object. Constants and unarchived properties
  /// are not copied.
  func adoptingFields(_ properties: [StoredProperty]) -> String {
    let variables = properties.filter { $0.role != .unarchived && !$0.isConstant }
    return function(
      "\(ownTypeAccess)func adoptFields(of other: \(typeName))", of: variables,
      variables.map { "\($0.access) = other.\($0.name.text)" })
  }

  /// Returns the method that copies all fields of another value to this value. It is generated only for a struct that
  /// also has unarchived properties, which must keep their own values. Any other struct is simply replaced.
  private func adoptionAroundOthers(_ properties: [StoredProperty]) -> [String] {
    let others = properties.filter { $0.role == .unarchived && !$0.isConstant && !$0.isLazy }
    guard !others.isEmpty else { return [] }
    let kept = others.enumerated().map { "let kept\($0) = \($1.access)" }
    let restored = others.enumerated().map { "\($1.access) = kept\($0)" }
    return [
      function("\(ownTypeAccess)mutating func adoptFields(of other: Self)", kept + ["self = other"] + restored)
    ]
  }

  private var noFields: String {
    function(
      "\(access)init(fields reader: inout _StrataReader) throws", ["throw reader.enumHasNoFields()"])
  }

  private func encoding(_ cases: [EnumCase]) -> String {
    function(
      "\(access)func encodeFields(to writer: inout _StrataWriter) throws",
      ["switch self {"] + cases.flatMap(\.writing) + ["}", "writer.endCase()"])
  }

  private func making(_ cases: [EnumCase]) -> String {
    function(
      "\(ownTypeAccess)static func make(case name: String, payload: _StrataPayload) throws -> Self?",
      isDeprecated: cases.contains(where: \.isDeprecated),
      ["switch name {"] + cases.flatMap(\.making) + ["default: return nil", "}"])
  }

  /// Returns a method that uses the given properties. If one of the properties is deprecated, the method is marked as
  /// deprecated too, so that its use of the property causes no warning.
  func function(_ head: String, of properties: [StoredProperty], _ lines: [String]) -> String {
    function(head, isDeprecated: properties.contains { $0.isDeprecated && $0.role != .unarchived }, lines)
  }

  func function(_ head: String, isDeprecated: Bool = false, _ lines: [String]) -> String {
    let head = (isDeprecated ? "@available(*, deprecated)\n" : "") + head
    let lines = SourcePlace.ended(lines)
    return lines.isEmpty ? "\(head) {}" : "\(head) {\n\(lines.joined(separator: "\n").indented(1))\n}"
  }
}
