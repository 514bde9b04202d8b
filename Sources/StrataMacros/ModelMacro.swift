import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// The macro for `@Model`. The schema is generated as a member, and so are all members that a class must declare in its
/// body. Everything else is generated in an extension, because a struct must keep its memberwise initializer.
struct ModelMacro: MemberMacro, ExtensionMacro {
  // Formatting is disabled, because the text is already formatted, and formatting would take most of the time of an
  // expansion.
  static let formatMode = FormatMode.disabled

  static func expansion(
    of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    // Only the extension macro reports errors, because each error must be reported only once.
    guard let model = ModelDeclaration.read(node, declaration, in: context).model else {
      return []
    }
    if ModelDeclaration.modelAbove(declaration, missing: protocols) != nil {
      // Declares the initializer, because the compiler would otherwise also report a missing initializer.
      return [
        DeclSyntax(unparsed: "\(model.access)required init(fields reader: inout _StrataReader) throws { fatalError() }")
      ]
    }
    var members = [model.schema]
    if case .object(let properties, let form) = model.kind {
      if form.isInHierarchy {
        members = model.hierarchyMembers(properties, form)
      } else {
        members = model.rootCheck(form) + members
        if !form.hasImplicitInitializer, !form.readsItself { members.append(model.initializer(properties)) }
        members.append(model.adoptingFields(properties))
        members.append(
          model.settingOne(
            properties.filter { $0.role == .field }, head: model.access,
            otherwise: ["throw reader.constantInCycle(place)"]))
      }
    }
    return members.map { DeclSyntax(unparsed: $0) }
  }

  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    let (model, diagnostics) = ModelDeclaration.read(node, declaration, in: context)
    diagnostics.forEach(context.diagnose)
    if let problem = ModelDeclaration.modelAbove(declaration, missing: protocols) {
      context.diagnose(problem)
      return []
    }
    guard let model else { return [] }
    let isMissing = ModelDeclaration.names(protocols).contains("VersionedModel")
    if !isMissing, let hint = ModelDeclaration.superclassHint(declaration) { context.diagnose(hint) }
    var conformances = isMissing ? ["_StrataModel"] : []
    if case .object(_, let form) = model.kind, !form.isFinal { conformances.append("_StrataBaseClass") }
    let list = conformances.isEmpty ? "" : ": \(conformances.joined(separator: ", "))"
    var expansion = try ExtensionDeclSyntax("nonisolated extension \(type.trimmed)\(raw: list) {}")
    let members = model.extensionMembers.map { $0.indented(1) }.joined(separator: "\n\n")
    if !members.isEmpty {
      expansion.memberBlock.members = [MemberBlockItemSyntax(decl: DeclSyntax(unparsed: "\n\(members)\n"))]
    }
    return [expansion]
  }
}

/// The macro for `@Model` on a subclass of a model. It generates only members, because the subclass inherits the
/// conformance.
struct SubmodelMacro: MemberMacro {
  static let formatMode = FormatMode.disabled

  static func expansion(
    of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    let (model, diagnostics) = ModelDeclaration.read(node, declaration, in: context)
    diagnostics.forEach(context.diagnose)
    guard let model, case .object(let properties, let form) = model.kind else { return [] }
    return model.hierarchyMembers(properties, form).map { DeclSyntax(unparsed: $0) }
  }
}

extension DeclSyntax {
  /// Creates declarations from text that only the compiler parses. Parsing the text in the macro would take half of the
  /// time of an expansion.
  init(unparsed text: String) { self.init(EditorPlaceholderDeclSyntax(placeholder: .identifier(text))) }
}

extension String {
  /// Returns the text with each line indented by `steps` steps of two spaces.
  func indented(_ steps: Int) -> String {
    let space = String(repeating: "  ", count: steps)
    return split(separator: "\n", omittingEmptySubsequences: false).map { space + $0 }.joined(separator: "\n")
  }
}
