import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// The macro for `@Model`. It generates the schema in the body of the type, together with the members that a class must
/// declare there. Everything else is generated in an extension. A struct would lose its memberwise initializer if
/// another initializer were generated in its body.
struct ModelMacro: MemberMacro, ExtensionMacro {
  // The generated text is already formatted. Formatting it again would take up most of the expansion time.
  static let formatMode = FormatMode.disabled

  static func expansion(
    of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    // The extension macro reports the errors in the declaration. If they were reported here too, each error would
    // appear twice.
    guard let model = ModelDeclaration.read(node, declaration, in: context).model else {
      return []
    }
    if ModelDeclaration.modelAbove(declaration, missing: protocols) != nil {
      // Declares the initializer although the model has errors, so that the compiler does not also report a missing
      // initializer.
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

/// The macro for `@Model` on a subclass of a model. It generates only members and no extension, because the subclass
/// inherits the conformance to the protocol.
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
  /// Creates a declaration from text without parsing the text, because parsing would take up half of the expansion
  /// time. The compiler parses the text anyway.
  init(unparsed text: String) { self.init(EditorPlaceholderDeclSyntax(placeholder: .identifier(text))) }
}

extension String {
  /// Returns the text with each line indented by `steps` levels of two spaces.
  func indented(_ steps: Int) -> String {
    let space = String(repeating: "  ", count: steps)
    return split(separator: "\n", omittingEmptySubsequences: false).map { space + $0 }.joined(separator: "\n")
  }
}
