public import Foundation

/// Reads JSON text (RFC 8259) into an ``ArchiveValue``, or into a model without a value in between.
///
/// - An object becomes ``ArchiveValue/object(_:)`` with its keys in the order of the text. Keys are compared by their bytes,
///   so two spellings of the same character (U+00E9, and U+0065 U+0301) are two keys.
/// - A number without fraction and exponent is an exact integer: ``ArchiveValue/int(_:)``, ``ArchiveValue/uint(_:)``, or
///   ``ArchiveValue/wideInteger(_:)`` up to 128 bits of magnitude.
/// - Another number is an ``ArchiveValue/double(_:)`` if the shortest text of the nearest double is the same number, as
///   for every number of up to 15 digits in the range of doubles. So is `-0`, because no integer keeps its sign.
/// - Numbers that neither holds are exact, too: ``ArchiveValue/decimal(_:)`` if a decimal of at most 38 digits holds
///   the number, otherwise ``ArchiveValue/number(_:)``, which keeps the text.
/// - `true` and `false` are booleans and never numbers.
/// - A string consists of Unicode scalars: lone surrogates, invalid UTF-8 and raw control characters are rejected.
public struct JSONReader: Sendable {
  /// The treatment of duplicate keys in an object.
  public typealias DuplicateKeys = JSONDuplicateKeys

  /// Limits on a document: ``ArchiveLimits/depth`` levels of arrays and objects, ``ArchiveLimits/count`` elements of
  /// one of them, ``ArchiveLimits/stringLength`` bytes of one string, key or number, and ``ArchiveLimits/values``
  /// values and keys in all. ``ArchiveLimits/steps`` applies to models, too.
  ///
  /// A depth above ``maximumDepth`` counts as ``maximumDepth``. The other limits have no effect here.
  public var limits = ArchiveLimits()

  /// The treatment of duplicate keys in an object of an ``ArchiveValue``; ``JSONDuplicateKeys/lastWins`` unless set.
  ///
  /// Models always reject two values for one field, because another reader of the same text may use the other value.
  /// Keys that no field reads may be duplicates.
  public var duplicateKeys = DuplicateKeys.lastWins

  /// The deepest nesting that is read, whatever the limits.
  ///
  /// Reading does not use recursion, but releasing a nested value does.
  public static let maximumDepth = JSONTokenizer.maximumDepth

  /// A reader with the default limits.
  public init() {}

  /// A reader that rejects duplicate keys, as models always do. If two readers of a text use different values, checks can be bypassed.
  package static func refusingDuplicates(limits: ArchiveLimits = ArchiveLimits()) -> JSONReader {
    var reader = JSONReader()
    reader.limits = limits
    reader.duplicateKeys = .refuse
    return reader
  }

  /// Reads a document: one value with white space around it, in UTF-8 without a byte order mark.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON` if the text is not JSON or has a duplicate key that must be
  ///   unique, and with the code `limitExceeded` if it exceeds ``limits``. ``ArchiveError/byteOffset`` and the line and
  ///   column in ``ArchiveError/reason`` give the position. Lines end with a line feed; columns count bytes, and both
  ///   start at 1. No message repeats content of the document beyond one punctuation character.
  /// - Complexity: linear in the size of the text.
  public func read(_ data: Data) throws -> ArchiveValue {
    try Measured.work("read JSON", "any", bytes: { _ in data.count }) {
      try withRoot(of: data, depthLimit: Self.maximumDepth) { try $0.value(duplicateKeys: duplicateKeys) }
    }
  }

  /// Reads a document into a model, an array of models or anything else that archives can hold.
  ///
  /// Values that the model does not read are not created. Nesting beyond 512 levels is rejected whatever the limits,
  /// because models are created recursively.
  ///
  /// - Throws: ``ArchiveError`` as ``read(_:)``. If the document does not match the model, the code is `typeMismatch`,
  ///   `missingValue`, `unknownCase` or `rejected`, and the error has the path in the model and the position in the
  ///   text. `invalid` if a model breaks one of its rules, unless `validates` is false.
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

  /// Reads a text and calls `body` with its value. An error that `body` throws gets its position in the text. Errors
  /// collected with it do not, because finding the positions of many would be slow.
  func withValue<R>(of json: Data, _ body: (ArchiveValue) throws -> R) throws -> R {
    let value = try read(json)
    do { return try body(value) } catch { throw located(error, in: json) }
  }

  /// The error about the value of a text, with its position in the text.
  func located(_ error: any Error, in data: Data) -> ArchiveError {
    let known = ArchiveError.wrap(error)
    // A broken rule has no position in the text.
    guard known.code != .invalid, known.byteOffset == nil else { return known }
    // A text that is not JSON has no positions.
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
