import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// A model of one field of any type.
private struct One<T: Archivable>: VersionedModel {
  var x: T

  static var schema: ModelSchema {
    ModelSchema.cached(One<T>.self) {
      ModelSchema(
        One<T>.self, name: "FormOf \(T.archiveTypeName)", version: 1, fields: [FieldInfo("x", T.self)])
    }
  }

  init(fields reader: inout ArchiveReader) throws { x = try reader.field(0) }

  func encodeFields(to writer: inout ArchiveWriter) throws { try writer.field(0, x) }
}

private enum FormState: String, Archivable { case open, closed }

private enum FormLevel: Int, Archivable { case low, middle, high }

/// A type of field: how the table spells its values.
private struct Column: Sendable {
  let name: String
  /// What is wrong with the ways of reading a row; nothing where all of them give what the table has.
  let problems: @Sendable (_ text: String, _ expected: String) -> [String]

  init<T: Archivable & SendableMetatype>(_ name: String, _ type: T.Type, _ spell: @escaping @Sendable (T) -> String) {
    self.name = name
    problems = { text, expected in
      var problems: [String] = []
      let may = expected.hasPrefix("?")
      let expected = may || expected.hasPrefix("!") ? String(expected.dropFirst()) : expected
      func check<F: Archivable>(
        _ form: String, _ type: F.Type, _ json: String, _ expected: String, _ spell: (F) -> String
      ) {
        let data = Data("{\"x\": \(json)}".utf8)
        let ways: [(String, () throws -> One<F>)] = [
          ("text", { try One<F>(fromJSON: data) }), ("value", { try One<F>(fromJSON: JSONReader().read(data)) }),
          ("adapter", { try JSONAdapter<One<F>>(unknownKeys: .refuse).decode(data) }),
        ]
        for (way, read) in ways {
          // That a form is refused is what the table says, too.
          let one = try? read()
          let found = one.map { spell($0.x) } ?? "-"
          guard found == expected || found == "-" && may else {
            problems.append("\(form) \(name) from \(json) by \(way): \(found) and not \(expected)")
            continue
          }
          guard let one else { continue }
          // What is written means the same.
          let again = try? One<F>(fromJSON: one.jsonData())
          if again.map({ spell($0.x) }) != found {
            problems.append("\(form) \(name) from \(json) is written otherwise")
          }
        }
      }
      let isNull = text == "null"
      check("plain", T.self, text, expected, spell)
      check("optional", T?.self, text, isNull ? "null" : expected) { $0.map(spell) ?? "null" }
      func inside(_ form: String) -> String { expected == "-" ? "-" : form.replacing("%", with: expected) }
      check("array of", [T].self, "[\(text), \(text)]", inside("[% %]")) {
        "[\($0.map(spell).joined(separator: " "))]"
      }
      // What is in an array or an object has rows of its own.
      if text == "[]" || !text.hasPrefix("[") {
        check("array of", [T].self, text, text == "[]" ? "[]" : "-") { "[\($0.map(spell).joined(separator: " "))]" }
      }
      check("array of optional", [T?].self, "[\(text)]", isNull ? "[null]" : inside("[%]")) {
        "[\($0.map { $0.map(spell) ?? "null" }.joined(separator: " "))]"
      }
      check("dictionary of", [String: T].self, "{\"k\": \(text)}", inside("k: %")) {
        $0.map { "\($0): \(spell($1))" }.joined()
      }
      if text == "{}" || !text.hasPrefix("{") {
        let isEmpty = text == "{}" || text == "[]"
        check("dictionary of", [String: T].self, text, isEmpty ? "" : "-") {
          $0.map { "\($0): \(spell($1))" }.joined()
        }
      }
      return problems
    }
  }
}

@Suite("JSON: every form in every type of field")
struct JSONFormTableTests {
  private static let columns: [Column] = [
    Column("bool", Bool.self) { "\($0)" }, Column("int8", Int8.self) { "\($0)" },
    Column("int16", Int16.self) { "\($0)" }, Column("int32", Int32.self) { "\($0)" },
    Column("int64", Int64.self) { "\($0)" }, Column("int64", Int.self) { "\($0)" },
    Column("int128", Int128.self) { "\($0)" }, Column("uint8", UInt8.self) { "\($0)" },
    Column("uint16", UInt16.self) { "\($0)" }, Column("uint32", UInt32.self) { "\($0)" },
    Column("uint64", UInt64.self) { "\($0)" }, Column("uint64", UInt.self) { "\($0)" },
    Column("uint128", UInt128.self) { "\($0)" }, Column("float", Float.self) { "\($0.bitPattern)" },
    Column("double", Double.self) { "\($0.bitPattern)" }, Column("decimal", Decimal.self) { $0.digitsAndPower },
    Column("string", String.self) { $0.utf8.spelled }, Column("date", Date.self) { "\($0.timeIntervalSince1970)" },
    Column("data", Data.self) { $0.spelled }, Column("url", URL.self) { $0.absoluteString.utf8.spelled },
    Column("uuid", UUID.self) { $0.uuidString }, Column("state", FormState.self) { $0.rawValue },
    Column("level", FormLevel.self) { "\($0.rawValue)" },
  ]

  private static let table: [[String]] = {
    let file = Repository.root.appending(path: "Fixtures/json/forms.tsv")
    // Without the table the test that counts its rows fails.
    let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").map { $0.split(separator: "\t").map(String.init) }
  }()

  @Test("The table has its rows, and a column for each type")
  func table() throws {
    #expect(Self.table.count > 100)
    #expect(Set(try #require(Self.table.first).dropFirst()) == Set(Self.columns.map(\.name)))
  }

  @Test(
    "A field gives what Python reads, or refuses the form; so do optionals, arrays and dictionaries of it",
    arguments: Self.columns.indices)
  func forms(_ index: Int) throws {
    let column = Self.columns[index]
    let place = try #require(Self.table.first?.firstIndex(of: column.name))
    for row in Self.table.dropFirst() {
      let problems = column.problems(row[0], row[place])
      #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
    }
  }
}

extension Sequence<UInt8> {
  /// As the table spells bytes.
  fileprivate var spelled: String {
    "x"
      + map { byte in
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
      }.joined()
  }
}
