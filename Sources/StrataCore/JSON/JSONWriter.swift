public import Foundation

/// Writes an ``ArchiveValue`` or a model as JSON text (RFC 8259). The same value always becomes the same bytes.
///
/// - Integers are written with all their digits. A floating-point number has the fewest digits that read back as
///   the same number, and always a decimal point or an exponent, so that a double stays one.
/// - An ``ArchiveValue/decimal(_:)`` is written with all its digits, as a number, and an ``ArchiveValue/number(_:)`` as it was.
/// - Strings escape only the quote, the backslash and control characters.
/// - Values without a form in JSON: a date is a string in UTC such as `2011-01-26T19:01:12Z`, with decimal places only
///   if it has any; a URL is its absolute string; a UUID is a string in upper case; data is a string in base64; a set
///   is an array; and a record is the object of its fields, without type name and version.
/// - A dictionary or a map is an object if all keys have a text: strings, integers, dates, URLs, UUIDs and data;
///   otherwise an array of arrays of key and value.
/// - A model is an object with each field at its JSON path, in the order of the schema. Fields whose paths begin with
///   the same steps share an object, at the position of the first. Nil is null. Fields that archives exclude are
///   written, and so are ``UnknownFields``.
public struct JSONWriter: Sendable {
  /// Whether elements are on separate lines, indented by two spaces per level. Otherwise there is no white space.
  public var isPretty: Bool
  /// Whether the keys of objects and records are sorted by their UTF-8 bytes. Otherwise they keep their order.
  public var sortsKeys: Bool
  /// The limits on the text: ``ArchiveLimits/depth`` of arrays and objects, and ``ArchiveLimits/outputSize``. Other limits are ignored.
  public var limits = ArchiveLimits()

  /// A writer with the default limits.
  public init(isPretty: Bool = false, sortsKeys: Bool = false) {
    self.isPretty = isPretty
    self.sortsKeys = sortsKeys
  }

  /// Returns the text of a value, without a line feed at its end.
  ///
  /// - Throws: ``ArchiveError`` with the code `notEncodable` for a number that is not finite and for a date outside the
  ///   years 0 to 9999, and with the code `limitExceeded` for nesting and for text beyond the limits. The error has the path.
  public func write(_ value: ArchiveValue) throws -> Data {
    try text(of: value, JSONWriting())
  }

  /// Returns the text of a value. References back to an object that contains them become null.
  ///
  /// - Parameter cycles: incremented for each of these references.
  package func write(_ value: ArchiveValue, nullingCycles cycles: inout Int) throws -> Data {
    let writing = JSONWriting()
    writing.nullsCycles = true
    let data = try text(of: value, writing)
    cycles += writing.cycleCount
    return data
  }

  /// Returns the text of a model, of an array of models or of anything else that archives can hold. No ``ArchiveValue``
  /// is created unless a mapping needs one.
  ///
  /// - Throws: the same errors as for a value; `invalidMapping` if two fields of a model have the same JSON path, or if
  ///   the path of one leads through the other; and errors of the type's own code. The error has the path.
  /// - Complexity: linear in the size of the text; with ``sortsKeys`` also in its depth.
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
