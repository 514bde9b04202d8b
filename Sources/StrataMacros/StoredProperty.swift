import SwiftSyntax
import SwiftSyntaxBuilder

/// A stored property of a model, and its role in archiving.
struct StoredProperty {
  enum Role {
    /// A field, archived or excluded. It has an index in the schema.
    case field
    /// The property that holds the unknown keys.
    case unknownFields
    /// Left alone by decoding, encoding and merging: not archivable, or declared with `storage: .none`.
    case unarchived
  }

  /// The name as written, with any backticks.
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

  /// Whether archives contain the reference only if something else in them contains its object.
  var isConditional: Bool { attribute.isConditional || isWeak && !attribute.hasArchive }

  var key: String { name.text.withoutBackticks }

  /// The name after `self.`.
  var access: String { "self.\(name.text)" }

  /// The default for an absent key: the initial value, or nil if the field needs a default.
  var defaultText: String? {
    if let initialValue { return initialValue.trimmedDescription }
    guard let type, type.isOptional, attribute.isExcluded || attribute.usesDefaultForUnknown else {
      return nil
    }
    return "nil"
  }

  /// Whether the default has the same meaning everywhere. Other ones may name types that only the body of the model
  /// sees.
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

  /// The initial value as the body of a closure. With its type and in a separate statement, it compiles as fast as in
  /// the declaration.
  private func copy(of value: ExprSyntax) -> String {
    guard !isDefaultPlain else { return value.trimmedDescription }
    let annotation = type.map { ": \($0.trimmedDescription)" } ?? ""
    return "let value\(annotation) = \(value.trimmedDescription); return value"
  }

  /// The statements that read the field with this index.
  ///
  /// The expression of the default is only valid where the property is declared: it may name static members of the type
  /// without the type, and types next to it.
  ///
  /// - Parameters:
  ///   - schema: the expression for the schema, which returns the default.
  ///   - inInitializer: whether the property already has its initial value, which is the default.
  func read(_ place: Int, schema: String, inInitializer: Bool) -> [String] {
    guard var value = defaultText else { return ["\(access) = try reader.field(\(place))"] }
    var lines: [String] = []
    if initialValue != nil, !isDefaultPlain {
      // A wrapped property can be read only after all properties are initialized.
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

  /// A string literal with this text.
  var literal: String { StringLiteralExprSyntax(content: self).description }
}

extension TypeSyntax {
  var isOptional: Bool {
    if self.is(OptionalTypeSyntax.self) || self.is(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return true }
    return self.as(IdentifierTypeSyntax.self)?.name.text == "Optional"
  }

  /// Whether a variable of the type starts as nil: `T?` and `T!` do, `Optional<T>` does not.
  var isImplicitlyNil: Bool { isOptional && !self.is(IdentifierTypeSyntax.self) }

  /// The expression for the metatype.
  var metatype: String {
    if let type = self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
      return "\(type.wrappedType.trimmedDescription)?.self"
    }
    let isSimple = !self.is(SomeOrAnyTypeSyntax.self) && !self.is(CompositionTypeSyntax.self)
    return isSimple ? "\(trimmedDescription).self" : "(\(trimmedDescription)).self"
  }

  /// "a tuple", "a function" or "an existential" if the type is one, or an optional of one.
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

  /// Whether the type is opaque (`some`).
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
  /// The text between the quotes, if it has no interpolation and no escape.
  var plainText: String? {
    guard openingPounds == nil, openingQuote.tokenKind == .stringQuote, segments.count == 1,
      case .stringSegment(let segment)? = segments.first, !segment.content.text.contains("\\")
    else { return nil }
    return segment.content.text
  }
}

extension ExprSyntax {
  /// "a tuple" or "a function" if the expression is evidently one.
  var shapeWithoutArchive: String? {
    if self.is(ClosureExprSyntax.self) { return "a function" }
    guard let tuple = self.as(TupleExprSyntax.self), tuple.elements.count != 1 else { return nil }
    return "a tuple"
  }
}
