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
    case .superclassOfValue: "only a class has a superclass"
    case .rawValues(let name, let type):
      "an enum with raw values is archived by its raw value; write 'enum \(name): \(type), Archivable' "
        + "instead of @Model"
    case .noCases: "an enum without cases has no values to archive"
    case .parameterPack: "a model cannot have a parameter pack"
    case .severalUnknownFields: "a model can have only one UnknownFields property"
    case .constantWithValue(let name):
      "'\(name)' cannot be decoded, since a constant keeps its initial value; make it var or static"
    case .lazyProperty(let name):
      "'\(name)' is computed when it is first needed; write @Field(archive: .excluded) to leave it out"
    case .reference(let kind, let name):
      "'\(name)' is \(kind), which cannot be archived; write @Field(archive: .excluded) to leave it out"
    case .notArchivable(let kind, let name):
      "'\(name)' is \(kind), which cannot be archived; \(Self.advice(kind))"
    case .payloadNotArchivable(let kind, let name):
      "a value of the case '\(name)' is \(kind), which cannot be archived; write a type of your own"
    case .excludedWithoutDefault(let name):
      "archives leave '\(name)' out, so decoding needs its initial value; give it one or make it an optional var"
    case .unknownWithoutDefault(let name):
      "'\(name)' has no default to use for an unknown case; give it an initial value"
    case .unreadableConstant(let name):
      "JSON never contains '\(name)', and it has no default, so no JSON could be read; make it a var with an initial value, or an optional"
    case .negativeVersion: "a version cannot be negative; write @Model(version: 1) for the first one"
    case .optionSet(let name):
      "an OptionSet is archived as its raw value; write 'extension \(name): Archivable {}' instead of @Model"
    case .noPartWithoutValue(let name):
      "'\(name)' is never stored, so decoding needs its initial value; give it one or make it an optional var"
    case .typeNeeded(let name): "write the type of '\(name)'"
    case .tuplePattern: "declare the properties of a model one by one"
    case .conditional: "@Model does not see properties inside #if; move the condition out of the model"
    case .notLiteral(let argument, let choices):
      "the macro reads '\(argument)' at compile time; write \(choices)"
    case .notAField: "@Field belongs on a stored property of an instance, or on a case"
    case .caseArgument(let argument): "'\(argument)' has no effect on a case; only 'formerly' has"
    case .sameCase(let name):
      "two cases are called '\(name)', and archives tell cases apart by name; give one of them another"
    case .severalAttributes: "a property can have only one @Field; combine the arguments"
    case .severalProperties: "'formerly' and 'json' apply to a single property; declare each property separately"
    case .formerKeyOfAnother(let property, let key):
      "'\(key)' is the key of another property today, so it is no former key of '\(property)'; if values moved, write a step"
    case .conditionalCase: "@Model does not see cases inside #if; move the condition out of the enum"
    case .takenName(let name): "@Model declares 'static let \(name)' itself; give this another name"
    case .privateInside(let name):
      "'\(name)' is private to the enclosing type, so the extension that @Model adds cannot access it; write fileprivate"
    case .suppressed(let name): "models and their generic arguments must be Copyable and Escapable; remove ~\(name)"
    case .noSuperclass(let given):
      "the class has no superclass; remove 'superclass: \(given)', or write it after a colon"
    case .otherSuperclass(let given, let found):
      "the superclass of the class is \(found), and not \(given); write 'superclass: \(found).self'"
    case .fieldWithoutModel(let type):
      "only @Model reads @Field, and '\(type)' does not have it; write @Model(version: 1) before '\(type)'"
    case .isolated(let actor):
      "archives are read and written on any thread, so a model cannot be isolated to an actor; remove @\(actor), or put the model into "
        + "a type of its own that the isolated one holds"
    case .superclass(let type, let superclass):
      "if '\(superclass)' is a model too, '\(type)' inherits its fields with "
        + "@Model(version: …, superclass: \(superclass).self)"
    case .modelAbove(let type, let superclass):
      "the superclass '\(superclass)' is a model, and '\(type)' inherits its fields; write "
        + "@Model(version: …, superclass: \(superclass).self)"
    case .noCodingKey(let property):
      "CodingKeys has no case for '\(property)', and reading JSON without '\(property)' needs a default; add a case, or make it a var with an "
        + "initial value, or an optional"
    case .unknownCodingKey(let property, let isReadable):
      "CodingKeys has no case for '\(property)', and the type has its own init(from:) or encode(to:); write @Field(json: \(property.literal)) if "
        + "JSON holds '\(property)', or @Field(json: .none)" + (isReadable ? "" : " and an initial value of a var")
    case .unreadCodingKeys(let obstacle):
      "@Model cannot read CodingKeys from \(obstacle), and properties keep their own names in JSON; write @Field(json:) at each property, or "
        + "an enum with String raw values"
    case .codingMethod(let name):
      "Strata does not call this \(name); JSON is read and written by CodingKeys and by the @Field(json:) of each property"
    case .constantPolicy(let property):
      "'\(property)' of an object cannot change, and a merge that would change it is an error; make it var, or write "
        + "@Field(merge: .keepLocal)"
    case .severalCases: "give each case with @Field a line of its own"
    }
  }

  private static func advice(_ kind: String) -> String {
    let excluded = "@Field(archive: .excluded) to leave it out"
    return switch kind {
    case "a tuple": "write a struct, or \(excluded)"
    case "an existential": "name one type, such as an enum with a case for each, or write \(excluded)"
    default: "write \(excluded)"
    }
  }

  func at(_ node: some SyntaxProtocol) -> Diagnostic { Diagnostic(node: Syntax(node), message: self) }
}
