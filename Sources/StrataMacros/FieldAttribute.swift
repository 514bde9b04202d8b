import SwiftDiagnostics
import SwiftSyntax

/// The arguments of `@Field`, as written.
struct FieldAttribute {
  var isExcluded = false
  var isConditional = false
  var hasArchive = false
  /// Whether the property is declared with `storage: .none`.
  var takesNoPart = false
  var storage: ExprSyntax?
  var usesDefaultForUnknown = false
  var formerly: [ExprSyntax] = []
  var merge: ExprSyntax?
  var json: ExprSyntax?
  /// Whether the property is not in JSON: `json: .none`.
  var isNowhereInJSON: Bool { [".none", "JSONField.none"].contains(json?.trimmedDescription) }
  var unknown: ExprSyntax?
  var node: AttributeSyntax?

  init() {}

  init(_ attributes: AttributeListSyntax, _ diagnostics: inout [Diagnostic]) {
    let nodes = Self.attributes(in: attributes)
    guard let node = nodes.first else { return }
    self.node = node
    if nodes.count > 1 { diagnostics.append(ModelDiagnostic.severalAttributes.at(nodes[1])) }
    var label: String?
    for argument in Self.arguments(of: node) {
      label = argument.label?.text ?? label
      let value = argument.expression.trimmed
      switch label {
      case "archive":
        let choice = Self.choice(value, ["always", "conditional", "excluded"])
        if choice == nil {
          diagnostics.append(
            ModelDiagnostic.notLiteral(argument: "archive", choices: ".always, .conditional or .excluded").at(
              argument.expression))
        }
        hasArchive = true
        isExcluded = choice == "excluded"
        isConditional = choice == "conditional"
      case "storage":
        let choice = Self.choice(value, ["permanent", "transitory", "none"])
        if choice == nil {
          diagnostics.append(
            ModelDiagnostic.notLiteral(argument: "storage", choices: ".permanent, .transitory or .none").at(
              argument.expression))
        }
        takesNoPart = choice == "none"
        storage = value
      case "formerly": formerly.append(value)
      case "merge": merge = value
      case "json": json = value
      case "unknown":
        let choice = Self.choice(value, ["fail", "useDefault"])
        if choice == nil {
          diagnostics.append(
            ModelDiagnostic.notLiteral(argument: "unknown", choices: ".fail or .useDefault").at(
              argument.expression))
        }
        usesDefaultForUnknown = choice == "useDefault"
        unknown = value
      default: break
      }
    }
  }

  /// The attributes named `Field`, with or without a module name.
  static func attributes(in attributes: AttributeListSyntax) -> [AttributeSyntax] {
    attributes.compactMap { element in
      guard case .attribute(let attribute) = element, name(of: attribute) == "Field" else { return nil }
      return attribute
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

  private static func choice(_ expression: ExprSyntax, _ choices: [String]) -> String? {
    guard let name = expression.as(MemberAccessExprSyntax.self)?.declName.baseName.text else { return nil }
    return choices.first { $0 == name }
  }

  /// The arguments for a `FieldInfo`, each after a comma.
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
