import SwiftSyntax
import SwiftSyntaxMacros

/// The macro for `@Field`. It generates no code, because `@Model` reads the attribute. It only reports an attribute
/// that is not on a property of a model.
struct FieldMacro: PeerMacro {
  static func expansion(
    of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    if let missing = missingModel(around: context.lexicalContext) { context.diagnose(missing.at(node)) }
    if let declaration = declaration.as(EnumCaseDeclSyntax.self) {
      for argument in FieldAttribute.arguments(of: node) {
        guard let label = argument.label, label.text != "formerly" else { continue }
        context.diagnose(ModelDiagnostic.caseArgument(label.text).at(label))
      }
      if declaration.elements.count > 1 { context.diagnose(ModelDiagnostic.severalCases.at(node)) }
    } else if let declaration = declaration.as(VariableDeclSyntax.self) {
      let isField = !declaration.isStatic && declaration.bindings.allSatisfy(\.isStored)
      if !isField { context.diagnose(ModelDiagnostic.notAField.at(node)) }
    } else {
      context.diagnose(ModelDiagnostic.notAField.at(node))
    }
    return []
  }

  /// Returns the error for `@Field` in a type without `@Model`, where it would have no effect; `nil` if the type has
  /// `@Model`.
  private static func missingModel(around context: [Syntax]) -> ModelDiagnostic? {
    // Only types have stored properties, so any other context needs no check.
    guard let type = context.first?.asProtocol((any DeclGroupSyntax).self),
      let name = context.first?.asProtocol((any NamedDeclSyntax).self)?.name.text
    else { return nil }
    return type.attributes.named("Model").isEmpty ? .fieldWithoutModel(name) : nil
  }
}

extension VariableDeclSyntax {
  var isStatic: Bool { hasModifier("static") || hasModifier("class") }
  var isConstant: Bool { bindingSpecifier.tokenKind == .keyword(.let) }

  /// Whether the property has this modifier. The modifier may have an argument, as in `unowned(unsafe)`.
  func hasModifier(_ name: String) -> Bool { modifiers.contains { $0.name.text == name } }
}

extension PatternBindingSyntax {
  /// Whether the binding is a stored property. A stored property may have observers, but no other accessors.
  var isStored: Bool {
    guard let accessors = accessorBlock?.accessors else { return true }
    guard case .accessors(let list) = accessors else { return false }
    return list.allSatisfy { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }
  }
}
