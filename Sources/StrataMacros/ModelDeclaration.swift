import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// The parsed declaration of a type with `@Model`, which contains everything that the generated code depends on.
struct ModelDeclaration {
  enum Kind {
    case structure([StoredProperty])
    case object([StoredProperty], ClassForm)
    case enumeration([EnumCase])
  }

  let kind: Kind
  /// The name of the type as written in its declaration.
  let typeName: String
  let name: ModelName
  /// The access modifier for the generated members, with a trailing space: `public `, `package ` or `@usableFromInline `. Empty
  /// for any other access level.
  let access: String
  /// Whether an enclosing type is private or fileprivate.
  let isInPrivateType: Bool
  let version: String
  let formerNames: ExprSyntax?
  /// The superclass that the attribute names; `nil` if the superclass is not a model.
  let superclass: ExprSyntax?
  /// The `oldestReader` and `oldestWriter` arguments for the call that creates the schema.
  let floors: String
  /// The protocols to which the model must conform for the generated code to compile.
  let hooks: [HookProtocol]

  /// Returns the parsed declaration and all errors in it. The model is `nil` if the type cannot be a model.
  static func read(
    _ node: AttributeSyntax, _ declaration: some DeclGroupSyntax, in expansion: some MacroExpansionContext
  ) -> (model: ModelDeclaration?, diagnostics: [Diagnostic]) {
    var diagnostics: [Diagnostic] = []
    let context = expansion.lexicalContext
    guard let kind = kind(node, declaration, SourceLines(of: declaration, in: expansion), &diagnostics),
      let named = declaration as? any DeclGroupSyntax & NamedDeclSyntax
    else { return (nil, diagnostics) }
    let generic = declaration.asProtocol((any WithGenericParametersSyntax).self)?.genericParameterClause
    for parameter in generic?.parameters ?? [] where parameter.specifier?.tokenKind == .keyword(.each) {
      diagnostics.append(ModelDiagnostic.parameterPack.at(parameter))
    }
    for type in (generic?.parameters ?? []).compactMap(\.inheritedType) {
      if let suppressed = suppressed(type) { diagnostics.append(suppressed) }
    }
    diagnostics += unsuitable(declaration, named.name, context)
    for inherited in declaration.inheritanceClause?.inheritedTypes ?? []
    where inherited.type.trimmedDescription == "OptionSet" {
      diagnostics.append(ModelDiagnostic.optionSet(named.name.text.withoutBackticks).at(inherited))
    }
    func argument(_ label: String) -> ExprSyntax? { FieldAttribute.argument(label, of: node)?.trimmed }
    if let version = FieldAttribute.argument("version", of: node),
      version.as(PrefixOperatorExprSyntax.self)?.operator.text == "-"
    {
      diagnostics.append(ModelDiagnostic.negativeVersion.at(version))
    }
    if let isolated = isolation(declaration.attributes) { diagnostics.append(isolated) }
    guard !diagnostics.contains(where: { $0.diagMessage.severity == .error }) else { return (nil, diagnostics) }
    let name = argument("name").flatMap { $0.is(NilLiteralExprSyntax.self) ? nil : $0 }
    let model = ModelDeclaration(
      kind: kind, typeName: named.name.text, name: ModelName(named, name, in: context),
      access: access(declaration, context),
      isInPrivateType: context.contains { ["private", "fileprivate"].contains(level(of: $0)) },
      version: argument("version")?.description ?? "0",
      formerNames: argument("formerNames"), superclass: superclass(node),
      floors: ["oldestReader", "oldestWriter"].map { label in argument(label).map { ", \(label): \($0)" } ?? "" }
        .joined(), hooks: HookProtocol.unnamed(by: declaration))
    return (model, diagnostics)
  }

  /// Returns the errors for a declaration that cannot be a model.
  private static func unsuitable(
    _ declaration: some DeclGroupSyntax, _ name: TokenSyntax, _ context: [Syntax]
  ) -> [Diagnostic] {
    var diagnostics: [Diagnostic] = []
    if let modifier = declaration.modifiers.first(where: { $0.name.text == "private" && $0.detail == nil }),
      context.contains(where: { $0.isProtocol((any DeclGroupSyntax).self) })
    {
      diagnostics.append(ModelDiagnostic.privateInside(name.text.withoutBackticks).at(modifier))
    }
    for inherited in declaration.inheritanceClause?.inheritedTypes ?? [] {
      if let suppressed = suppressed(inherited.type) { diagnostics.append(suppressed) }
    }
    return diagnostics
  }

  /// Returns the error for a suppressed conformance among the inherited types, alone or in a composition such as `Hashable &
  /// ~Copyable`; `nil` for any other type.
  private static func suppressed(_ type: TypeSyntax) -> Diagnostic? {
    if let composition = type.as(CompositionTypeSyntax.self) {
      return composition.elements.lazy.compactMap { suppressed($0.type) }.first
    }
    guard let type = type.as(SuppressedTypeSyntax.self) else { return nil }
    return ModelDiagnostic.suppressed(type.type.trimmedDescription).at(type)
  }

  /// Returns an error if the attribute's `superclass` argument does not match the first inherited type of the class.
  private static func checkSuperclass(_ given: ExprSyntax, of object: ClassDeclSyntax) -> Diagnostic? {
    if isExcluded(given) {
      return object.inheritanceClause == nil ? ModelDiagnostic.noSuperclass(given: given.description).at(given) : nil
    }
    guard let member = given.as(MemberAccessExprSyntax.self), member.declName.baseName.text == "self",
      let base = member.base?.trimmedDescription
    else { return nil }
    guard let found = object.inheritanceClause?.inheritedTypes.first?.type.trimmed else {
      return ModelDiagnostic.noSuperclass(given: given.description).at(given)
    }
    func plain(_ text: String) -> String { text.filter { !$0.isWhitespace } }
    func last(_ text: String) -> Substring { plain(text).split(separator: ".").last ?? "" }
    guard last(base) != last(found.description) else { return nil }
    return ModelDiagnostic.otherSuperclass(given: base, found: found.description).at(given)
  }

  /// Returns the error for a declaration that is isolated to the main actor; `nil` if it is not isolated. Archives are read and
  /// written on any thread, so models must not be isolated.
  static func isolation(_ attributes: AttributeListSyntax) -> Diagnostic? {
    attributes.named("MainActor").first.map { ModelDiagnostic.isolated("MainActor").at($0) }
  }

  /// Returns the error for a class whose superclass is a model although the attribute does not name the superclass. Such a class
  /// inherits the conformance to `_StrataBaseClass`, so the compiler does not ask the macro to add it.
  static func modelAbove(_ declaration: some DeclGroupSyntax, missing protocols: [TypeSyntax]) -> Diagnostic? {
    guard let object = declaration.as(ClassDeclSyntax.self), !names(protocols).contains("_StrataBaseClass"),
      let first = object.inheritanceClause?.inheritedTypes.first?.type
    else { return nil }
    return ModelDiagnostic.modelAbove(type: object.name.text, superclass: first.trimmedDescription).at(first)
  }

  /// Returns the plain names of types, without modules and enclosing types.
  static func names(_ types: [TypeSyntax]) -> [String] {
    types.map { String($0.trimmedDescription.split(separator: ".").last ?? "") }
  }

  /// Returns a note that the superclass of a class may be a model; `nil` if the class declares a conformance to `VersionedModel`
  /// itself.
  static func superclassHint(_ declaration: some DeclGroupSyntax) -> Diagnostic? {
    guard let declaration = declaration.as(ClassDeclSyntax.self),
      let first = declaration.inheritanceClause?.inheritedTypes.first?.type,
      let name = first.as(IdentifierTypeSyntax.self)?.name.text ?? first.as(MemberTypeSyntax.self)?.name.text,
      !protocols.contains(name)
    else { return nil }
    return ModelDiagnostic.superclass(type: declaration.name.text, superclass: first.trimmedDescription).at(first)
  }

  /// The library's protocols that inherit from `VersionedModel`, for recognizing a class that declares a conformance to it.
  private static let protocols: Set<String> = [
    "VersionedModel", "DescribedModel", "Migratable", "KeyMigrating", "PostDecoding", "Validating", "Mergeable",
    "FieldEquatable", "FieldHashable", "DescribesFields", "LegacyModel", "Entity", "RemoteEntity",
  ]

  private static func superclass(_ node: AttributeSyntax) -> ExprSyntax? {
    guard let expression = FieldAttribute.argument("superclass", of: node), !isExcluded(expression) else { return nil }
    return expression.is(NilLiteralExprSyntax.self) ? nil : expression.trimmed
  }

  private static func readsItself(_ object: ClassDeclSyntax) -> Bool {
    object.memberBlock.members.contains { member in
      guard let parameters = member.decl.as(InitializerDeclSyntax.self)?.signature.parameterClause.parameters,
        parameters.count == 1, let only = parameters.first, only.firstName.text == "fields"
      else { return false }
      return names([only.type]) == ["ArchiveReader"] || only.type.trimmedDescription.hasSuffix(" ArchiveReader")
    }
  }

  private static func isExcluded(_ argument: ExprSyntax) -> Bool {
    argument.as(MemberAccessExprSyntax.self)?.declName.baseName.text == "excluded"
  }

  /// Whether the direct superclass is `NSObject`, which has no properties that archives could lose.
  private static func isUnderNSObject(_ object: ClassDeclSyntax) -> Bool {
    object.inheritanceClause?.inheritedTypes.first.map { names([$0.type]) == ["NSObject"] } ?? false
  }

  /// Returns the first inherited type if it must be a protocol, because the attribute names no superclass; `nil` if there is no
  /// such type or if it is `NSObject`.
  private static func protocolOnly(
    _ object: ClassDeclSyntax, _ given: ExprSyntax?, _ lines: SourceLines?
  ) -> (type: TypeSyntax, place: SourcePlace?)? {
    guard given == nil, let first = object.inheritanceClause?.inheritedTypes.first?.type else { return nil }
    let type = first.as(AttributedTypeSyntax.self)?.baseType.trimmed ?? first.trimmed
    guard !type.is(SuppressedTypeSyntax.self), !isUnderNSObject(object) else { return nil }
    return (type, lines?.place(of: first))
  }

  private static func kind(
    _ node: AttributeSyntax, _ declaration: some DeclGroupSyntax, _ lines: SourceLines?,
    _ diagnostics: inout [Diagnostic]
  ) -> Kind? {
    if let declaration = declaration.as(EnumDeclSyntax.self) {
      if let rawType = rawType(of: declaration) {
        let name = declaration.name.text
        diagnostics.append(ModelDiagnostic.rawValues(name: name, type: rawType).at(node))
        return nil
      }
      let cases = EnumCase.cases(of: declaration, lines, &diagnostics)
      if cases.isEmpty { diagnostics.append(ModelDiagnostic.noCases.at(declaration.name)) }
      return .enumeration(cases)
    }
    let object = declaration.as(ClassDeclSyntax.self)
    guard object != nil || declaration.is(StructDeclSyntax.self) else {
      diagnostics.append(ModelDiagnostic.notAModel.at(node))
      return nil
    }
    let given = FieldAttribute.argument("superclass", of: node)
    if object == nil, given != nil { diagnostics.append(ModelDiagnostic.superclassOfValue.at(node)) }
    let reader = PropertyReader(declaration.memberBlock.members, lines, isClass: object != nil)
    diagnostics += reader.diagnostics
    guard let object else { return .structure(reader.properties) }
    if let given, let problem = checkSuperclass(given, of: object) {
      diagnostics.append(problem)
    }
    let hasInitializer = declaration.memberBlock.members.contains { $0.decl.is(InitializerDeclSyntax.self) }
    let hasValues = reader.properties.allSatisfy {
      $0.initialValue != nil || !$0.isConstant && ($0.type?.isImplicitlyNil ?? false)
    }
    func has(_ modifier: String) -> Bool { object.modifiers.contains { $0.name.text == modifier } }
    let form = ClassForm(
      hasImplicitInitializer: !hasInitializer && hasValues, isFinal: has("final"), isOpen: has("open"),
      superclass: superclass(node), excludesSuperclass: given.map(isExcluded) ?? isUnderNSObject(object),
      readsItself: readsItself(object), place: lines?.place(of: object.name),
      protocolOnly: protocolOnly(object, given, lines))
    return .object(reader.properties, form)
  }

  private static func rawType(of declaration: EnumDeclSyntax) -> String? {
    let known: Set<String> = [
      "String", "Character", "Int", "Int8", "Int16", "Int32", "Int64", "Int128", "UInt", "UInt8", "UInt16",
      "UInt32", "UInt64", "UInt128", "Double", "Float",
    ]
    let first = declaration.inheritanceClause?.inheritedTypes.first?.type.trimmedDescription
    let cases = declaration.memberBlock.members.compactMap { $0.decl.as(EnumCaseDeclSyntax.self) }
    let hasValue = cases.contains { $0.elements.contains { $0.rawValue != nil } }
    guard let first, known.contains(first) || hasValue else { return nil }
    return first
  }

  /// Returns the access level that a type or an extension declares; `nil` if it declares none.
  private static func level(of declaration: some SyntaxProtocol) -> String? {
    let levels = ["open", "public", "package", "internal", "fileprivate", "private"]
    let modifiers = declaration.asProtocol((any DeclGroupSyntax).self)?.modifiers
    return modifiers?.first { levels.contains($0.name.text) && $0.detail == nil }?.name.text
  }

  /// Returns the access modifier of the generated members, with a trailing space. They get the access level of the type, which can also be
  /// declared on an enclosing extension.
  private static func access(_ declaration: some DeclGroupSyntax, _ context: [Syntax]) -> String {
    let outer = context.first?.as(ExtensionDeclSyntax.self).flatMap { level(of: $0) }
    switch level(of: declaration) ?? outer {
    case "public", "open": return "public "
    case "package": return "package "
    default: break
    }
    // The members of a type that is `@usableFromInline` need this attribute too, because inlinable code may use them.
    return declaration.attributes.named("usableFromInline").isEmpty ? "" : "@usableFromInline "
  }
}
