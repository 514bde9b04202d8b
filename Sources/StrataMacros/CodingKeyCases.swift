import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder

/// The cases of `CodingKeys` in the declaration of a model. They determine the JSON keys of its properties.
struct CodingKeyCases {
  /// The JSON key of a property.
  enum Key {
    /// The JSON key is the property's own name.
    case automatic
    /// The JSON key is the raw value of a case.
    case declared(ExprSyntax)
    /// The property has no case, so JSON does not contain it.
    case absent
    /// The property has no case. The type's own coding may still read and write the property.
    case unknown
  }

  /// The raw value of each case, by the name of its property. A `nil` value means that the case has no raw value.
  private var rawValues: [String: String?] = [:]
  /// A part of the declaration for which the keys cannot be determined, with its syntax node; `nil` if there is none.
  private(set) var obstacle: (name: String, node: Syntax)?
  /// Whether the model declares `init(from:)` or `encode(to:)` itself.
  private let hasOwnCoding: Bool

  /// Returns `nil` if `CodingKeys` is not among the members.
  init?(_ members: MemberBlockItemListSyntax) {
    let declarations = members.withConditions
    hasOwnCoding = declarations.contains { $0.decl.codingMethod != nil }
    for (decl, isConditional) in declarations {
      if let alias = decl.as(TypeAliasDeclSyntax.self), alias.name.text == "CodingKeys" {
        obstacle = ("a type alias", Syntax(alias.name))
        return
      }
      guard let keys = decl.as(EnumDeclSyntax.self), keys.name.text == "CodingKeys" else { continue }
      if isConditional { obstacle = ("declarations inside #if", Syntax(keys.name)) }
      read(keys, Set(declarations.flatMap(\.decl.propertyNames)))
      return
    }
    return nil
  }

  private mutating func read(_ keys: EnumDeclSyntax, _ properties: Set<String>) {
    let type = keys.inheritanceClause?.inheritedTypes.first?.type
    var stored: [String: String?] = [:]
    let isString = ["String", "Swift.String"].contains(type?.trimmedDescription)
    for (decl, isConditional) in keys.memberBlock.members.withConditions {
      if decl.propertyNames.contains("stringValue") { obstacle = ("a 'stringValue' in the enum", Syntax(decl)) }
      guard let line = decl.as(EnumCaseDeclSyntax.self) else { continue }
      if isConditional { obstacle = ("cases inside #if", Syntax(line)) }
      for element in line.elements {
        let text = element.rawValue?.value.as(StringLiteralExprSyntax.self)
        if text != nil, !isString {
          obstacle = ("raw values of the type '\(type?.trimmedDescription ?? "")'", Syntax(element))
        }
        let name = element.name.text.withoutBackticks
        // `nil` for a literal with an interpolation. The compiler rejects such a raw value.
        let rawValue = text?.representedLiteralValue
        rawValues[name] = .some(rawValue)
        // `@Observable` stores the property `title` in `_title`, so `Codable` needs a case named `_title`.
        if name.hasPrefix("_"), !properties.contains(name) { stored[String(name.dropFirst())] = rawValue ?? name }
      }
    }
    rawValues.merge(stored) { own, _ in own }
  }

  func key(of property: String) -> Key {
    guard obstacle == nil else { return .automatic }
    guard let rawValue = rawValues[property] else { return hasOwnCoding ? .unknown : .absent }
    guard let rawValue else { return .automatic }
    // The raw value is a single key, so characters with a special meaning in JSON paths are escaped.
    let path = rawValue.unicodeScalars.map { ".[\\".unicodeScalars.contains($0) ? "\\\($0)" : "\($0)" }.joined()
    let text = ["*", "\"\""].contains(rawValue) ? "\\" + path : path
    return .declared(ExprSyntax(StringLiteralExprSyntax(content: text)))
  }
}

extension MemberBlockItemListSyntax {
  /// The declarations of `init(from:)` and `encode(to:)`, with their names.
  var codingMethods: [(name: String, token: TokenSyntax)] { withConditions.compactMap(\.decl.codingMethod) }

  /// All declarations. `isConditional` is true for declarations inside `#if`.
  var withConditions: [(decl: DeclSyntax, isConditional: Bool)] {
    flatMap { member -> [(decl: DeclSyntax, isConditional: Bool)] in
      guard let condition = member.decl.as(IfConfigDeclSyntax.self) else { return [(member.decl, false)] }
      return condition.clauses.flatMap { clause -> [(decl: DeclSyntax, isConditional: Bool)] in
        guard case .decls(let members)? = clause.elements else { return [] }
        return members.withConditions.map { ($0.decl, true) }
      }
    }
  }
}

extension DeclSyntax {
  /// The name and the token of a declaration of `init(from:)` or `encode(to:)`; `nil` for any other declaration.
  fileprivate var codingMethod: (name: String, token: TokenSyntax)? {
    if let initializer = self.as(InitializerDeclSyntax.self) {
      return initializer.signature.isCoding("from", "Decoder") ? ("init(from:)", initializer.initKeyword) : nil
    }
    guard let function = self.as(FunctionDeclSyntax.self), function.name.text == "encode" else { return nil }
    return function.signature.isCoding("to", "Encoder") ? ("encode(to:)", function.name) : nil
  }

  fileprivate var propertyNames: [String] {
    guard let variable = self.as(VariableDeclSyntax.self) else { return [] }
    return variable.bindings.compactMap { binding in
      binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text.withoutBackticks
    }
  }
}

extension FunctionSignatureSyntax {
  /// Whether the function has a single parameter with this label and this type. The type may be written with `any`.
  fileprivate func isCoding(_ label: String, _ type: String) -> Bool {
    guard let parameter = parameterClause.parameters.first, parameterClause.parameters.count == 1,
      parameter.firstName.text == label
    else { return false }
    return parameter.type.trimmedDescription.split(whereSeparator: { " .".contains($0) }).last == Substring(type)
  }
}
