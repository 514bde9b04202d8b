import SwiftSyntax

/// The source code that creates a model's registered name, which includes the generic arguments if there are any.
struct ModelName {
  /// The source text of an expression that returns the name.
  let expression: String
  /// The source text for the generic arguments, which are also appended to former names; `nil` if there are no generic
  /// parameters.
  let arguments: String?
  /// Whether the model or an enclosing type may be generic. Always true inside an extension, because its syntax does
  /// not show whether the extended type is generic.
  let mayBeGeneric: Bool

  init(_ declaration: some DeclGroupSyntax & NamedDeclSyntax, _ explicit: ExprSyntax?, in context: [Syntax]) {
    var parts = context.reversed().compactMap(Self.part)
    parts.append(Self.part(Syntax(declaration)) ?? (declaration.name.text, []))
    let isGeneric = parts.contains { !$0.arguments.isEmpty }
    let arguments = Self.list(parts.flatMap(\.arguments))
    self.arguments = isGeneric ? arguments : nil
    let text = explicit.map { $0.as(StringLiteralExprSyntax.self)?.plainText ?? "\\(\($0))" }
    let full = text.map { $0 + arguments } ?? parts.map { $0.name + Self.list($0.arguments) }.joined(separator: ".")
    let isInExtension = context.contains { $0.is(ExtensionDeclSyntax.self) }
    mayBeGeneric = isGeneric || isInExtension
    let plain = isGeneric ? "\"\(full)\"" : explicit?.description ?? "\"\(full)\""
    expression =
      isInExtension && !isGeneric
      ? "_StrataSchema.name(\(declaration.name.text).self, \(plain), isGiven: \(explicit != nil))" : plain
  }

  private static func list(_ arguments: [String]) -> String {
    arguments.isEmpty ? "" : "<\(arguments.joined(separator: ", "))>"
  }

  /// Returns one declaration's part of the name: the type's name, and the expressions for its generic arguments. The
  /// declaration is the model itself or encloses the model. Returns `nil` if the declaration is not a type.
  private static func part(_ node: Syntax) -> (name: String, arguments: [String])? {
    if let node = node.as(ExtensionDeclSyntax.self) { return (node.extendedType.trimmedDescription, []) }
    guard let named = node.asProtocol((any NamedDeclSyntax).self), node.isProtocol((any DeclGroupSyntax).self)
    else { return nil }
    let clause = node.asProtocol((any WithGenericParametersSyntax).self)?.genericParameterClause
    let arguments = (clause.map { Array($0.parameters) } ?? []).map { parameter in
      let name = parameter.name.text
      let isValue = parameter.specifier?.tokenKind == .keyword(.let)
      return isValue ? "\\(\(name))" : "\\(_StrataSchema.argumentName(\(name).self))"
    }
    return (named.name.text.withoutBackticks, arguments)
  }
}
