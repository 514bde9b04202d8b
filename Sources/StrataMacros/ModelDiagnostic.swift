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
    case .notAModel: "@Model works on structs, classes and enums"
    case .superclassOfValue: "only a class can have a superclass"
    case .rawValues(let name, let type):
      "an enum with raw values is archived by its raw value; write 'enum \(name): \(type), Archivable' "
        + "instead of @Model"
    case .noCases: "an enum without cases has no values to archive"
    case .parameterPack: "a model cannot have a parameter pack"
    case .severalUnknownFields: "a model can have only one UnknownFields property"
    case .constantWithValue(let name):
      "the constant '\(name)' cannot be decoded because a constant keeps its initial value; declare the property with "
        + "var or static"
    case .lazyProperty(let name):
      "the lazy property '\(name)' cannot be archived; write @Field(archive: .excluded) to exclude the property"
    case .reference(let kind, let name):
      "the property '\(name)' is \(kind), which cannot be archived; write @Field(archive: .excluded) to exclude the "
        + "property"
    case .notArchivable(let kind, let name):
      "the property '\(name)' is \(kind), which cannot be archived; \(Self.advice(kind))"
    case .payloadNotArchivable(let kind, let name):
      "a value of the case '\(name)' is \(kind), which cannot be archived; declare a type of your own for the value"
    case .excludedWithoutDefault(let name):
      "the excluded property '\(name)' has no value for decoding; add an initial value, or make the property an "
        + "optional var"
    case .unknownWithoutDefault(let name):
      "the property '\(name)' has no default for an unknown case; add an initial value"
    case .unreadableConstant(let name):
      "the property '\(name)' is never in JSON and has no default; make the property a var with an initial value, or "
        + "an optional"
    case .negativeVersion: "the version of a model cannot be negative; write @Model(version: 1) for the first version"
    case .optionSet(let name):
      "an OptionSet is archived as its raw value; write 'extension \(name): Archivable {}' instead of @Model"
    case .noPartWithoutValue(let name):
      "the property '\(name)' is never stored and has no value for decoding; add an initial value, or make the "
        + "property an optional var"
    case .typeNeeded(let name): "the property '\(name)' has no explicit type; write the type"
    case .tuplePattern: "a model cannot declare properties with a tuple pattern; declare the properties one by one"
    case .conditional: "@Model cannot read properties inside #if; move the condition out of the model"
    case .notLiteral(let argument, let choices):
      "the macro reads the argument '\(argument)' at compile time; write \(choices)"
    case .notAField: "@Field applies only to a stored instance property or to an enum case"
    case .caseArgument(let argument): "the argument '\(argument)' has no effect on a case; use only 'formerly'"
    case .sameCase(let name):
      "two cases have the name '\(name)', but archives identify cases by name; rename one of the cases"
    case .severalAttributes: "a property can have only one @Field; combine the arguments"
    case .severalProperties:
      "the arguments 'formerly' and 'json' apply to a single property; declare each property separately"
    case .formerKeyOfAnother(let property, let key):
      "the key '\(key)' belongs to a different property, so it cannot be a former key of '\(property)'; if values "
        + "moved, write a step"
    case .conditionalCase: "@Model cannot read cases inside #if; move the condition out of the enum"
    case .takenName(let name): "@Model already declares 'static let \(name)'; rename this declaration"
    case .privateInside(let name):
      "the model '\(name)' is private to the enclosing type, so the extension from @Model cannot access the model; "
        + "write fileprivate"
    case .suppressed(let name): "models and their generic arguments must be Copyable and Escapable; remove ~\(name)"
    case .noSuperclass(let given):
      "the class has no superclass; remove 'superclass: \(given)', or write it after a colon"
    case .otherSuperclass(let given, let found):
      "the superclass of the class is \(found), not \(given); write 'superclass: \(found).self'"
    case .fieldWithoutModel(let type):
      "@Field has no effect because the type '\(type)' does not have @Model; write @Model(version: 1) before '\(type)'"
    case .isolated(let actor):
      "a model cannot be isolated to an actor because archives are read and written on any thread; remove @\(actor), "
        + "or move the model into a separate type that the isolated type contains"
    case .superclass(let type, let superclass):
      "if the superclass '\(superclass)' is a model, '\(type)' must inherit its fields; write @Model(version: …, "
        + "superclass: \(superclass).self)"
    case .modelAbove(let type, let superclass):
      "the superclass '\(superclass)' is a model, so '\(type)' must inherit its fields; write @Model(version: …, "
        + "superclass: \(superclass).self)"
    case .noCodingKey(let property):
      "CodingKeys has no case for the property '\(property)', which needs a default; add a case, or make the property "
        + "a var with an initial value, or an optional"
    case .unknownCodingKey(let property, isReadable: true):
      "CodingKeys has no case for the property '\(property)', but the type has its own init(from:) or encode(to:); "
        + "write @Field(json: \(property.literal)) if JSON contains '\(property)', or @Field(json: .none)"
    case .unknownCodingKey(let property, isReadable: false):
      "CodingKeys has no case for the property '\(property)', but the type has its own init(from:) or encode(to:); "
        + "write @Field(json: \(property.literal)) if JSON contains '\(property)', or @Field(json: .none) and a var "
        + "with an initial value"
    case .unreadCodingKeys(let obstacle):
      "@Model cannot read CodingKeys from \(obstacle), so properties keep their own names in JSON; write "
        + "@Field(json:) at each property, or declare an enum with String raw values"
    case .codingMethod(let name):
      "Strata does not call this \(name); declare the JSON keys with CodingKeys or with @Field(json:) at each property"
    case .constantPolicy(let property):
      "the constant '\(property)' of an object cannot change, so a merge that changes it is an error; declare the "
        + "property with var, or write @Field(merge: .keepLocal)"
    case .severalCases:
      "@Field applies to several cases of one line; declare each case with @Field on a line of its own"
    }
  }

  private static func advice(_ kind: String) -> String {
    let excluded = "@Field(archive: .excluded) to exclude the property"
    return switch kind {
    case "a tuple": "write a struct, or \(excluded)"
    case "an existential": "name one type, such as an enum with a case for each type, or write \(excluded)"
    default: "write \(excluded)"
    }
  }

  func at(_ node: some SyntaxProtocol) -> Diagnostic { Diagnostic(node: Syntax(node), message: self) }
}
