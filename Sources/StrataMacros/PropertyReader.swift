import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// Finds the stored properties in a type declaration and reports errors in them.
struct PropertyReader {
  private(set) var properties: [StoredProperty] = []
  private(set) var diagnostics: [Diagnostic] = []
  private let codingKeys: CodingKeyCases?
  private var hasFieldWithoutJSON = false

  /// - Parameter isClass: whether the declaration is a class. The properties of a class must not be isolated to an
  ///   actor.
  init(_ members: MemberBlockItemListSyntax, _ lines: SourceLines?, isClass: Bool) {
    codingKeys = CodingKeyCases(members)
    for (member, isConditional) in members.withConditions {
      guard let variable = member.as(VariableDeclSyntax.self) else { continue }
      if isConditional {
        if !variable.isStatic, variable.bindings.contains(where: \.isStored) {
          diagnostics.append(ModelDiagnostic.conditional.at(variable))
        }
        continue
      }
      checkName(variable)
      // An overriding property with storage is not a new property. It only adds observers to an inherited property.
      guard !variable.isStatic, !variable.hasModifier("override") else { continue }
      if isClass, let isolated = ModelDeclaration.isolation(variable.attributes) { diagnostics.append(isolated) }
      read(variable, lines)
    }
    let unknown = properties.filter { $0.role == .unknownFields }
    if unknown.count > 1, let last = unknown.last {
      diagnostics.append(ModelDiagnostic.severalUnknownFields.at(last.name))
    }
    checkFormerKeys()
    if isClass { checkConstants() }
    guard hasFieldWithoutJSON else { return }
    if let obstacle = codingKeys?.obstacle {
      diagnostics.append(ModelDiagnostic.unreadCodingKeys(obstacle.name).at(obstacle.node))
    }
    for method in members.codingMethods {
      diagnostics.append(ModelDiagnostic.codingMethod(method.name).at(method.token))
    }
  }

  /// The merge policies that compute a new value. They cannot be used for a constant. All other policies can be used,
  /// because they may merge the object to which a constant refers.
  private static let policiesOfValues: Set<Substring> = ["max", "min", "sumOfDeltas", "lines", "lastWriter"]

  /// Reports an error for each constant of a class whose merge policy computes a new value. A merge changes the
  /// properties of the existing object, so it cannot give a constant a new value. If all properties are constants,
  /// there is no error, because a merge then replaces the whole object.
  private mutating func checkConstants() {
    let fields = properties.filter { $0.role == .field }
    guard fields.contains(where: { !$0.isConstant }) else { return }
    for property in fields where property.isConstant {
      guard let policy = property.attribute.merge, Self.policiesOfValues.contains(policy.policyName) else { continue }
      diagnostics.append(ModelDiagnostic.constantPolicy(property.key).at(policy))
    }
  }

  /// Reports an error for each former key that is the current key of another property.
  private mutating func checkFormerKeys() {
    let keys = Set(properties.filter { $0.role == .field }.map(\.key))
    for property in properties {
      for former in property.attribute.formerly.compactMap({ $0.as(StringLiteralExprSyntax.self)?.plainText })
      where former != property.key && keys.contains(former) {
        diagnostics.append(ModelDiagnostic.formerKeyOfAnother(property.key, former).at(property.name))
      }
    }
  }

  /// Reports an error for each static property that has the name of a generated member.
  private mutating func checkName(_ variable: VariableDeclSyntax) {
    guard variable.isStatic else { return }
    for binding in variable.bindings {
      guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier else { continue }
      if name.text.withoutBackticks == "schema" { diagnostics.append(ModelDiagnostic.takenName("schema").at(name)) }
    }
  }

  private mutating func read(_ variable: VariableDeclSyntax, _ lines: SourceLines?) {
    let stored = variable.bindings.filter(\.isStored)
    guard !stored.isEmpty else { return }
    let attribute = FieldAttribute(variable.attributes, &diagnostics)
    if stored.count > 1, let node = attribute.node, !attribute.formerly.isEmpty || attribute.json != nil {
      diagnostics.append(ModelDiagnostic.severalProperties.at(node))
    }
    // In `var a, b: Int`, the type follows only the last name but applies to all names before it too. The bindings are
    // therefore read backwards.
    var type: TypeSyntax?
    var read: [StoredProperty] = []
    for binding in variable.bindings.reversed() {
      if let annotation = binding.typeAnnotation {
        type = annotation.type.trimmed
      } else if binding.initializer != nil {
        type = nil
      }
      guard binding.isStored else { continue }
      guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier else {
        diagnostics.append(ModelDiagnostic.tuplePattern.at(binding.pattern))
        continue
      }
      do throws(ModelDiagnostic) {
        read.append(try property(variable, binding, name, type, attribute, lines?.place(of: name)))
      } catch { diagnostics.append(error.at(binding.pattern)) }
    }
    properties += read.reversed()
  }

  private mutating func property(
    _ variable: VariableDeclSyntax, _ binding: PatternBindingSyntax, _ name: TokenSyntax, _ type: TypeSyntax?,
    _ attribute: FieldAttribute, _ place: SourcePlace?
  ) throws(ModelDiagnostic) -> StoredProperty {
    let initialValue = binding.initializer?.value.trimmed
    let hasValue = initialValue != nil || !variable.isConstant && (type?.isImplicitlyNil ?? false)
    var attribute = attribute
    func storedProperty(_ role: StoredProperty.Role) -> StoredProperty {
      StoredProperty(
        name: name, type: type, initialValue: initialValue, isConstant: variable.isConstant,
        isLazy: variable.hasModifier("lazy"), isWeak: variable.hasModifier("weak"), hasWrapper: variable.hasWrapper,
        isDeprecated: variable.attributes.containDeprecation,
        attribute: attribute,
        role: role, place: place)
    }
    let key = name.text.withoutBackticks
    if Self.isUnknownFields(type, initialValue) { return storedProperty(.unknownFields) }
    if attribute.hasNoStorage {
      guard hasValue else { throw .noPartWithoutValue(key) }
      return storedProperty(.unarchived)
    }
    if let problem = Self.reasonNotArchivable(
      variable, type, initialValue, key, isExcluded: attribute.isExcluded)
    {
      guard attribute.isExcluded else { throw problem }
      guard hasValue else { throw .excludedWithoutDefault(key) }
      return storedProperty(.unarchived)
    }
    guard type != nil || initialValue != nil, !(type?.isOpaque ?? false) else { throw .typeNeeded(key) }
    if attribute.json == nil {
      hasFieldWithoutJSON = true
      switch codingKeys?.key(of: key) {
      case .automatic, nil: break
      case .declared(let path): attribute.json = path
      case .absent:
        guard initialValue != nil || type?.isOptional ?? false else { throw .noCodingKey(key) }
        attribute.json = ".none"
      case .unknown:
        let isReadable = initialValue != nil || type?.isOptional ?? false
        diagnostics.append(ModelDiagnostic.unknownCodingKey(key, isReadable: isReadable).at(binding.pattern))
      }
    }
    let property = storedProperty(.field)
    if attribute.isExcluded, property.defaultText == nil { throw .excludedWithoutDefault(key) }
    if attribute.usesDefaultForUnknown, property.defaultText == nil {
      throw .unknownWithoutDefault(key)
    }
    if attribute.isNowhereInJSON, variable.isConstant, property.defaultText == nil, !(type?.isOptional ?? false) {
      throw .unreadableConstant(key)
    }
    return property
  }

  private static func reasonNotArchivable(
    _ variable: VariableDeclSyntax, _ type: TypeSyntax?, _ initialValue: ExprSyntax?, _ key: String,
    isExcluded: Bool
  ) -> ModelDiagnostic? {
    if variable.hasModifier("lazy") { return .lazyProperty(key) }
    if variable.hasModifier("unowned") { return .reference(kind: "an unowned reference", name: key) }
    // An excluded weak reference is not treated as a field, because its type need not be archivable.
    if variable.hasModifier("weak"), isExcluded { return .reference(kind: "a weak reference", name: key) }
    if let kind = type.map(\.shapeWithoutArchive) ?? initialValue?.shapeWithoutArchive {
      return .notArchivable(kind: kind, name: key)
    }
    return variable.isConstant && initialValue != nil ? .constantWithValue(key) : nil
  }

  private static func isUnknownFields(_ type: TypeSyntax?, _ initialValue: ExprSyntax?) -> Bool {
    if let type { return type.isUnknownFields }
    let called = initialValue?.as(FunctionCallExprSyntax.self)?.calledExpression
    let name = called?.as(MemberAccessExprSyntax.self)?.declName ?? called?.as(DeclReferenceExprSyntax.self)
    return name?.baseName.text == "UnknownFields"
  }
}

extension AttributeListSyntax {
  /// Whether one of the attributes marks the declaration as deprecated.
  var containDeprecation: Bool {
    named("available").contains { attribute in
      attribute.arguments?.tokens(viewMode: .sourceAccurate).contains { $0.text == "deprecated" } ?? false
    }
  }
}

extension VariableDeclSyntax {
  /// Whether the property has an attribute that may be a property wrapper: any attribute other than `@Field` whose name
  /// begins with a capital letter.
  fileprivate var hasWrapper: Bool {
    attributes.compactMap { $0.as(AttributeSyntax.self) }.map(FieldAttribute.name).contains { name in
      name != "Field" && (name.first?.isUppercase ?? false)
    }
  }
}

extension ExprSyntax {
  /// The name of a merge policy, such as `max` for `.max`, `MergePolicy.max` and `.max(…)`.
  fileprivate var policyName: Substring {
    trimmedDescription.prefix { $0 != "(" }.split(separator: ".").last ?? ""
  }
}
