import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder

/// The cases of a model's `CodingKeys`. They define the JSON keys of the model's properties.
struct CodingKeyCases {
  /// The source of a property's JSON key.
  enum Key {
    /// The JSON key is the property's own name.
    case automatic
    /// The JSON key is the raw value of the property's case in `CodingKeys`.
    case declared(ExprSyntax)
    /// The property has no case in `CodingKeys`, so JSON does not contain it.
    case absent
    /// The property has no case in `CodingKeys`, but the model has its own coding methods, which may still read and
    /// write the property in JSON.
    case unknown
  }

  /// The raw value of each case, by property name; `nil` if the case has no literal raw value.
  private var rawValues: [String: String?] = [:]
  /// A declaration that prevents the macro from reading the keys, such as a type alias, with its node for the error
  /// message; `nil` if there is none.
  private(set) var obstacle: (name: String, node: Syntax)?
  /// Whether the model declares `init(from:)` or `encode(to:)` itself.
  private let hasOwnCoding: Bool

  /// Reads the cases. Returns `nil` if `CodingKeys` is not among the members of the model.
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
        // `nil` for a literal with an interpolation, which the compiler rejects as a raw value anyway.
        let rawValue = text?.representedLiteralValue
        rawValues[name] = .some(rawValue)
        // `@Observable` stores the property `title` in `_title`, so the case that `Codable` needs for this property is
        // named `_title`.
        if name.hasPrefix("_"), !properties.contains(name) { stored[String(name.dropFirst())] = rawValue ?? name }
      }
    }
    rawValues.merge(stored) { own, _ in own }
  }

  func key(of property: String) -> Key {
    guard obstacle == nil else { return .automatic }
    guard let rawValue = rawValues[property] else { return hasOwnCoding ? .unknown : .absent }
    guard let rawValue else { return .automatic }
    // The raw value is a single JSON key and not a path, so characters with a special meaning in paths are escaped.
    let path = rawValue.unicodeScalars.map { ".[\\".unicodeScalars.contains($0) ? "\\\($0)" : "\($0)" }.joined()
    let text = ["*", "\"\""].contains(rawValue) ? "\\" + path : path
    return .declared(ExprSyntax(StringLiteralExprSyntax(content: text)))
  }
}

extension MemberBlockItemListSyntax {
  /// The declared coding methods, `init(from:)` and `encode(to:)`: the name of each, and its token for diagnostics.
  var codingMethods: [(name: String, token: TokenSyntax)] { withConditions.compactMap(\.decl.codingMethod) }

  /// All declarations among the members, including those inside `#if`, for which `isConditional` is true.
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
  /// If the declaration is `init(from:)` or `encode(to:)`: its name, and its token for diagnostics. `nil` for any other
  /// declaration.
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
  /// Whether the function has a single parameter with the given label and type. The source may write `any` before the
  /// type.
  fileprivate func isCoding(_ label: String, _ type: String) -> Bool {
    guard let parameter = parameterClause.parameters.first, parameterClause.parameters.count == 1,
      parameter.firstName.text == label
    else { return false }
    return parameter.type.trimmedDescription.split(whereSeparator: { " .".contains($0) }).last == Substring(type)
  }
}
