import SwiftSyntax

/// The registered name of a model, and whether it has generic parameters around it or of its own.
struct ModelName {
  /// The expression for the name.
  let expression: String
  /// What turns a plain name's literal into that of the generic model, for former names; `nil` without parameters.
  let arguments: String?
  let isGeneric: Bool
  let isNested: Bool

  init(_ declaration: some DeclGroupSyntax & NamedDeclSyntax, _ explicit: ExprSyntax?, in context: [Syntax]) {
    var parts = context.reversed().compactMap(Self.part)
    isNested = !parts.isEmpty
    let own = Self.part(Syntax(declaration)) ?? (declaration.name.text, [])
    parts.append(own)
    isGeneric = parts.contains { !$0.1.isEmpty }
    arguments = isGeneric ? Self.list(parts.flatMap { $0.1 }) : nil
    guard let explicit else {
      expression = "\"\(parts.map { $0.0 + Self.list($0.1) }.joined(separator: "."))\""
      return
    }
    guard let arguments else {
      expression = explicit.description
      return
    }
    let text = explicit.as(StringLiteralExprSyntax.self)?.plainText
    expression = "\"\(text ?? "\\(\(explicit))")\(arguments)\""
  }

  private static func list(_ arguments: [String]) -> String {
    arguments.isEmpty ? "" : "<\(arguments.joined(separator: ", "))>"
  }

  /// The name of a declaration and what stands for its generic arguments.
  private static func part(_ node: Syntax) -> (String, [String])? {
    if let node = node.as(ExtensionDeclSyntax.self) { return (node.extendedType.trimmedDescription, []) }
    guard let named = node.asProtocol((any NamedDeclSyntax).self), node.isProtocol((any DeclGroupSyntax).self)
    else { return nil }
    let generic = node.asProtocol((any WithGenericParametersSyntax).self)
    let parameters = generic?.genericParameterClause.map { Array($0.parameters) } ?? []
    let arguments = parameters.map { parameter in
      let name = parameter.name.text
      if parameter.specifier?.tokenKind == .keyword(.let) { return "\\(\(name))" }
      let isArchivable =
        archivable(parameter.inheritedType) || constrained(name, generic?.genericWhereClause)
      return isArchivable ? "\\(\(name).archiveTypeName)" : "\\(String(describing: \(name).self))"
    }
    return (named.name.text.withoutBackticks, arguments)
  }

  private static func constrained(_ name: String, _ clause: GenericWhereClauseSyntax?) -> Bool {
    clause?.requirements.contains { requirement in
      guard case .conformanceRequirement(let requirement) = requirement.requirement else { return false }
      return requirement.leftType.trimmedDescription == name && archivable(requirement.rightType)
    } ?? false
  }

  private static func archivable(_ type: TypeSyntax?) -> Bool {
    guard let type else { return false }
    if let composition = type.as(CompositionTypeSyntax.self) {
      return composition.elements.contains { archivable($0.type) }
    }
    let name =
      type.as(MemberTypeSyntax.self)?.name.text ?? type.as(IdentifierTypeSyntax.self)?.name.text ?? ""
    return ["Archivable", "VersionedModel", "EnumModel", "DescribedModel"].contains(name)
  }
}
