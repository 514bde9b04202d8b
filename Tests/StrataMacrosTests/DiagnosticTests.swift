import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import Testing

@testable import StrataMacros

/// The diagnostics of the macros for a source, as `line:column message`.
func diagnostics(_ source: String, _ specs: [String: MacroSpec] = specs) -> [String] {
  let file = Parser.parse(source: source)
  let context = BasicMacroExpansionContext(
    sourceFiles: [file: .init(moduleName: "Test", fullFilePath: "Test.swift")])
  _ = file.expand(
    macroSpecs: specs,
    contextGenerator: {
      BasicMacroExpansionContext(sharingWith: context, lexicalContext: $0.allMacroLexicalContexts())
    })
  return context.diagnostics.map { diagnostic in
    let place = context.location(
      for: diagnostic.position, anchoredAt: diagnostic.node, fileName: "Test.swift")
    return "\(place.line):\(place.column) \(diagnostic.message)"
  }
}

/// A mistake in the properties of a struct, and the macro's message.
struct Mistake: Sendable {
  let member: String
  let message: String
  var place: String?

  init(_ member: String, _ message: String, at place: String) {
    (self.member, self.message, self.place) = (member, message, place)
  }
}

@Suite struct DiagnosticTests {
  @Test(arguments: [
    Mistake(
      "let x = 5",
      "the constant 'x' cannot be decoded because its initial value cannot change; declare the property as var or "
        + "static", at: "3:7"),
    Mistake(
      "lazy var x = 5",
      "the lazy property 'x' cannot be archived; write @Field(archive: .excluded) to exclude the property", at: "3:12"),
    Mistake(
      "unowned let x: Node",
      "the property 'x' is an unowned reference, which cannot be archived; write @Field(archive: .excluded) to exclude "
        + "the property",
      at: "3:15"),
    Mistake(
      "unowned(unsafe) let x: Node",
      "the property 'x' is an unowned reference, which cannot be archived; write @Field(archive: .excluded) to exclude "
        + "the property",
      at: "3:23"),
    Mistake(
      "@Field(archive: .excluded) unowned var x: Node",
      "the excluded property 'x' would have no value after decoding; add an initial value, or make the property an "
        + "optional var",
      at: "3:42"),
    Mistake(
      "@Field(archive: .excluded) var x: Int",
      "the excluded property 'x' would have no value after decoding; add an initial value, or make the property an "
        + "optional var",
      at: "3:34"),
    Mistake(
      "@Field(storage: .none) var x: Int",
      "the property 'x' is never stored, so it would have no value after decoding; add an initial value, or make the "
        + "property an optional var", at: "3:30"),
    Mistake(
      "@Field(storage: .none) let x: Int?",
      "the property 'x' is never stored, so it would have no value after decoding; add an initial value, or make the "
        + "property an optional var", at: "3:30"),
    Mistake(
      "@Field(storage: chosen) var x = 1",
      "the macro cannot read the argument 'storage' at compile time; write .permanent, .transitory or .none", at: "3:19"
    ),
    Mistake(
      "var x: (Int, Int)",
      "the property 'x' is a tuple, which cannot be archived; write a struct, or @Field(archive: .excluded) to exclude "
        + "the property",
      at: "3:7"),
    Mistake(
      "var x: (() -> Void)?",
      "the property 'x' is a function, which cannot be archived; write @Field(archive: .excluded) to exclude the "
        + "property",
      at: "3:7"),
    Mistake(
      "var `class` = { 3 }",
      "the property 'class' is a function, which cannot be archived; write @Field(archive: .excluded) to exclude the "
        + "property",
      at: "3:7"),
    Mistake(
      "let (x, y): (Int, Int)",
      "a model cannot declare properties with a tuple pattern; declare each property separately", at: "3:7"),
    Mistake("@Wrapper(3) var x", "the property 'x' has no explicit type; add a type annotation", at: "3:19"),
    Mistake(
      "@Field(unknown: .useDefault) var x: State",
      "the property 'x' needs a default for unknown cases; add an initial value", at: "3:36"),
    Mistake(
      "@Field(archive: behavior) var x = 1",
      "the macro cannot read the argument 'archive' at compile time; write .always, .conditional or .excluded",
      at: "3:19"),
    Mistake(
      "@Field(unknown: policy) var x = 1",
      "the macro cannot read the argument 'unknown' at compile time; write .fail or .useDefault", at: "3:19"),
    Mistake(
      "var x = UnknownFields(), y: UnknownFields",
      "a model can have only one UnknownFields property; remove the others",
      at: "3:28"),
    Mistake(
      "#if DEBUG\n  var x = 1\n  #endif",
      "@Model cannot read properties inside #if; put the #if around the whole model", at: "4:3"),
    Mistake(
      "#if DEBUG\n  #if os(Linux)\n  var x = 1\n  #endif\n  #endif",
      "@Model cannot read properties inside #if; put the #if around the whole model", at: "5:3"),
    Mistake(
      "@Field() var x: Int { 3 }", "@Field applies only to stored instance properties and enum cases",
      at: "3:3"),
    Mistake(
      "@Field() static var x = 3", "@Field applies only to stored instance properties and enum cases",
      at: "3:3"),
    Mistake(
      "@Field() func f() {}", "@Field applies only to stored instance properties and enum cases", at: "3:3"),
  ])
  func property(_ mistake: Mistake) {
    let source = "@Model(version: 1)\nstruct A {\n  \(mistake.member)\n}"
    #expect(diagnostics(source) == ["\(mistake.place ?? "") \(mistake.message)"])
  }

  @Test(arguments: [
    ("actor A {}", "1:1 @Model applies only to structs, classes and enums"),
    ("protocol A {}", "1:1 @Model applies only to structs, classes and enums"),
    ("struct A<each T> {}", "2:10 a model cannot have a parameter pack; use ordinary generic parameters"),
    ("enum A {}", "2:6 @Model cannot be applied to an enum without cases, which has no values to archive"),
    (
      "enum A {\n#if DEBUG\n#if os(Linux)\ncase a\n#endif\n#endif\ncase b\n}",
      "5:1 @Model cannot read cases inside #if; put the #if around the whole enum"
    ),
    (
      "enum State: String { case open }",
      "1:1 @Model cannot be applied to an enum with raw values, which is archived as its raw value; write "
        + "'enum State: String, Archivable' instead"
    ),
    (
      "enum Code: Number { case one = 1 }",
      "1:1 @Model cannot be applied to an enum with raw values, which is archived as its raw value; write "
        + "'enum Code: Number, Archivable' instead"
    ),
    (
      "enum A { case a(x: (Int, Int)) }",
      "2:20 an associated value of the case 'a' is a tuple, which cannot be archived; declare a struct or an enum for "
        + "the value"
    ),
    (
      "enum A {\n  @Field(json: \"x\") case a\n}",
      "3:10 the argument 'json' has no effect on an enum case, where only 'formerly' is supported; remove the argument"
    ),
    (
      "enum A { case a(x: Int), b, a(y: Int) }",
      "2:29 two cases have the name 'a', but archives identify cases by name; rename one of them"
    ),
    (
      "enum A {\n  @Field(formerly: \"x\") case a, b\n}",
      "3:3 @Field cannot be applied to a declaration with several cases; declare each case separately"
    ),
  ])
  func type(_ declaration: String, _ message: String) {
    #expect(diagnostics("@Model(version: 1)\n\(declaration)") == [message])
  }

  @Test func onlyClassesHaveSuperclasses() {
    let source = "@Model(version: 1, superclass: Animal.self)\nstruct Dog {}"
    #expect(
      diagnostics(source, subclassSpecs) == ["1:1 only a class can have a superclass; remove the argument 'superclass'"]
    )
  }

  @Test func fieldsNeedAModel() {
    let message = "@Field has no effect because the type 'A' does not have @Model; write @Model(version: 1) before 'A'"
    for source in ["struct A {\n  @Field(json: \"x\") var a = 1\n}", "@Other class A {\n  @Field() var a = 1\n}"] {
      #expect(diagnostics(source) == ["2:3 \(message)"])
    }
    #expect(diagnostics("enum A {\n  @Field(formerly: \"x\") case a\n}") == ["2:3 \(message)"])
    #expect(diagnostics("@Strata.Model(version: 1) struct A {\n  @Strata.Field() var a = 1\n}").isEmpty)
    // The innermost type must be a model; an outer model does not count.
    let nested = "@Model(version: 1)\nstruct B {\n  struct A {\n    @Field() var a = 1\n  }\n}"
    #expect(diagnostics(nested) == ["4:5 \(message)"])
  }

  @Test(arguments: ["class A { var x = 1 }", "struct A { var x = 1 }", "enum A { case a }"])
  func modelsBelongToNoActor(_ declaration: String) {
    let message =
      "a model cannot be isolated to an actor because archives are read and written on any thread; remove "
      + "'@MainActor', or move the archived properties into a separate model"
    #expect(diagnostics("@MainActor @Model(version: 1)\n\(declaration)") == ["1:1 \(message)"])
    #expect(diagnostics("@Model(version: 1)\n@MainActor\n\(declaration)") == ["2:1 \(message)"])
  }

  @Test func subclassesAreToldOfTheirSuperclass() {
    let below = ["Model": MacroSpec(type: ModelMacro.self, conformances: [])]
    let missing =
      "the superclass 'Animal' is a model, so 'Dog' must inherit its fields; write @Model(version: …, superclass: "
      + "Animal.self)"
    #expect(diagnostics("@Model(version: 1)\nfinal class Dog: Animal {}", below) == ["2:18 \(missing)"])
    // The superclass declares its conformance by hand.
    let conforming = ["Model": MacroSpec(type: ModelMacro.self, conformances: ["_StrataBaseClass"])]
    let message =
      "if the superclass 'Animal' is a model, 'Dog' must inherit its fields; write @Model(version: …, superclass: "
      + "Animal.self)"
    #expect(diagnostics("@Model(version: 1)\nfinal class Dog: Animal {}", conforming) == ["2:18 \(message)"])
    // There is no message if the class declares the conformance itself, has no superclass, or doesn't conform through its superclass.
    #expect(diagnostics("@Model(version: 1)\nfinal class Dog: Validating {}", conforming).isEmpty)
    #expect(diagnostics("@Model(version: 1)\nfinal class Dog: VersionedModel, Animal {}", conforming).isEmpty)
    #expect(diagnostics("@Model(version: 1)\nfinal class Dog {}", conforming).isEmpty)
    #expect(diagnostics("@Model(version: 1)\nfinal class Dog: Animal {}").isEmpty)
  }

  @Test func everyMistakeIsNamed() {
    let source = """
      @Model(version: 1)
      class A {
        let x = 1
        lazy var y = 2
      }
      """
    #expect(diagnostics(source).count == 2)
  }

  @Test func whatIsRightIsSilent() {
    let source = """
      @Model(version: 1)
      final class A {
        @Field(archive: .excluded) lazy var y = 2
        @Field(archive: .excluded) weak var parent: A?
        weak var owner: A?
        @Field(archive: .excluded) let onChange = { 3 }
        @Field(archive: .excluded) var pair = (1, 2)
        @Field(storage: .none) lazy var sum = 3
        @Field(storage: .none) weak var child: A?
        @Field(storage: .none) let onEnd = { 3 }
        @Field(storage: .none) var selection: Int?
        static var z = 1
        static let (p, q) = (1, 2)
        var computed: (Int, Int) { (1, 2) }
      }
      """
    #expect(diagnostics(source).isEmpty)
  }
}
