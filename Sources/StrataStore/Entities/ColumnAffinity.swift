internal import Foundation
internal import GRDB
internal import StrataCore

/// The type affinity of a column, which determines how SQLite converts a value before it is stored. The rules are in
/// section 3 of SQLite's document "Datatypes In SQLite".
enum ColumnAffinity: Sendable {
  case text, numeric, integer, real, none

  /// Derives the affinity of a column from its declared type, by the rules in section 3.1 of "Datatypes In SQLite".
  ///
  /// - Parameters:
  ///   - declared: the type of the column in the `CREATE TABLE` statement.
  ///   - isStrict: whether the table is `STRICT`. In a strict table, a column of type `ANY` stores every value unchanged.
  init(declared: String, isStrict: Bool = false) {
    let name = declared.uppercased()
    func has(_ parts: String...) -> Bool { parts.contains { name.contains($0) } }
    if has("INT") {
      self = .integer
    } else if has("CHAR", "CLOB", "TEXT") {
      self = .text
    } else if name.isEmpty || has("BLOB") || isStrict && name == "ANY" {
      self = .none
    } else if has("REAL", "FLOA", "DOUB") {
      self = .real
    } else {
      self = .numeric
    }
  }

  var isNumber: Bool { self == .numeric || self == .integer || self == .real }

  /// Converts a value to the form in which a column of this affinity stores it.
  ///
  /// - Throws: ``EntityError`` with the code `notStorable` if the conversion would lose information.
  func stored(_ value: DatabaseValue) throws -> DatabaseValue {
    switch (self, value.storage) {
    case (.text, .int64(let number)): return String(number).databaseValue
    // Converts the number to text before SQLite does, because SQLite would keep only 15 significant digits.
    case (.text, .double(let number)): return String(number).databaseValue
    case (.real, .int64(let number)):
      guard let double = Double(exactly: number) else {
        throw EntityError(
          .notStorable,
          "the floating-point column cannot store the integer exactly; declare the column as INTEGER")
      }
      return double.databaseValue
    case (.integer, .double(let number)), (.numeric, .double(let number)):
      guard let integer = Int64(exactly: number), integer > .min, integer < .max else { return value }
      return integer.databaseValue
    case (.integer, .string(let text)), (.numeric, .string(let text)), (.real, .string(let text)):
      guard !Self.looksLikeNumber(text) else {
        throw EntityError(
          .notStorable,
          "the column would convert the text to a number; declare the column as TEXT")
      }
      return value
    default: return value
    }
  }

  private static func looksLikeNumber(_ text: String) -> Bool {
    let inner = text.utf8.drop { [9, 10, 11, 12, 13, 32].contains($0) }
    guard let first = inner.first, 48...57 ~= first || [43, 45, 46].contains(first) else { return false }
    let characters = Set("0123456789+-.eE \t\n\u{B}\u{C}\r".utf8)
    return inner.allSatisfy(characters.contains) && inner.contains { 48...57 ~= $0 }
      && Double(text.trimmingCharacters(in: .whitespacesAndNewlines)) != nil
  }
}
