import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// A model with one field of any type.
private struct One<T: Archivable>: VersionedModel {
  var x: T

  static var schema: ModelSchema {
    ModelSchema.cached(One<T>.self) {
      ModelSchema(
        One<T>.self, name: "FormOf \(T._archiveTypeName)", version: 1, fields: [FieldInfo("x", T.self)])
    }
  }

  init(fields reader: inout ArchiveReader) throws { x = try reader.field(0) }

  func encodeFields(to writer: inout ArchiveWriter) throws { try writer.field(0, x) }
}

private enum FormState: String, Archivable, Codable { case open, closed }

/// A type that is only Codable and contains a value of any type.
private struct Only<T: Codable>: Codable {
  var y: T
}

private struct OneOnly<T: Codable>: VersionedModel {
  var x: Only<T>

  static var schema: ModelSchema {
    ModelSchema.cached(OneOnly<T>.self) {
      ModelSchema(
        OneOnly<T>.self, name: "FormOfCodable \(T.self)", version: 1, fields: [FieldInfo("x", Only<T>.self)])
    }
  }

  init(fields reader: inout ArchiveReader) throws { x = try reader.field(0) }

  func encodeFields(to writer: inout ArchiveWriter) throws { try writer.field(0, x) }
}

private enum FormLevel: Int, Archivable, Codable { case low, middle, high }

/// A row of the table of JSON forms.
private struct Row {
  let text: String
  let expected: String
  /// Whether the reader may reject this form instead.
  let may: Bool

  init(_ text: String, _ expected: String) {
    self.text = text
    may = expected.hasPrefix("?")
    self.expected = may || expected.hasPrefix("!") ? String(expected.dropFirst()) : expected
  }

  /// The expected result for an optional field.
  var optional: String { text == "null" ? "null" : expected }

  /// The expected result if the value is in a container of the given form, in which `%` marks the value's place.
  func inside(_ form: String) -> String { expected == "-" ? "-" : form.replacing("%", with: expected) }

  /// Reads a model in every way and returns the failures.
  func problems<M: VersionedModel>(
    _ form: String, _ type: M.Type, _ json: String, _ expected: String, _ spell: (M) -> String
  ) -> [String] {
    let data = Data("{\"x\": \(json)}".utf8)
    let ways: [(String, () throws -> M)] = [
      ("text", { try M(fromJSON: data) }), ("value", { try M(fromJSON: JSONReader().read(data)) }),
      ("adapter", { try JSONAdapter<M>(unknownKeys: .refuse).decode(data) }),
    ]
    return ways.flatMap { way, read -> [String] in
      // The table also lists rejected forms, so an error is a possible result.
      let one = try? read()
      let found = one.map { spell($0) } ?? "-"
      guard found == expected || found == "-" && may else {
        return ["\(form) from \(json) by \(way): \(found) and not \(expected)"]
      }
      guard let one else { return [] }
      // The written JSON must decode to the same value.
      let again = try? M(fromJSON: one.jsonData())
      return again.map { spell($0) } == found ? [] : ["\(form) from \(json) is written otherwise"]
    }
  }
}

/// A column of the table: a field type and the table's spelling of its values.
private struct Column: Sendable {
  let name: String
  /// Reads a row in every way and returns the failures.
  let problems: @Sendable (_ row: Row) -> [String]

  /// Creates a column for a type that is also Codable. Compares its results with those of a Codable type that has a field of the type.
  init<T: Archivable & Codable & Hashable & SendableMetatype>(
    _ name: String, _ type: T.Type, _ spell: @escaping @Sendable (T) -> String
  ) {
    self.name = name
    let column = Column(value: name, type, spell)
    problems = { row in
      var problems = column.problems(row)
      problems += row.problems("Codable \(name)", OneOnly<T>.self, "{\"y\": \(row.text)}", row.expected) {
        spell($0.x.y)
      }
      problems += row.problems("Codable optional \(name)", OneOnly<T?>.self, "{\"y\": \(row.text)}", row.optional) {
        $0.x.y.map(spell) ?? "null"
      }
      problems += row.problems("set of \(name)", One<Set<T>>.self, "[\(row.text)]", row.inside("[%]")) {
        "[\($0.x.map(spell).joined(separator: " "))]"
      }
      // A set contains each element only once, however often the array lists it.
      problems += row.problems("set of \(name)", One<Set<T>>.self, "[\(row.text), \(row.text)]", row.inside("[%]")) {
        "[\($0.x.map(spell).joined(separator: " "))]"
      }
      return problems
    }
  }

  init<T: Archivable & SendableMetatype>(
    value name: String, _ type: T.Type, _ spell: @escaping @Sendable (T) -> String
  ) {
    self.name = name
    problems = { row in
      var problems: [String] = []
      let (text, expected) = (row.text, row.expected)
      func check<F: Archivable>(
        _ form: String, _ type: F.Type, _ json: String, _ expected: String, _ spell: (F) -> String
      ) {
        problems += row.problems("\(form) \(name)", One<F>.self, json, expected) { spell($0.x) }
      }
      let isNull = text == "null"
      check("plain", T.self, text, expected, spell)
      check("optional", T?.self, text, row.optional) { $0.map(spell) ?? "null" }
      check("array of", [T].self, "[\(text), \(text)]", row.inside("[% %]")) {
        "[\($0.map(spell).joined(separator: " "))]"
      }
      // A nonempty array is not read as an array of `T` here, because its elements have rows of their own.
      if text == "[]" || !text.hasPrefix("[") {
        check("array of", [T].self, text, text == "[]" ? "[]" : "-") { "[\($0.map(spell).joined(separator: " "))]" }
      }
      check("array of optional", [T?].self, "[\(text)]", isNull ? "[null]" : row.inside("[%]")) {
        "[\($0.map { $0.map(spell) ?? "null" }.joined(separator: " "))]"
      }
      check("dictionary of", [String: T].self, "{\"k\": \(text)}", row.inside("k: %")) {
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

@Suite("JSON: every input form for every field type")
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
    Column("level", FormLevel.self) { "\($0.rawValue)" }, Column(value: "value", ArchiveValue.self) { $0.spelled },
  ]

  private static let table: [[String]] = {
    let file = Repository.root.appending(path: "Fixtures/json/forms.tsv")
    // If the table is missing, the test that counts its rows fails.
    let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").map { $0.split(separator: "\t").map(String.init) }
  }()

  @Test("The table has more than 100 rows and a column for each field type")
  func table() throws {
    #expect(Self.table.count > 100)
    #expect(Set(try #require(Self.table.first).dropFirst()) == Set(Self.columns.map(\.name)))
  }

  @Test(
    "Each field type decodes or rejects each form like the reference table, alone and in containers",
    .tags(.long),
    arguments: Self.columns.indices)
  func forms(_ index: Int) throws {
    let column = Self.columns[index]
    let place = try #require(Self.table.first?.firstIndex(of: column.name))
    for row in Effort.sample(12, of: Self.table.dropFirst()) {
      let problems = column.problems(Row(row[0], row[place]))
      #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
    }
  }
}

extension Sequence<UInt8> {
  /// The table's spelling of bytes.
  fileprivate var spelled: String {
    "x"
      + map { byte in
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
      }.joined()
  }
}

extension ArchiveValue {
  /// The table's spelling of a JSON value.
  fileprivate var spelled: String {
    switch self {
    case .null: return "null"
    case .bool(let truth): return "\(truth)"
    case .string(let text): return text.utf8.spelled
    case .array(let elements): return "[\(elements.map(\.spelled).joined(separator: " "))]"
    case .object(let object):
      return "{\(object.entries.map { "\($0.key.utf8.spelled):\($0.value.spelled)" }.joined(separator: " "))}"
    default:
      // A number is spelled with the digits that the writer produces. A value that cannot be written isn't a JSON value.
      guard let data = try? JSONWriter().write(self) else { return "?" }
      return String(decoding: data, as: UTF8.self).digitsAndPowerOfNumber
    }
  }
}

extension String {
  /// The digits of a JSON number without leading and trailing zeros, and the power of ten of the last digit.
  fileprivate var digitsAndPowerOfNumber: String {
    let parts = split(omittingEmptySubsequences: false) { $0 == "e" || $0 == "E" }
    let mantissa = parts[0].drop { $0 == "-" }.split(separator: ".", omittingEmptySubsequences: false)
    let fraction = mantissa.count > 1 ? mantissa[1] : ""
    let digits = (mantissa[0] + fraction).drop { $0 == "0" }
    let zeros = digits.reversed().prefix { $0 == "0" }.count
    let power = (parts.count > 1 ? Int(parts[1].drop { $0 == "+" }) ?? 0 : 0) - fraction.count + zeros
    let sign = hasPrefix("-") ? "-" : ""
    return digits.isEmpty ? sign + "0" : "\(sign)\(digits.dropLast(zeros))e\(power)"
  }
}
