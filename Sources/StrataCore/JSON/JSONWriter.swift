public import Foundation

/// Writes an ``ArchiveValue`` or a model as JSON text (RFC 8259). The same value always produces the same bytes.
///
/// - Integers are written with all their digits. A floating-point number has the fewest digits that read back as the same number, and
///   always a decimal point or an exponent, so a double is read back as a double.
/// - An ``ArchiveValue/decimal(_:)`` is written as a number with all its digits, and an ``ArchiveValue/number(_:)`` with its original text.
/// - Strings escape only the quote, the backslash and control characters.
/// - Values without a corresponding JSON type are converted: a date becomes a string in UTC such as `2011-01-26T19:01:12Z`, with decimal
///   places only if it has any; a URL becomes its absolute string; a UUID becomes a string in upper case; data becomes a string in base64;
///   a set becomes an array; and a record becomes an object with its fields as members, without the type name and the version.
/// - A dictionary or a map becomes an object if all keys can be written as text: strings, integers, dates, URLs, UUIDs and data. Otherwise,
///   it becomes an array of arrays, each with a key and a value.
/// - A model becomes an object with each field at its JSON path, in the order of the schema. Fields whose paths begin with the same steps
///   share a nested object, which is at the position of the first of these fields. Nil is written as null. Fields that archives exclude are
///   written, and so are ``UnknownFields``.
public struct JSONWriter: Sendable {
  /// Whether elements are on separate lines, indented by two spaces per level. Otherwise the text contains no white space.
  public var isPretty: Bool
  /// Whether the keys of objects and records are sorted by their UTF-8 bytes. Otherwise they keep their order.
  public var sortsKeys: Bool
  /// The limits on the text: ``ArchiveLimits/depth`` for arrays and objects, and ``ArchiveLimits/outputSize``. Other limits are ignored.
  public var limits = ArchiveLimits()

  /// Creates a writer with the default limits.
  public init(isPretty: Bool = false, sortsKeys: Bool = false) {
    self.isPretty = isPretty
    self.sortsKeys = sortsKeys
  }

  /// Returns the text of a value, without a trailing line feed.
  ///
  /// - Throws: ``ArchiveError`` with the code `notEncodable` for a number that is not finite and for a date outside the years 0 to 9999,
  ///   and with the code `limitExceeded` if the depth or the size of the text exceeds the limits. The error contains the path of the value.
  public func write(_ value: ArchiveValue) throws -> Data {
    try text(of: value, JSONWriting())
  }

  /// Returns the text of a value. References back to an enclosing object are written as null.
  ///
  /// - Parameter cycles: incremented for each reference that is written as null.
  package func write(_ value: ArchiveValue, nullingCycles cycles: inout Int) throws -> Data {
    let writing = JSONWriting()
    writing.nullsCycles = true
    let data = try text(of: value, writing)
    cycles += writing.cycleCount
    return data
  }

  /// Returns the text of a model, of an array of models or of any other value that archives can hold. An ``ArchiveValue`` is created only
  /// if a mapping needs one.
  ///
  /// - Throws: the same errors as for a value; `invalidMapping` if two fields of a model have the same JSON path, or if the path of one
  ///   field is a prefix of another field's path; and any error that the type's own code throws. The error contains the path of the value.
  /// - Complexity: linear in the size of the text; with ``sortsKeys``, also linear in the depth.
  @_disfavoredOverload
  public func write<T: Archivable>(_ value: T) throws -> Data {
    try text(of: value, JSONWriting { SchemaCatalog(of: T.self) })
  }

  func text<T: Archivable>(of value: T, _ writing: JSONWriting) throws -> Data {
    try Measured.work("write JSON", T._archiveTypeName, bytes: { $0.count }) {
      var writer = ArchiveWriter(limits: limits, includesExcluded: true, usesReferences: false, notesSchemas: true)
      writer.classCheck = JSONKinds.check
      try value.write(to: &writer)
      return try JSONBodyWriter.text(of: writer, writing, isPretty: isPretty, sortsKeys: sortsKeys)
    }
  }

  func text(of value: ArchiveValue, _ writing: JSONWriting, fields: Set<String>? = nil) throws -> Data {
    var output = JSONOutput(isPretty: isPretty, sortsKeys: sortsKeys, limits: limits)
    var writer = JSONValueWriter(writing, limits: limits, fields: fields)
    try writer.write(value, to: &output)
    return output.takeData()
  }
}
