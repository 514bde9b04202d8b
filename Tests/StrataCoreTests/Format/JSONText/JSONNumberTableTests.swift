import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// A model with a field of every type that can be read from a JSON number.
private struct Numbers: DescribedModel, Equatable {
  var int8: Int8?
  var int16: Int16?
  var int32: Int32?
  var int64: Int64?
  var int128: Int128?
  var uint8: UInt8?
  var uint16: UInt16?
  var uint32: UInt32?
  var uint64: UInt64?
  var uint128: UInt128?
  var double: Double?
  var float: Float?
  var decimal: Decimal?

  static let fields = Fields(
    Numbers.self, name: "NumbersOfTable", version: 1, Field("int8", \.int8), Field("int16", \.int16),
    Field("int32", \.int32), Field("int64", \.int64), Field("int128", \.int128), Field("uint8", \.uint8),
    Field("uint16", \.uint16), Field("uint32", \.uint32), Field("uint64", \.uint64), Field("uint128", \.uint128),
    Field("double", \.double), Field("float", \.float), Field("decimal", \.decimal),
    make: {
      Numbers(
        int8: $0, int16: $1, int32: $2, int64: $3, int128: $4, uint8: $5, uint16: $6, uint32: $7, uint64: $8,
        uint128: $9, double: $10, float: $11, decimal: $12)
    })

  /// The value of the only field that is set, spelled as in the table.
  var spelled: String? {
    let integers: [(any BinaryInteger)?] = [
      int8, int16, int32, int64, int128, uint8, uint16, uint32, uint64, uint128, double?.bitPattern,
      float?.bitPattern,
    ]
    return integers.lazy.compactMap { $0.map { "\($0)" } }.first ?? decimal?.digitsAndPower
  }
}

extension Decimal {
  /// The table's spelling of a decimal: digits without leading and trailing zeros, and the power of ten of the last digit.
  var digitsAndPower: String {
    if isZero { return "0e0" }
    let text = magnitude.description
    let parts = text.split(separator: ".")
    var digits = parts.joined().drop { $0 == "0" }
    var power = parts.count > 1 ? -parts[1].count : 0
    while digits.last == "0" {
      digits.removeLast()
      power += 1
    }
    return "\(isSignMinus ? "-" : "")\(digits)e\(power)"
  }
}

/// A row of the table: a number as text, and the expected value of each field.
private struct Row: Sendable {
  let text: String
  private let columns: [String]

  init(_ line: Substring) {
    let cells = line.split(separator: "\t").map(String.init)
    text = cells[0]
    columns = Array(cells.dropFirst())
  }

  private static let integers = [
    "int8", "int16", "int32", "int64", "int128", "uint8", "uint16", "uint32", "uint64", "uint128",
  ]
  static let keys = integers + ["double", "float", "decimal"]

  /// Whether the table allows the value for the field with this key. `nil` means that the field rejects the number.
  func allows(_ found: String?, _ key: String, whole: Bool) -> Bool {
    if let place = Self.integers.firstIndex(of: key) {
      return columns[whole ? place + Self.integers.count : place] == found ?? "-"
    }
    let other = Array(columns.suffix(3))
    switch key {
    case "double": return other[0] == found ?? "-"
    case "float": return other[1] == found ?? "-"
    default:
      // A decimal that cannot hold all digits is rejected, never rounded.
      let digits = String(other[2].dropFirst())
      return found == digits || found == nil && other[2].hasPrefix("?")
    }
  }
}

@Suite("JSON: table of numbers", .tags(.long))
struct JSONNumberTableTests {
  private static let rows: [Row] = {
    let file = Repository.root.appending(path: "Fixtures/json/numbers.tsv")
    // If the table is missing, the test that counts its rows fails.
    let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").map(Row.init)
  }()

  private static let lenient = JSONMapping<Numbers>(
    Dictionary(
      uniqueKeysWithValues: Row.keys.map { key in
        let field = JSONField.path(ValuePath(key: key))
        let isInteger = key.contains("int")
        return (key, isInteger ? field.lenient(.numericString, .wholeNumber) : field.lenient(.numericString))
      }))

  private func check(
    _ rows: [Row], whole: Bool = false, quoted: Bool = false, _ name: String, _ read: (Data) throws -> Numbers
  ) {
    for row in Effort.sample(60, of: rows) {
      let number = quoted ? "\"\(row.text)\"" : row.text
      for key in Row.keys {
        // The table also lists the numbers that a field rejects, so an error is a possible result.
        let found = (try? read(Data("{\"\(key)\": \(number)}".utf8)))?.spelled
        #expect(row.allows(found, key, whole: whole), "\(name): \(key) of \(number) is \(found ?? "refused")")
      }
    }
  }

  @Test("The table has more than 800 rows")
  func table() {
    #expect(Self.rows.count > 800)
  }

  @Test("Fields of every number type match exact arithmetic, whichever way the text is read")
  func strict() throws {
    check(Self.rows, "text") { try Numbers(fromJSON: $0) }
    check(Self.rows, "value") { try Numbers(fromJSON: JSONReader().read($0)) }
    let adapter = try JSONAdapter<Numbers>(unknownKeys: .refuse)
    check(Self.rows, "adapter") { try adapter.decode($0) }
  }

  @Test("Lenient fields match exact arithmetic, for numbers and for numeric strings")
  func lenient() throws {
    let adapter = try JSONAdapter(Self.lenient)
    check(Self.rows, whole: true, "lenient number") { try adapter.decode($0) }
    check(Self.rows, whole: true, quoted: true, "lenient text") { try adapter.decode($0) }
  }

  @Test("A decoded number is encoded and decoded again without change")
  func written() throws {
    let adapter = try JSONAdapter<Numbers>()
    for row in Effort.sample(60, of: Self.rows) {
      for key in Row.keys {
        // If the field rejects the number, there is nothing to write.
        guard let numbers = try? adapter.decode(Data("{\"\(key)\": \(row.text)}".utf8)) else { continue }
        let spelled = numbers.spelled
        let again = try adapter.decode(adapter.encode(numbers)).spelled
        #expect(again == spelled, "\(key) of \(row.text)")
        #expect(try Numbers(fromJSON: numbers.jsonData()).spelled == spelled, "\(key) of \(row.text)")
      }
    }
  }
}
