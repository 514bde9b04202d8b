import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@Model`: the schema, and in a class all that must stand in its body, as members; the rest in an extension, so
/// that a struct keeps its memberwise initializer.
struct ModelMacro: MemberMacro, ExtensionMacro {
  static func expansion(
    of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    // The other role reports what is wrong.
    guard let model = ModelDeclaration.read(node, declaration, in: context.lexicalContext).model else {
      return []
    }
    var members = [model.schema]
    if case .object(let properties, let hasImplicitInitializer) = model.kind {
      if !hasImplicitInitializer { members.append(model.initializer(properties)) }
      members.append(model.adoption(properties))
    }
    return members.map { DeclSyntax(stringLiteral: $0) }
  }

  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    let (model, diagnostics) = ModelDeclaration.read(node, declaration, in: context.lexicalContext)
    diagnostics.forEach(context.diagnose)
    guard let model else { return [] }
    let wanted = model.conformance
    let isMissing = protocols.contains { $0.trimmedDescription.split(separator: ".").last ?? "" == wanted }
    let text = """
      nonisolated extension \(type.trimmed)\(isMissing ? ": \(wanted)" : "") {
      \(model.extensionMembers.map { $0.indented(1) }.joined(separator: "\n\n"))
      }
      """
    return [try ExtensionDeclSyntax("\(raw: text)")]
  }
}

extension String {
  /// The lines moved right by so many steps of two spaces.
  func indented(_ steps: Int) -> String {
    let space = String(repeating: "  ", count: steps)
    return split(separator: "\n", omittingEmptySubsequences: false).map { space + $0 }.joined(separator: "\n")
  }
}
