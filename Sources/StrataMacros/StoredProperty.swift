import SwiftSyntax
import SwiftSyntaxBuilder

/// A stored property of a model, with the generated code that reads and writes it.
struct StoredProperty {
  enum Role {
    /// A field of the model. It has an index in the schema, even if its attribute excludes it from archives.
    case field
    /// The property that stores the archive keys that this version of the model does not know.
    case unknownFields
    /// A property that decoding, encoding and merging ignore, because it is declared with `storage: .none` or cannot be
    /// archived.
    case unarchived
  }

  /// The name of the property as written, including backticks.
  let name: TokenSyntax
  let type: TypeSyntax?
  let initialValue: ExprSyntax?
  let isConstant: Bool
  let isLazy: Bool
  let isWeak: Bool
  let hasWrapper: Bool
  let isDeprecated: Bool
  let attribute: FieldAttribute
  let role: Role
  let place: SourcePlace?

  /// Whether the property is a conditional reference: it is archived only if another reference adds its object to the
  /// archive.
  var isConditional: Bool { attribute.isConditional || isWeak && !attribute.hasArchive }

  var key: String { name.text.withoutBackticks }

  /// The source text of the expression that accesses the property, beginning with `self.`.
  var access: String { "self.\(name.text)" }

  /// The source text of the default value, which the property gets if its key is absent. This is the initial value, or
  /// the text `nil` for an optional field that needs an explicit default. The result is `nil` if the generated code
  /// needs no default.
  var defaultText: String? {
    if let initialValue { return initialValue.trimmedDescription }
    guard let type, type.isOptional, attribute.isExcluded || attribute.usesDefaultForUnknown else {
      return nil
    }
    return "nil"
  }

  /// Whether the expression of the default value has the same meaning anywhere in the source. Other expressions may
  /// name types that are visible only in the body of the model.
  var isDefaultPlain: Bool {
    guard let initialValue else { return true }
    switch initialValue.kind {
    case .integerLiteralExpr, .floatLiteralExpr, .booleanLiteralExpr, .nilLiteralExpr: return true
    case .memberAccessExpr: return initialValue.as(MemberAccessExprSyntax.self)?.base == nil
    case .arrayExpr: return initialValue.as(ArrayExprSyntax.self)?.elements.isEmpty ?? false
    case .stringLiteralExpr: return initialValue.as(StringLiteralExprSyntax.self)?.plainText != nil
    case .dictionaryExpr:
      if case .colon? = initialValue.as(DictionaryExprSyntax.self)?.content { return true }
      return false
    default: return false
    }
  }

  func info(inClass: Bool, inGeneric: Bool) -> String {
    var text = "_StrataField(\(key.literal)"
    if let type { text += ", \(type.metatype)" }
    text += attribute.infoArguments(isConditional: isConditional)
    if inClass, isConstant { text += ", isConstant: true" }
    if let initialValue {
      text += ", \(inGeneric ? "initialValue" : "default"): { \(copy(of: initialValue)) }"
    }
    return text + ")"
  }

  /// Returns the body of a closure that returns the initial value. The value is assigned to a constant with a type
  /// annotation, because type checking the closure is then as fast as type checking the property.
  private func copy(of value: ExprSyntax) -> String {
    guard !isDefaultPlain else { return value.trimmedDescription }
    let annotation = type.map { ": \($0.trimmedDescription)" } ?? ""
    return "let value\(annotation) = \(value.trimmedDescription); return value"
  }

  /// Returns the statements that read this field, which has the index `place` in the schema.
  ///
  /// The statements do not repeat the expression of a default value if it may compile only in the property's
  /// declaration. For example, the expression may use static members without the type's name, or types that are not
  /// visible elsewhere.
  ///
  /// - Parameters:
  ///   - schema: the expression for the schema, which can also return the default.
  ///   - inInitializer: whether the statements are in an initializer. In an initializer, the property already has its
  ///     initial value.
  func read(_ place: Int, schema: String, inInitializer: Bool) -> [String] {
    guard var value = defaultText else { return ["\(access) = try reader.field(\(place))"] }
    var lines: [String] = []
    if initialValue != nil, !isDefaultPlain {
      // In an initializer, the property already has its default value, which can be read. A property with a wrapper
      // cannot be read before all properties are initialized.
      if inInitializer, !hasWrapper {
        value = "default\(place)"
        lines.append("let \(value) = \(access)")
      } else {
        value = "try \(schema).initialValue(\(place))"
      }
    }
    if attribute.isExcluded {
      lines.append("\(access) = try reader.excludedField(\(place), default: \(value))")
    } else {
      let unknown = attribute.unknown.map { ", unknown: \($0)" } ?? ""
      lines.append("\(access) = try reader.field(\(place), default: \(value)\(unknown))")
    }
    return lines
  }

  func write(_ place: Int) -> String {
    let method = attribute.isExcluded ? "excludedField" : isConditional ? "conditionalField" : "field"
    return "try writer.\(method)(\(place), \(access))"
  }
}

extension String {
  var withoutBackticks: String {
    count > 2 && hasPrefix("`") && hasSuffix("`") ? String(dropFirst().dropLast()) : self
  }

  /// The text as a string literal.
  var literal: String { StringLiteralExprSyntax(content: self).description }
}

extension TypeSyntax {
  var isOptional: Bool {
    if self.is(OptionalTypeSyntax.self) || self.is(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return true }
    return self.as(IdentifierTypeSyntax.self)?.name.text == "Optional"
  }

  /// Whether a variable of this type is initialized to nil if it has no initial value. This applies to `T?` and `T!`,
  /// but not to `Optional<T>`.
  var isImplicitlyNil: Bool { isOptional && !self.is(IdentifierTypeSyntax.self) }

  /// The source text of an expression for the metatype of this type, such as `Int.self`.
  var metatype: String {
    if let type = self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
      return "\(type.wrappedType.trimmedDescription)?.self"
    }
    let isSimple = !self.is(SomeOrAnyTypeSyntax.self) && !self.is(CompositionTypeSyntax.self)
    return isSimple ? "\(trimmedDescription).self" : "(\(trimmedDescription)).self"
  }

  /// The kind of a type that cannot be archived, for an error message: "a tuple", "a function" or "an existential";
  /// `nil` for any other type. An optional has the kind of the type inside it.
  var shapeWithoutArchive: String? {
    if let type = self.as(OptionalTypeSyntax.self) { return type.wrappedType.shapeWithoutArchive }
    if let type = self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
      return type.wrappedType.shapeWithoutArchive
    }
    if let type = self.as(AttributedTypeSyntax.self) { return type.baseType.shapeWithoutArchive }
    if self.is(FunctionTypeSyntax.self) { return "a function" }
    if let type = self.as(SomeOrAnyTypeSyntax.self), !type.isOpaque { return "an existential" }
    guard let tuple = self.as(TupleTypeSyntax.self) else { return nil }
    guard tuple.elements.count == 1, let inner = tuple.elements.first else { return "a tuple" }
    return inner.type.shapeWithoutArchive
  }

  /// Whether the type is opaque, as in `some Equatable`.
  var isOpaque: Bool { self.as(SomeOrAnyTypeSyntax.self)?.isOpaque ?? false }

  var isUnknownFields: Bool {
    if let type = self.as(MemberTypeSyntax.self) { return type.name.text == "UnknownFields" }
    return self.as(IdentifierTypeSyntax.self)?.name.text == "UnknownFields"
  }
}

extension SomeOrAnyTypeSyntax {
  fileprivate var isOpaque: Bool { someOrAnySpecifier.tokenKind == .keyword(.some) }
}

extension StringLiteralExprSyntax {
  /// The text between the quotes; `nil` if the literal contains interpolations or escapes.
  var plainText: String? {
    guard openingPounds == nil, openingQuote.tokenKind == .stringQuote, segments.count == 1,
      case .stringSegment(let segment)? = segments.first, !segment.content.text.contains("\\")
    else { return nil }
    return segment.content.text
  }
}

extension ExprSyntax {
  /// The kind of the expression if its type clearly cannot be archived, for an error message: "a tuple" or "a
  /// function"; otherwise `nil`.
  var shapeWithoutArchive: String? {
    if self.is(ClosureExprSyntax.self) { return "a function" }
    guard let tuple = self.as(TupleExprSyntax.self), tuple.elements.count != 1 else { return nil }
    return "a tuple"
  }
}
