import SwiftSyntax

/// The protocols whose requirement has no effect unless the model conforms to the protocol. If a model declares such a requirement, the
/// generated code calls the `_Strata` function named after the case. The call compiles only if the model conforms to the protocol, so a
/// missing conformance is an error.
enum HookProtocol: String, CaseIterable {
  case migratable, keyMigrating, keyMerging, mergeable, validating, postDecoding, jsonTagged

  /// Returns the protocols whose requirement a type declares without naming the protocol in its inheritance clause.
  static func unnamed(by declaration: some DeclGroupSyntax) -> [HookProtocol] {
    let names = ModelDeclaration.names(declaration.inheritanceClause?.inheritedTypes.map(\.type) ?? [])
    let known = Set(names.map { $0.lowercased() })
    return allCases.filter { hook in
      !known.contains(hook.rawValue.lowercased())
        && declaration.memberBlock.members.contains { hook.isRequirement($0.decl) }
    }
  }

  private func isRequirement(_ member: DeclSyntax) -> Bool {
    switch self {
    case .migratable: Self.isProperty("migration", "MigrationPlan", member)
    case .mergeable: Self.isProperty("mergeRules", "MergeRules", member)
    case .validating: Self.isProperty("validation", "Validation", member)
    case .jsonTagged: Self.isProperty("jsonTagging", "JSONTagging", member)
    case .keyMigrating: Self.isMethod("decodeValue", ["forKey", "modelVersion", "in"], isStatic: true, member)
    case .keyMerging: Self.isMethod("mergeValue", ["forKey", "from"], isStatic: false, member)
    case .postDecoding: Self.isMethod("didDecode", ["from"], isStatic: false, member)
    }
  }

  /// Whether a member is a static property with the given name. Its type annotation or its initial value must also name the given type,
  /// because an app may use the same name for a property of a different type.
  private static func isProperty(_ name: String, _ type: String, _ member: DeclSyntax) -> Bool {
    guard let variable = member.as(VariableDeclSyntax.self), isOfType(variable.modifiers) else { return false }
    return variable.bindings.contains { binding in
      guard binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text == name else { return false }
      let written =
        binding.typeAnnotation?.type.tokens(viewMode: .sourceAccurate)
        ?? binding.initializer?.value.as(FunctionCallExprSyntax.self)?.calledExpression.tokens(
          viewMode: .sourceAccurate)
      return written?.contains { $0.text == type } ?? false
    }
  }

  private static func isMethod(_ name: String, _ labels: [String], isStatic: Bool, _ member: DeclSyntax) -> Bool {
    guard let function = member.as(FunctionDeclSyntax.self), function.name.text == name,
      isOfType(function.modifiers) == isStatic
    else { return false }
    return function.signature.parameterClause.parameters.map(\.firstName.text) == labels
  }

  private static func isOfType(_ modifiers: DeclModifierListSyntax) -> Bool {
    modifiers.contains { $0.name.tokenKind == .keyword(.static) || $0.name.tokenKind == .keyword(.class) }
  }
}
