internal import Foundation
internal import GRDB
internal import StrataCore

/// Converts the values of a model's field to values of its database column, and back. Throws if a value could not be read back
/// unchanged.
struct ColumnCoding: Sendable {
  indirect enum Conversion: Sendable {
    case bool, integer, float, double, string, data, url, uuid, decimal
    case date(EntityColumn.DateForm)
    case archive(Any.Type)
    case json(Any.Type)
    case transform(FieldTransform, Conversion)
    /// The value has one of SQLite's own types (integer, floating-point number, text or bytes) and is stored as it is.
    case unconverted
  }

  let conversion: Conversion
  let affinity: ColumnAffinity

  /// Chooses how the values of a field are converted for its column.
  ///
  /// - Parameters:
  ///   - type: the type of the field.
  ///   - form: how the mapping stores the field, such as `.json` or `.archive`.
  ///   - affinity: the type affinity of the column.
  /// - Throws: ``EntityError`` with the code `invalidMapping` if values of the type cannot be stored in this form.
  init(_ type: Any.Type, _ form: EntityColumn.Form, _ affinity: ColumnAffinity) throws {
    self.affinity = affinity
    conversion = try Self.conversion(type, form, affinity)
  }

  init(_ conversion: Conversion, _ affinity: ColumnAffinity) {
    (self.conversion, self.affinity) = (conversion, affinity)
  }

  private static func conversion(_ type: Any.Type, _ form: EntityColumn.Form, _ affinity: ColumnAffinity) throws
    -> Conversion
  {
    let type = TypeShape.unwrapped(type)
    func invalid(_ reason: String) -> EntityError { EntityError(.invalidMapping, reason) }
    switch form {
    case .automatic: return scalar(type, affinity) ?? .archive(type)
    case .archive: return .archive(type)
    case .date(let form):
      guard type is Date.Type else {
        throw invalid("a .date column can store only a property of the type Date; use .column instead")
      }
      return .date(form)
    case .json:
      guard type is any Archivable.Type else {
        throw invalid("a .json column cannot store the type \(type) because it is not Archivable; use .archive instead")
      }
      return .json(type)
    case .transform(let transform, let input):
      if let problem = transform.problem { throw invalid(problem) }
      let output = TypeShape.unwrapped(transform.output)
      guard output == type else {
        throw invalid(
          "the transformer returns the type \(transform.output), but the property has the type \(type); use a "
            + "transformer that returns \(type)")
      }
      return .transform(transform, try conversion(input, .automatic, affinity))
    }
  }

  private static func scalar(_ type: Any.Type, _ affinity: ColumnAffinity) -> Conversion? {
    switch TypeShape(of: type).kind {
    case .scalar(let scalar):
      switch scalar {
      case .bool: .bool
      case .integer: .integer
      case .float: .float
      case .double: .double
      case .decimal: .decimal
      case .string: .string
      case .data: .data
      case .date: .date(affinity == .real || affinity == .integer ? .secondsSince1970 : .text)
      case .url: .url
      case .uuid: .uuid
      case .otherFloat: nil
      }
    case .rawValue(let raw, isArchivable: true): Self.scalar(raw, affinity)
    case .rawValue, .untyped, .optional, .array, .set, .dictionary, .model, .opaque: nil
    }
  }

  /// Whether two values of the field are equal exactly when their column values are. If so, column values can be compared without
  /// decoding them.
  var isExact: Bool {
    switch conversion {
    case .bool, .integer, .float, .double, .string, .data, .url, .unconverted: true
    default: false
    }
  }

  // MARK: Encoding

  /// Converts a value of the field to the value to store in the column.
  ///
  /// - Throws: ``EntityError`` with the code `notStorable` if the column cannot store the value, and any error that a transformer
  ///   or the type's own code throws.
  func stored(_ value: ArchiveValue) throws -> DatabaseValue {
    if case .transform(let transform, let inner) = conversion {
      guard let write = transform.write else {
        throw EntityError(
          .notStorable,
          "the value cannot be saved because its transformer is not reversible; make the column .readOnly")
      }
      if value.isNull, !transform.takesNull { return .null }
      return try Self.stored(write(value), inner, affinity)
    }
    return try Self.stored(value, conversion, affinity)
  }

  private static func stored(_ value: ArchiveValue, _ conversion: Conversion, _ affinity: ColumnAffinity) throws
    -> DatabaseValue
  {
    func refused(_ reason: String) -> EntityError { EntityError(.notStorable, reason) }
    func text(_ text: String) throws -> DatabaseValue {
      // Rejects text that contains a NUL character, because SQLite functions and GRDB statements would truncate the text there.
      guard !text.utf8.contains(0) else {
        throw refused("the text contains NUL (U+0000), where SQLite would truncate the text; remove the NUL")
      }
      return try affinity.stored(text.databaseValue)
    }
    if value.isNull { return .null }
    switch (conversion, value) {
    case (.archive(let type), _): return try archive(value, type).databaseValue
    case (.json(let type), _): return try text(json(value, type))
    case (.bool, .bool(let flag)): return try affinity.stored((flag ? 1 : 0 as Int64).databaseValue)
    case (.integer, .int(let number)), (.unconverted, .int(let number)):
      return try affinity.stored(number.databaseValue)
    case (.integer, .uint), (.integer, .wideInteger):
      guard affinity == .text, let digits = digits(of: value) else {
        throw refused("the integer does not fit in a signed 64-bit integer column; declare the column as TEXT")
      }
      return digits.databaseValue
    case (.float, .float(let number)):
      guard !number.isNaN else { throw notANumber }
      return try affinity.stored(Double(number).databaseValue)
    case (.double, .double(let number)), (.unconverted, .double(let number)):
      guard !number.isNaN else { throw notANumber }
      return try affinity.stored(number.databaseValue)
    case (.string, .string(let string)), (.unconverted, .string(let string)): return try text(string)
    case (.url, .url(let url)): return try text(url.absoluteString)
    case (.data, .data(let data)), (.unconverted, .data(let data)): return data.databaseValue
    case (.uuid, .uuid(let uuid)):
      return affinity == .text ? uuid.uuidString.databaseValue : uuid.databaseValue
    case (.decimal, .decimal(let decimal)): return try stored(decimal, affinity)
    case (.date(let form), .date(let date)): return try stored(date, form, affinity)
    default: throw refused("the column cannot store a value of the kind “\(value.kind)”")
    }
  }

  private static var notANumber: EntityError {
    EntityError(
      .notStorable,
      "NaN cannot be saved because SQLite stores it as null; make the property optional, and save nil instead")
  }

  private static func digits(of value: ArchiveValue) -> String? {
    switch value {
    case .uint(let number): String(number)
    case .wideInteger(let number): number.description
    default: nil
    }
  }

  private static func stored(_ decimal: Decimal, _ affinity: ColumnAffinity) throws -> DatabaseValue {
    guard decimal.isFinite else { throw notANumber }
    guard affinity.isNumber else { return decimal.description.databaseValue }
    if let integer = Int64(decimal.description) { return try affinity.stored(integer.databaseValue) }
    guard let double = Double(decimal.description), ExactNumber(.double(double))?.decimal == decimal else {
      throw EntityError(
        .notStorable, "the numeric column would round the decimal; declare the column as TEXT")
    }
    return try affinity.stored(double.databaseValue)
  }

  private static func stored(_ date: Date, _ form: EntityColumn.DateForm, _ affinity: ColumnAffinity) throws
    -> DatabaseValue
  {
    guard date.timeIntervalSinceReferenceDate.isFinite else {
      throw EntityError(
        .notStorable, "a date that is infinite or NaN cannot be saved; make the property optional, and save nil instead"
      )
    }
    switch form {
    case .secondsSince1970: return try affinity.stored(date.timeIntervalSince1970.databaseValue)
    case .millisecondsSince1970:
      guard let milliseconds = Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded()) else {
        throw EntityError(
          .notStorable, "the date is out of range because its number of milliseconds since 1970 does not fit in 64 bits"
        )
      }
      return try affinity.stored(milliseconds.databaseValue)
    case .text, .iso8601:
      guard var text = ISO8601.string(from: date) else {
        throw EntityError(.notStorable, "the year of a date in a text column must be between 0 and 9999")
      }
      if form == .iso8601 { return text.databaseValue }
      text.removeLast()
      text.replace("T", with: " ")
      guard let point = text.firstIndex(of: ".") else { return (text + ".000").databaseValue }
      let decimals = text.distance(from: point, to: text.endIndex) - 1
      return (text + String(repeating: "0", count: max(0, 3 - decimals))).databaseValue
    }
  }

  private static func archive(_ value: ArchiveValue, _ type: Any.Type) throws -> Data {
    func archive<T: Archivable>(_ type: T.Type) throws -> Data {
      try ArchiveEncoder().encode(T.decode(from: value, in: unfinished()))
    }
    if let type = type as? any Archivable.Type { return try archive(type) }
    func encode<T: Codable>(_ type: T.Type) throws -> Data {
      try ArchiveEncoder().encode(ValueCoding.decode(T.self, from: value, in: unfinished()))
    }
    guard let type = type as? any Codable.Type else {
      throw EntityError(
        .notStorable,
        "the type \(type) cannot be stored in a column because it is neither Archivable nor Codable")
    }
    return try encode(type)
  }

  private static func json(_ value: ArchiveValue, _ type: Any.Type) throws -> String {
    func json<T: Archivable>(_ type: T.Type) throws -> Data {
      try JSONWriter(sortsKeys: true).write(T.decode(from: value, in: unfinished()))
    }
    guard let type = type as? any Archivable.Type else {
      throw EntityError(.notStorable, "the type \(type) cannot be stored in a column because it is not Archivable")
    }
    return String(decoding: try json(type), as: UTF8.self)
  }

  /// Returns a decoding context that skips the validation rules and hooks of models. Used for values that are decoded only to be
  /// encoded again in a different format.
  private static func unfinished() -> DecodingContext { DecodingContext(includesExcluded: true, finishing: .never) }

  // MARK: Decoding

  /// Converts a value of the column to a value of the field.
  ///
  /// - Throws: ``EntityError`` with the code `notReadable` if the field cannot represent the value, and any error that a
  ///   transformer or the type's own code throws.
  func value(of stored: DatabaseValue) throws -> ArchiveValue {
    if case .transform(let transform, let inner) = conversion {
      if stored.isNull, !transform.takesNull { return .null }
      return try transform.read(Self.value(of: stored, inner), Self.unfinished())
    }
    return try Self.value(of: stored, conversion)
  }

  /// Converts a value of the column to the value that a fetch returns for the field. If the column stores JSON or an archive with unknown
  /// enum cases, and the field is declared with `unknown: .useDefault`, the cases are replaced or skipped.
  func value(of stored: DatabaseValue, for field: FieldInfo) throws -> ArchiveValue {
    do { return try value(of: stored) } catch let error as ArchiveError {
      guard field.acceptsUnknownCase(error), let value = try known(stored, field) else { throw error }
      return value
    }
  }

  /// For a column that stores JSON or an archive, returns the value with its unknown enum cases replaced or skipped. Returns `nil` for
  /// other columns.
  private func known(_ stored: DatabaseValue, _ field: FieldInfo) throws -> ArchiveValue? {
    guard let raw = try raw(stored) else { return nil }
    let source = if case .json = conversion { DecodingSource.json } else { DecodingSource.archive }
    return try field.replacingUnknownCases(in: raw, from: source)
  }

  /// Returns the untyped value of a column that stores JSON or an archive; `nil` for other columns.
  func raw(_ stored: DatabaseValue) throws -> ArchiveValue? {
    switch (conversion, stored.storage) {
    case (.json, .string(let text)): try JSONReader().read(Data(text.utf8))
    case (.json, .blob(let data)): try JSONReader().read(data)
    case (.archive, .blob(let data)): try ArchiveDecoder().decodeValue(from: data)
    default: nil
    }
  }

  private static func value(of stored: DatabaseValue, _ conversion: Conversion) throws -> ArchiveValue {
    func refused(_ expected: String) -> EntityError {
      EntityError(.notReadable, "the column's value is not \(expected)")
    }
    switch (conversion, stored.storage) {
    case (_, .null): return .null
    case (.unconverted, _): return stored.archiveValue
    case (.bool, .int64(let number)) where number == 0 || number == 1: return .bool(number == 1)
    case (.bool, .string(let text)) where text == "0" || text == "1": return .bool(text == "1")
    case (.bool, .double(let number)) where number == 0 || number == 1: return .bool(number == 1)
    case (.bool, _): throw refused("0 or 1")
    case (.integer, .int64(let number)): return .int(number)
    case (.integer, .double(let number)):
      guard let integer = Int64(exactly: number) else { throw refused("an integer") }
      return .int(integer)
    case (.integer, .string(let text)):
      guard let integer = WideInteger(text) else { throw refused("an integer") }
      return ArchiveValue(integer)
    case (.integer, _): throw refused("an integer")
    case (.float, _), (.double, _):
      guard let number = double(stored) else { throw refused("a number") }
      guard case .float = conversion else { return .double(number) }
      guard let single = Float(exactly: number) else { throw refused("a number that Float can represent exactly") }
      return .float(single)
    case (.string, .string(let text)): return .string(text)
    case (.string, _): throw refused("text")
    case (.url, .string(let text)):
      guard let url = URL(exactly: text) else { throw refused("a URL") }
      return .url(url)
    case (.url, _): throw refused("a URL")
    case (.data, .blob(let data)): return .data(data)
    case (.data, .string(let text)): return .data(Data(text.utf8))
    case (.data, _): throw refused("bytes")
    case (.uuid, _):
      guard let uuid = UUID.fromDatabaseValue(stored) else { throw refused("a UUID") }
      return .uuid(uuid)
    case (.decimal, .string(let text)):
      guard let decimal = ExactNumber(spelledAs: text)?.decimal else { throw refused("a decimal") }
      return .decimal(decimal)
    case (.decimal, .int64(let number)): return .decimal(Decimal(number))
    case (.decimal, .double(let number)):
      guard let decimal = ExactNumber(.double(number))?.decimal else { throw refused("a decimal") }
      return .decimal(decimal)
    case (.decimal, _): throw refused("a decimal")
    case (.date(let form), _):
      guard let date = date(stored, form) else { throw refused("a date") }
      return .date(date)
    case (.archive(let type), .blob(let data)): return try unarchived(data, type)
    case (.archive, _): throw refused("an archive")
    case (.json(let type), .string(let text)): return try read(json: Data(text.utf8), type)
    case (.json(let type), .blob(let data)): return try read(json: data, type)
    case (.json, _): throw refused("JSON")
    case (.transform, _): throw refused("a value")
    }
  }

  private static func double(_ stored: DatabaseValue) -> Double? {
    switch stored.storage {
    case .double(let number): number
    case .int64(let number): Double(exactly: number)
    // Infinity is accepted in both spellings: `inf` as in Swift, and `Inf` as in SQLite.
    case .string("inf"), .string("Inf"): .infinity
    case .string("-inf"), .string("-Inf"): -.infinity
    case .string(let text): Double(withoutLossOf: .string(text)) ?? nearest(to: text)
    default: nil
    }
  }

  /// Parses a decimal number and returns the nearest `Double`, as SQLite does when it converts text to a number. Returns `nil` if
  /// the text is not a number with a decimal point or an exponent, or if the `Double` would be infinite or zero.
  private static func nearest(to text: String) -> Double? {
    guard text.utf8.contains(where: { ".eE".utf8.contains($0) }), ExactNumber(spelledAs: text) != nil,
      let number = Double(text), number.isFinite, number != 0
    else { return nil }
    return number
  }

  private static func date(_ stored: DatabaseValue, _ form: EntityColumn.DateForm) -> Date? {
    if case .string(let text) = stored.storage {
      let date = text.utf8.count == 10 ? ISO8601.midnight(ofDay: text) : ISO8601.date(from: text, isSQL: true)
      if let date { return date }
      // Numeric text is read as a date only if the column is mapped to store seconds or milliseconds. In a column that stores
      // dates as text, digits such as `20260101` would be ambiguous.
      guard form == .secondsSince1970 || form == .millisecondsSince1970 else { return nil }
    }
    guard let number = double(stored), number.isFinite else { return nil }
    return Date(timeIntervalSince1970: form == .millisecondsSince1970 ? number / 1000 : number)
  }

  private static func unarchived(_ data: Data, _ type: Any.Type) throws -> ArchiveValue {
    func decode<T: Archivable>(_ type: T.Type) throws -> ArchiveValue {
      try ArchiveDecoder().decode(T.self, from: data).archivedValue(includingExcluded: true)
    }
    if let type = type as? any Archivable.Type { return try decode(type) }
    func decode<T: Codable>(codable type: T.Type) throws -> ArchiveValue {
      try ValueCoding.value(of: ArchiveDecoder().decode(T.self, from: data))
    }
    guard let type = type as? any Codable.Type else {
      throw EntityError(
        .notReadable,
        "the type \(type) cannot be stored in a column because it is neither Archivable nor Codable")
    }
    return try decode(codable: type)
  }

  private static func read(json: Data, _ type: Any.Type) throws -> ArchiveValue {
    func read<T: Archivable>(_ type: T.Type) throws -> ArchiveValue {
      try JSONReader().read(T.self, from: json).archivedValue(includingExcluded: true)
    }
    guard let type = type as? any Archivable.Type else {
      throw EntityError(.notReadable, "the type \(type) cannot be stored in a column because it is not Archivable")
    }
    return try read(type)
  }
}
