import SwiftParser
import SwiftSyntax
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import Testing

@testable import StrataMacros

@Suite("CodingKeys of models")
struct CodingKeysTests {
  /// Returns the lines of the expanded schema that declare fields, without the enclosing call.
  private func fields(_ members: String, kind: String = "struct", head: String = "@Model(version: 1)") -> [String] {
    let file = Parser.parse(source: "\(head) \(kind) A: Codable {\n\(members)\n}")
    let expanded = file.expand(
      macroSpecs: specs,
      contextGenerator: { BasicMacroExpansionContext(lexicalContext: $0.allMacroLexicalContexts()) })
    return expanded.description.split(separator: "\n").compactMap { line in
      let line = line.drop { $0 == " " }
      return line.hasPrefix("_StrataField(") ? String(line.dropFirst(13).dropLast(2)) : nil
    }
  }

  /// Returns the diagnostics for a struct with the given members, which start on line 3.
  private func said(_ members: String) -> [String] {
    diagnostics("@Model(version: 1)\nstruct A: Codable {\n\(members)\n}")
  }

  @Test("CodingKeys give fields the same JSON keys as @Field(json:)")
  func keys() {
    let source = { (title: String, keys: String) in
      #"""
      @Model(version: 1)
      struct Issue: Codable {
        let id: Int
        \#(title)var title: String\#(keys)
      }
      """#
    }
    let expansion = { (keys: String) in
      #"""
      struct Issue: Codable {
        let id: Int
        var title: String\#(keys)

        static let schema = _StrataSchema(
          Issue.self, name: "Issue", version: 1,
          fields: [
            _StrataField("id", Int.self),
            _StrataField("title", String.self, json: "issue_title"),
          ])
      }

      nonisolated extension Issue: _StrataModel {
        init(fields reader: inout _StrataReader) throws {
          self.id = try reader.field(0)
          self.title = try reader.field(1)
        }

        func encodeFields(to writer: inout _StrataWriter) throws {
          try writer.field(0, self.id)
          try writer.field(1, self.title)
        }
      }
      """#
    }
    let keys = "\n  enum CodingKeys: String, CodingKey {\n    case id, title = \"issue_title\"\n  }"
    expectExpansion(source("@Field(json: \"issue_title\") ", ""), expansion(""))
    expectExpansion(source("", keys), expansion(keys))
  }

  @Test(
    "The JSON key of a case is its raw value, with path syntax escaped",
    arguments: [
      (#"case a = "x""#, #", json: "x""#),
      (#"case a = "a""#, #", json: "a""#),
      ("case a", ""),
      ("case `a`", ""),
      (#"case `a` = "x""#, #", json: "x""#),
      (#"case b, a = "x", c"#, #", json: "x""#),
      (#"case a = """#, #", json: """#),
      (#"case a = "user.login""#, ##", json: #"user\.login"#"##),
      (#"case a = "x[0]""#, ##", json: #"x\[0]"#"##),
      (##"case a = #"x\y"#"##, ##", json: #"x\\y"#"##),
      (#"case a = "\u{e9}\"""#, ##", json: #"é""#"##),
      (#"case a = "*""#, ##", json: #"\*"#"##),
      (#"case a = "a*""#, #", json: "a*""#),
      (#"case a = "\"\"""#, ##", json: #"\"""#"##),
      (#"case a = "x\ny""#, #", json: "x\ny""#),
      ("case a = \"\"\"\n  x\n  y\n  \"\"\"", #", json: "x\ny""#),
    ])
  func rawValue(_ line: String, _ argument: String) {
    let members = "var a = 1\nenum CodingKeys: String, CodingKey { \(line) }"
    #expect(said(members).isEmpty)
    #expect(fields(members) == ["\"a\"\(argument), default: { 1 }"])
  }

  @Test(
    "Without String raw values, the JSON key of a case is its property's name",
    arguments: ["CodingKey { case a }", "Int, CodingKey { case a = 7 }", "Swift.CodingKey { case a }"])
  func names(_ keys: String) {
    let members = "var a = 1, b = 2\nenum CodingKeys: \(keys)"
    #expect(said(members).isEmpty)
    #expect(fields(members) == ["\"a\", default: { 1 }", "\"b\", json: .none, default: { 2 }"])
  }

  @Test("Multiple declarations are read, and computed properties and unmatched cases are ignored")
  func properties() {
    #expect(
      fields(
        """
        var a, b: Int
        var isLarge: Bool { a > 3 }
        static var c = 3
        @Field(storage: .none) var d = 4
        private enum CodingKeys: Swift.String, Swift.CodingKey {
          case a = "A"
          case b = "B"
          case isLarge = "large", c, d = "D", unknown
        }
        """) == ["\"a\", Int.self, json: \"A\"", "\"b\", Int.self, json: \"B\""])
    #expect(
      fields("let `default`: Int\nenum CodingKeys: String, CodingKey { case `default` = \"x\" }")
        == ["\"default\", Int.self, json: \"x\""])
  }

  @Test("@Field(json:) takes precedence over CodingKeys, and its other arguments are kept")
  func field() {
    let keys = "\nenum CodingKeys: String, CodingKey { case a = \"x\" }"
    #expect(fields("@Field(json: \"y\") var a = 1" + keys) == ["\"a\", json: \"y\", default: { 1 }"])
    #expect(fields("@Field(json: .automatic) var a = 1" + keys) == ["\"a\", json: .automatic, default: { 1 }"])
    #expect(
      fields("@Field(archive: .excluded, formerly: \"b\", merge: .keepLocal) var a = 1" + keys) == [
        "\"a\", formerly: [\"b\"], archive: .excluded, merge: .keepLocal, json: \"x\", default: { 1 }"
      ])
    #expect(
      fields("@Field(json: \"z\") let b: Int\nvar a = 1" + keys) == [
        "\"b\", Int.self, json: \"z\"", "\"a\", json: \"x\", default: { 1 }",
      ])
    #expect(said("@Field(json: \"z\") let b: Int\nvar a = 1" + keys).isEmpty)
  }

  @Test("A property without a case is excluded from JSON, and needs a default")
  func noCase() {
    let keys = "\nenum CodingKeys: String, CodingKey { case a }"
    for (property, field) in [
      ("var b = 2", "\"b\", json: .none, default: { 2 }"), ("var b: Int?", "\"b\", Int?.self, json: .none"),
      ("let b: Int?", "\"b\", Int?.self, json: .none"),
      ("private(set) var b = 2", "\"b\", json: .none, default: { 2 }"),
      ("@Field(archive: .excluded) var b = 2", "\"b\", archive: .excluded, json: .none, default: { 2 }"),
    ] {
      #expect(fields("var a = 1\n\(property)" + keys) == ["\"a\", default: { 1 }", field])
      #expect(said("var a = 1\n\(property)" + keys).isEmpty)
    }
    let message =
      "CodingKeys has no case for the property 'b', which has no default; add a case, or make the property an "
      + "optional or a var with an initial value"
    #expect(said("var a = 1\nlet b: Int" + keys) == ["4:5 \(message)"])
    #expect(said("var a = 1\nvar b: Int" + keys) == ["4:5 \(message)"])
    // The macro reports every invalid property, not only the first one.
    #expect(said("let b: Int\nlet c = 1" + keys).count == 2)
    #expect(said("@Field(json: .none) var b: Int" + keys).isEmpty)
  }

  @Test(
    "A property without a case in a type with its own coding keeps its name, with a warning",
    arguments: [
      ("init(from decoder: any Decoder) throws {}", "init(from:)"),
      ("init(from decoder: Swift.Decoder) throws {}", "init(from:)"),
      ("func encode(to encoder: any Encoder) throws {}", "encode(to:)"),
      ("#if DEBUG\nfunc encode(to encoder: any Encoder) throws {}\n#endif", "encode(to:)"),
    ])
  func ownCoding(_ method: String, _ name: String) {
    func members(_ field: String, _ property: String = "var b = 2") -> String {
      "var a = 1\n\(field)\(property)\nenum CodingKeys: String, CodingKey { case a = \"x\" }\n\(method)"
    }
    let remark =
      "\(method.contains("#if") ? "7:6" : method.contains("func") ? "6:6" : "6:1") Strata does not call this \(name); "
      + "specify the JSON keys with CodingKeys or with @Field(json:) on each property"
    let warning =
      "4:5 CodingKeys has no case for the property 'b', but the type's own init(from:) or encode(to:) may use it; "
      + "write @Field(json: \"b\") if JSON contains 'b'"
    let optional = warning + ", and @Field(json: .none) if it does not"
    let required = warning + "; if it does not, write @Field(json: .none) and declare a var with an initial value"
    #expect(said(members("")) == [optional, remark])
    #expect(said(members("", "let b: Int")) == [required, remark])
    #expect(said(members("", "let b: Int?")) == [optional, remark])
    #expect(fields(members("")) == ["\"a\", json: \"x\", default: { 1 }", "\"b\", default: { 2 }"])
    #expect(said(members("@Field(json: .none) ")) == [remark])
    // If every property declares its path in JSON, there is no warning.
    #expect(said("@Field(json: \"x\") var a = 1\n\(method)").isEmpty)
    #expect(said("var a = 1\n\(method)").count == 1)
  }

  @Test("Other initializers and methods do not count as custom coding")
  func otherMethods() {
    for method in [
      "init(from other: Date) {}", "init(from decoder: any Decoder, more: Int) {}", "func encode(to text: String) {}",
      "func decode(to encoder: any Encoder) {}",
    ] {
      #expect(said("var a = 1\nvar b = 2\nenum CodingKeys: String, CodingKey { case a }\n\(method)").isEmpty)
    }
  }

  @Test(
    "CodingKeys that cannot be read give a warning unless each property has @Field(json:)",
    arguments: [
      ("typealias CodingKeys = Keys", "4:11", "a type alias"),
      ("enum CodingKeys: Keys, CodingKey { case a = \"x\" }", "4:41", "raw values of the type 'Keys'"),
      ("enum CodingKeys: String, CodingKey {\n#if DEBUG\ncase a = \"x\"\n#endif\n}", "6:1", "cases inside #if"),
      ("#if DEBUG\nenum CodingKeys: String, CodingKey { case a = \"x\" }\n#endif", "5:6", "declarations inside #if"),
      (
        "enum CodingKeys: String, CodingKey {\ncase a = \"x\"\nvar stringValue: String { \"y\" }\n}", "6:1",
        "a 'stringValue' in the enum"
      ),
    ])
  func open(_ keys: String, _ place: String, _ obstacle: String) {
    #expect(
      said("var a = 1\n" + keys) == [
        "\(place) @Model cannot read CodingKeys from \(obstacle), so properties keep their own names in JSON; write "
          + "@Field(json:) on each property, or declare CodingKeys as an enum with String raw values"
      ])
    #expect(fields("var a = 1\nvar b = 2\n" + keys) == ["\"a\", default: { 1 }", "\"b\", default: { 2 }"])
    #expect(said("@Field(json: \"x\") var a = 1\n" + keys).isEmpty)
  }

  @Test("CodingKeys that are not an enum, or that belong to a nested type or an enum model, are ignored")
  func others() {
    #expect(fields("var a = 1\nstruct CodingKeys: CodingKey {}") == ["\"a\", default: { 1 }"])
    #expect(
      fields("var a = 1\nstruct B { enum CodingKeys: String, CodingKey { case a = \"x\" } }") == [
        "\"a\", default: { 1 }"
      ])
    let source =
      "@Model(version: 1)\nenum A: Codable {\ncase a(b: Int)\nenum CodingKeys: String, CodingKey { case a = \"x\" }\n}"
    #expect(diagnostics(source).isEmpty)
  }

  @Test("CodingKeys of observable classes may use the underscored names of stored properties")
  func classes() {
    let keys = "enum CodingKeys: String, CodingKey { case _a = \"x\", _b, c = \"z\" }"
    let all = "var a = 1\nvar b = 2\n@ObservationIgnored var c = 3\n"
    let found = fields(all + keys, kind: "final class", head: "@Observable @Model(version: 1)")
    #expect(
      found == [
        "\"a\", json: \"x\", default: { 1 }", "\"b\", json: \"_b\", default: { 2 }",
        "\"c\", json: \"z\", default: { 3 }",
      ])
    // Here `_a` is a stored property.
    #expect(
      fields("var _a = 1\nvar a = 2\nenum CodingKeys: String, CodingKey { case _a = \"x\" }") == [
        "\"_a\", json: \"x\", default: { 1 }", "\"a\", json: .none, default: { 2 }",
      ])
    #expect(
      fields("var a = 1\nenum CodingKeys: String, CodingKey { case a = \"x\", _a = \"y\" }")
        == ["\"a\", json: \"x\", default: { 1 }"])
    let file = Parser.parse(
      source:
        "@Model(version: 1, superclass: A.self) class B: A {\nvar b = 1\nenum CodingKeys: String, CodingKey { case b = \"y\" }\n}"
    )
    let expanded = file.expand(
      macroSpecs: subclassSpecs,
      contextGenerator: { BasicMacroExpansionContext(lexicalContext: $0.allMacroLexicalContexts()) })
    #expect(expanded.description.contains("_StrataField(\"b\", json: \"y\", default: { 1 })"))
  }
}
