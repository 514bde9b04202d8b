import SwiftDiagnostics
import SwiftSyntax

/// The arguments of `@Field`, as written.
struct FieldAttribute {
  var isExcluded = false
  var isConditional = false
  var hasArchive = false
  /// Whether the attribute has the argument `storage: .none`.
  var hasNoStorage = false
  var storage: ExprSyntax?
  var usesDefaultForUnknown = false
  var formerly: [ExprSyntax] = []
  var merge: ExprSyntax?
  var json: ExprSyntax?
  /// Whether the attribute has the argument `json: .none`, which omits the property from JSON.
  var isNowhereInJSON: Bool { [".none", "JSONField.none"].contains(json?.trimmedDescription) }
  var unknown: ExprSyntax?
  var node: AttributeSyntax?

  init() {}

  init(_ attributes: AttributeListSyntax, _ diagnostics: inout [Diagnostic]) {
    let nodes = attributes.named("Field")
    guard let node = nodes.first else { return }
    self.node = node
    if nodes.count > 1 { diagnostics.append(ModelDiagnostic.severalAttributes.at(nodes[1])) }
    var label: String?
    for argument in Self.arguments(of: node) {
      label = argument.label?.text ?? label
      let value = argument.expression.trimmed
      /// Returns the name of the enum case that is given as the argument's value. Reports an error if the name is not
      /// in `choices`.
      func choice(_ choices: String) -> String? {
        let name = value.as(MemberAccessExprSyntax.self)?.declName.baseName.text
        if let name, choices.split(whereSeparator: { " ,".contains($0) }).contains(".\(name)") { return name }
        diagnostics.append(
          ModelDiagnostic.notLiteral(argument: label ?? "", choices: choices).at(argument.expression))
        return nil
      }
      switch label {
      case "archive":
        let choice = choice(".always, .conditional or .excluded")
        hasArchive = true
        isExcluded = choice == "excluded"
        isConditional = choice == "conditional"
      case "storage":
        hasNoStorage = choice(".permanent, .transitory or .none") == "none"
        storage = value
      case "formerly": formerly.append(value)
      case "merge": merge = value
      case "json": json = value
      case "unknown":
        usesDefaultForUnknown = choice(".fail or .useDefault") == "useDefault"
        unknown = value
      default: break
      }
    }
  }

  static func name(of attribute: AttributeSyntax) -> String {
    if let type = attribute.attributeName.as(MemberTypeSyntax.self) { return type.name.text }
    return attribute.attributeName.as(IdentifierTypeSyntax.self)?.name.text ?? ""
  }

  static func arguments(of attribute: AttributeSyntax) -> [LabeledExprSyntax] {
    guard case .argumentList(let arguments)? = attribute.arguments else { return [] }
    return Array(arguments)
  }

  static func argument(_ label: String, of attribute: AttributeSyntax) -> ExprSyntax? {
    arguments(of: attribute).first { $0.label?.text == label }?.expression
  }

  /// The arguments that describe this attribute in a `FieldInfo` call, each preceded by a comma.
  func infoArguments(isConditional: Bool) -> String {
    var text = ""
    if !formerly.isEmpty { text += ", formerly: [\(formerly.map(\.description).joined(separator: ", "))]" }
    if isExcluded { text += ", archive: .excluded" }
    if isConditional { text += ", archive: .conditional" }
    if let storage { text += ", storage: \(storage)" }
    if let merge { text += ", merge: \(merge)" }
    if let json { text += ", json: \(json)" }
    if let unknown { text += ", unknown: \(unknown)" }
    return text
  }
}

extension AttributeListSyntax {
  /// Returns the attributes with this name, with or without a module name before it.
  func named(_ name: String) -> [AttributeSyntax] {
    compactMap { $0.as(AttributeSyntax.self) }.filter { FieldAttribute.name(of: $0) == name }
  }
}
