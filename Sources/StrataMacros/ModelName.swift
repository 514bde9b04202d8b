import SwiftSyntax

/// The registered name of a model, and whether it or a type around it is generic.
struct ModelName {
  /// The expression for the name.
  let expression: String
  /// The generic arguments to add to a former name; `nil` without parameters.
  let arguments: String?
  /// The former name of a generic model, in which nested types had their own names alone; `nil` without parameters.
  let formerExpression: String?
  let isGeneric: Bool
  /// Whether the model is or may be generic: an extension does not show whether the extended type is.
  let mayBeGeneric: Bool

  init(_ declaration: some DeclGroupSyntax & NamedDeclSyntax, _ explicit: ExprSyntax?, in context: [Syntax]) {
    var parts = context.reversed().compactMap(Self.part)
    parts.append(Self.part(Syntax(declaration)) ?? Part(name: declaration.name.text, arguments: []))
    isGeneric = parts.contains { !$0.arguments.isEmpty }
    let arguments = isGeneric ? Self.list(parts.flatMap(\.arguments)) { $0.text } : nil
    self.arguments = arguments
    let text = explicit.map { $0.as(StringLiteralExprSyntax.self)?.plainText ?? "\\(\($0))" }
    func expression(_ argument: (Argument) -> String) -> String {
      if let text { return "\"\(text)\(Self.list(parts.flatMap(\.arguments), argument))\"" }
      return "\"\(parts.map { $0.name + Self.list($0.arguments, argument) }.joined(separator: "."))\""
    }
    let isInExtension = context.contains { $0.is(ExtensionDeclSyntax.self) }
    mayBeGeneric = isGeneric || isInExtension
    let plain = isGeneric ? expression(\.text) : explicit?.description ?? expression(\.text)
    self.expression =
      isInExtension && !isGeneric
      ? "_StrataSchema.name(\(declaration.name.text).self, \(plain), isGiven: \(explicit != nil))" : plain
    formerExpression = isGeneric ? expression(\.former) : nil
  }

  /// A type around the model, or the model itself.
  private struct Part {
    let name: String
    let arguments: [Argument]
  }

  /// The text for a generic argument in the current and the former name.
  private struct Argument {
    let text: String
    let former: String
  }

  private static func list(_ arguments: [Argument], _ text: (Argument) -> String) -> String {
    arguments.isEmpty ? "" : "<\(arguments.map(text).joined(separator: ", "))>"
  }

  /// The name of a declaration and the texts for its generic arguments.
  private static func part(_ node: Syntax) -> Part? {
    if let node = node.as(ExtensionDeclSyntax.self) {
      return Part(name: node.extendedType.trimmedDescription, arguments: [])
    }
    guard let named = node.asProtocol((any NamedDeclSyntax).self), node.isProtocol((any DeclGroupSyntax).self)
    else { return nil }
    let generic = node.asProtocol((any WithGenericParametersSyntax).self)
    let parameters = generic?.genericParameterClause.map { Array($0.parameters) } ?? []
    let arguments = parameters.map { parameter in
      let name = parameter.name.text
      if parameter.specifier?.tokenKind == .keyword(.let) {
        return Argument(text: "\\(\(name))", former: "\\(\(name))")
      }
      let isArchivable =
        archivable(parameter.inheritedType) || constrained(name, generic?.genericWhereClause)
      return Argument(
        text: "\\(_StrataSchema.argumentName(\(name).self))",
        former: isArchivable ? "\\(\(name)._archiveTypeName)" : "\\(String(describing: \(name).self))")
    }
    return Part(name: named.name.text.withoutBackticks, arguments: arguments)
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
