public import Foundation

/// Reads JSON text (RFC 8259) into an ``ArchiveValue``, or directly into a model.
///
/// - An object becomes ``ArchiveValue/object(_:)`` with its keys in the order of the text. Keys are compared by their bytes, so two
///   spellings of the same character (U+00E9, and U+0065 U+0301) are different keys.
/// - A number without fraction and exponent is an exact integer: ``ArchiveValue/int(_:)``, ``ArchiveValue/uint(_:)``, or
///   ``ArchiveValue/wideInteger(_:)`` up to 128 bits of magnitude.
/// - Any other number is an ``ArchiveValue/double(_:)`` if the shortest text of the nearest double represents the same number. This is true
///   of every number of up to 15 digits in the range of doubles. `-0` is also a double, because an integer cannot keep its sign.
/// - A number that fits none of these types is also kept exactly. It is an ``ArchiveValue/decimal(_:)`` if a decimal of at most 38 digits
///   can hold it, otherwise an ``ArchiveValue/number(_:)``, which keeps the text.
/// - `true` and `false` are booleans and never numbers.
/// - A string consists of Unicode scalars: lone surrogates, invalid UTF-8 and raw control characters are rejected.
public struct JSONReader: Sendable {
  /// How duplicate keys in an object are handled.
  public typealias DuplicateKeys = JSONDuplicateKeys

  /// The limits on a document: ``ArchiveLimits/depth`` levels of arrays and objects, ``ArchiveLimits/count`` elements in a single array or
  /// object, ``ArchiveLimits/stringLength`` bytes in a single string, key or number, and ``ArchiveLimits/values`` values and keys in total.
  /// For models, ``ArchiveLimits/steps`` also applies.
  ///
  /// A depth above ``maximumDepth`` is reduced to ``maximumDepth``. The other limits have no effect here.
  public var limits = ArchiveLimits()

  /// How duplicate keys in an object of an ``ArchiveValue`` are handled; ``JSONDuplicateKeys/lastWins`` by default.
  ///
  /// Models always reject a second value for a field, because another reader of the same text might use the other value. Keys that no field
  /// reads may occur more than once.
  public var duplicateKeys = DuplicateKeys.lastWins

  /// The maximum depth that can be read, regardless of the limits.
  ///
  /// Reading does not use recursion, but deallocating a nested value does. A value that is nested too deeply could overflow the call stack.
  public static let maximumDepth = JSONTokenizer.maximumDepth

  /// Creates a reader with the default limits.
  public init() {}

  /// Returns a reader that rejects duplicate keys. If they were allowed, two readers of the same text could use different values, and a
  /// check by one of them could be bypassed.
  package static func refusingDuplicates(limits: ArchiveLimits = ArchiveLimits()) -> JSONReader {
    var reader = JSONReader()
    reader.limits = limits
    reader.duplicateKeys = .refuse
    return reader
  }

  /// Reads a document: a single value in UTF-8, without a byte order mark. White space around the value is allowed.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON` if the text is not JSON or has a duplicate key that must be unique, and with
  ///   the code `limitExceeded` if the text exceeds ``limits``. ``ArchiveError/byteOffset`` and the line and column in
  ///   ``ArchiveError/reason`` specify the position. Lines end with a line feed, columns count bytes, and both start at 1. Error messages
  ///   repeat no content of the document except a single punctuation character.
  /// - Complexity: linear in the size of the text.
  public func read(_ data: Data) throws -> ArchiveValue {
    try Measured.work("read JSON", "any", bytes: { _ in data.count }) {
      try withRoot(of: data, depthLimit: Self.maximumDepth) { try $0.value(duplicateKeys: duplicateKeys) }
    }
  }

  /// Reads a document into a model, an array of models or any other type that archives can hold.
  ///
  /// Values that the model does not read are not created. More than 512 nested levels are rejected regardless of the limits, because models
  /// are created recursively.
  ///
  /// - Throws: any error that ``read(_:)`` throws. If the document does not match the model, the code is `typeMismatch`, `missingValue`,
  ///   `unknownCase` or `rejected`, and the error has the path in the model and the position in the text. The code is `invalid` if a model
  ///   breaks one of its rules, unless `validates` is false.
  public func read<T: Archivable>(
    _ type: T.Type = T.self, from data: Data, validates: Bool = true
  ) throws -> T {
    let context = DecodingContext(limits: limits, source: .json, finishing: .gathering(validates: validates))
    return try read(type, from: data, in: context)
  }

  func read<T: Archivable>(_ type: T.Type, from data: Data, in context: DecodingContext) throws -> T {
    context.budget.begin(fileSize: data.count)
    return try Measured.work("read JSON", T._archiveTypeName, bytes: { _ in data.count }) {
      try withRoot(of: data, depthLimit: ArchiveLimits().depth) { root in
        try context.checked {
          do { return try T.decode(fromJSON: root, in: context) } catch { throw root.located(error) }
        }
      }
    }
  }

  /// Reads a JSON text and calls `body` with its value. If `body` throws an error, adds its position in the text. Other errors that were
  /// collected together with this one get no position, because finding many positions would be slow.
  func withValue<R>(of json: Data, _ body: (ArchiveValue) throws -> R) throws -> R {
    let value = try read(json)
    do { return try body(value) } catch { throw located(error, in: json) }
  }

  /// Adds the position in the JSON text to an error about a value in that text.
  func located(_ error: any Error, in data: Data) -> ArchiveError {
    let known = ArchiveError.wrap(error)
    // An error for a broken validation rule gets no position, because it is about the decoded object.
    guard known.code != .invalid, known.byteOffset == nil else { return known }
    // If the text is not valid JSON, no position can be found.
    let place = try? withRoot(of: data, depthLimit: Self.maximumDepth) { $0.located(known).located(in: data.bytes) }
    return place ?? known
  }

  package func withRoot<R>(
    of data: Data, depthLimit: Int, _ body: (JSONElement) throws -> R
  ) throws -> R {
    let bytes = data.bytes
    let tokens = try JSONTokenizer.tokens(of: bytes, limits: limits, depthLimit: min(limits.depth, depthLimit))
    do {
      return try tokens.buffer.withBytes { try body(JSONElement(bytes, JSONTokens($0), at: 0)) }
    } catch {
      throw ArchiveError.wrap(error).located(in: bytes)
    }
  }
}
