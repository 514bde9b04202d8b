import SwiftDiagnostics
import SwiftSyntax

/// An error in the declaration of a model, with a suggested fix.
enum ModelDiagnostic: DiagnosticMessage, Error {
  case notAModel
  case superclassOfValue
  case rawValues(name: String, type: String)
  case noCases
  case parameterPack
  case severalUnknownFields
  case constantWithValue(String)
  case lazyProperty(String)
  case reference(kind: String, name: String)
  case notArchivable(kind: String, name: String)
  case payloadNotArchivable(kind: String, name: String)
  case excludedWithoutDefault(String)
  case unknownWithoutDefault(String)
  case unreadableConstant(String)
  case negativeVersion
  case optionSet(String)
  case noPartWithoutValue(String)
  case typeNeeded(String)
  case tuplePattern
  case conditional
  case notLiteral(argument: String, choices: String)
  case notAField
  case caseArgument(String)
  case severalCases
  case sameCase(String)
  case severalAttributes
  case severalProperties
  case formerKeyOfAnother(String, String)
  case conditionalCase
  case takenName(String)
  case privateInside(String)
  case suppressed(String)
  case noSuperclass(given: String)
  case otherSuperclass(given: String, found: String)
  case fieldWithoutModel(String)
  case isolated(String)
  case superclass(type: String, superclass: String)
  case modelAbove(type: String, superclass: String)
  case noCodingKey(String)
  case unknownCodingKey(String, isReadable: Bool)
  case unreadCodingKeys(String)
  case codingMethod(String)
  case constantPolicy(String)

  var severity: DiagnosticSeverity {
    switch self {
    case .unknownCodingKey, .unreadCodingKeys, .constantPolicy: .warning
    case .superclass: .note
    case .codingMethod: .remark
    default: .error
    }
  }

  var diagnosticID: MessageID {
    MessageID(domain: "Strata", id: String(describing: self).prefix { $0 != "(" }.description)
  }

  var message: String {
    switch self {
    case .notAModel: "@Model applies only to structs, classes and enums"
    case .superclassOfValue: "only a class can have a superclass; remove the argument 'superclass'"
    case .rawValues(let name, let type):
      "@Model cannot be applied to an enum with raw values, which is archived as its raw value; write 'enum \(name): "
        + "\(type), Archivable' instead"
    case .noCases: "@Model cannot be applied to an enum without cases, which has no values to archive"
    case .parameterPack: "a model cannot have a parameter pack; use ordinary generic parameters"
    case .severalUnknownFields: "a model can have only one UnknownFields property; remove the others"
    case .constantWithValue(let name):
      "the constant '\(name)' cannot be decoded because its initial value cannot change; declare the property as var "
        + "or static"
    case .lazyProperty(let name):
      "the lazy property '\(name)' cannot be archived; write @Field(archive: .excluded) to exclude the property"
    case .reference(let kind, let name):
      "the property '\(name)' is \(kind), which cannot be archived; write @Field(archive: .excluded) to exclude the "
        + "property"
    case .notArchivable(let kind, let name):
      "the property '\(name)' is \(kind), which cannot be archived; \(Self.advice(kind))"
    case .payloadNotArchivable(let kind, let name):
      "an associated value of the case '\(name)' is \(kind), which cannot be archived; declare a struct or an enum for "
        + "the value"
    case .excludedWithoutDefault(let name):
      "the excluded property '\(name)' would have no value after decoding; add an initial value, or make the property "
        + "an optional var"
    case .unknownWithoutDefault(let name):
      "the property '\(name)' needs a default for unknown cases; add an initial value"
    case .unreadableConstant(let name):
      "the property '\(name)' is excluded from JSON but has no default; make the property an optional or a var with an "
        + "initial value"
    case .negativeVersion: "a model version cannot be negative; write @Model(version: 1) for the first version"
    case .optionSet(let name):
      "@Model cannot be applied to an OptionSet, which is archived as its raw value; write 'extension \(name): "
        + "Archivable {}' instead"
    case .noPartWithoutValue(let name):
      "the property '\(name)' is never stored, so it would have no value after decoding; add an initial value, or make "
        + "the property an optional var"
    case .typeNeeded(let name): "the property '\(name)' has no explicit type; add a type annotation"
    case .tuplePattern: "a model cannot declare properties with a tuple pattern; declare each property separately"
    case .conditional: "@Model cannot read properties inside #if; put the #if around the whole model"
    case .notLiteral(let argument, let choices):
      "the macro cannot read the argument '\(argument)' at compile time; write \(choices)"
    case .notAField: "@Field applies only to stored instance properties and enum cases"
    case .caseArgument(let argument):
      "the argument '\(argument)' has no effect on an enum case, where only 'formerly' is supported; remove the "
        + "argument"
    case .sameCase(let name):
      "two cases have the name '\(name)', but archives identify cases by name; rename one of them"
    case .severalAttributes: "a property can have only one @Field; combine the arguments in one attribute"
    case .severalProperties:
      "the arguments 'formerly' and 'json' cannot apply to several properties; declare each property separately"
    case .formerKeyOfAnother(let property, let key):
      "the key '\(key)' belongs to a different property, so it cannot be a former key of '\(property)'; to move "
        + "values, write a migration step"
    case .conditionalCase: "@Model cannot read cases inside #if; put the #if around the whole enum"
    case .takenName(let name): "@Model already declares 'static let \(name)'; rename this declaration"
    case .privateInside(let name):
      "the model '\(name)' is private to its enclosing type, so the extension that @Model generates cannot access it; "
        + "declare the model as fileprivate"
    case .suppressed(let name): "a model and its generic arguments must be Copyable and Escapable; remove '~\(name)'"
    case .noSuperclass(let given):
      "the class has no superclass; remove 'superclass: \(given)', or declare the superclass after the class name"
    case .otherSuperclass(let given, let found):
      "the superclass of the class is \(found), not \(given); write 'superclass: \(found).self'"
    case .fieldWithoutModel(let type):
      "@Field has no effect because the type '\(type)' does not have @Model; write @Model(version: 1) before '\(type)'"
    case .isolated(let actor):
      "a model cannot be isolated to an actor because archives are read and written on any thread; remove '@\(actor)', "
        + "or move the archived properties into a separate model"
    case .superclass(let type, let superclass):
      "if the superclass '\(superclass)' is a model, '\(type)' must inherit its fields; write @Model(version: …, "
        + "superclass: \(superclass).self)"
    case .modelAbove(let type, let superclass):
      "the superclass '\(superclass)' is a model, so '\(type)' must inherit its fields; write @Model(version: …, "
        + "superclass: \(superclass).self)"
    case .noCodingKey(let property):
      "CodingKeys has no case for the property '\(property)', which has no default; add a case, or make the property "
        + "an optional or a var with an initial value"
    case .unknownCodingKey(let property, isReadable: true):
      "CodingKeys has no case for the property '\(property)', but the type's own init(from:) or encode(to:) may use "
        + "it; write @Field(json: \(property.literal)) if JSON contains '\(property)', and @Field(json: .none) if it "
        + "does not"
    case .unknownCodingKey(let property, isReadable: false):
      "CodingKeys has no case for the property '\(property)', but the type's own init(from:) or encode(to:) may use "
        + "it; write @Field(json: \(property.literal)) if JSON contains '\(property)'; if it does not, write "
        + "@Field(json: .none) and declare a var with an initial value"
    case .unreadCodingKeys(let obstacle):
      "@Model cannot read CodingKeys from \(obstacle), so properties keep their own names in JSON; write @Field(json:) "
        + "on each property, or declare CodingKeys as an enum with String raw values"
    case .codingMethod(let name):
      "Strata does not call this \(name); specify the JSON keys with CodingKeys or with @Field(json:) on each property"
    case .constantPolicy(let property):
      "a merge fails if it changes the constant '\(property)' of an object; declare the property with var, or write "
        + "@Field(merge: .keepLocal)"
    case .severalCases:
      "@Field cannot be applied to a declaration with several cases; declare each case separately"
    }
  }

  private static func advice(_ kind: String) -> String {
    let excluded = "@Field(archive: .excluded) to exclude the property"
    return switch kind {
    case "a tuple": "write a struct, or \(excluded)"
    case "an existential": "use one concrete type, such as an enum with a case for each type, or write \(excluded)"
    default: "write \(excluded)"
    }
  }

  func at(_ node: some SyntaxProtocol) -> Diagnostic { Diagnostic(node: Syntax(node), message: self) }
}
