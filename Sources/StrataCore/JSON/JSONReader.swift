public import Foundation

/// Reads JSON text (RFC 8259) into an ``ArchiveValue``, or into a model without a value in between.
///
/// - An object becomes ``ArchiveValue/object(_:)`` with its keys in the order of the text. Keys are compared by their bytes,
///   so two spellings of the same character (U+00E9, and U+0065 U+0301) are two keys.
/// - A number without fraction and exponent is an exact integer: ``ArchiveValue/int(_:)``, ``ArchiveValue/uint(_:)``, or
///   ``ArchiveValue/wideInteger(_:)`` up to 128 bits of magnitude.
/// - Another number is an ``ArchiveValue/double(_:)`` where the shortest text of the nearest double says the same number, as
///   it does for every number of up to 15 digits in the range of doubles. So is `-0`, since no integer keeps its sign.
/// - What neither holds is exact all the same: ``ArchiveValue/decimal(_:)`` where a decimal of at most 38 digits holds it, and
///   else ``ArchiveValue/number(_:)``, which keeps the text.
/// - `true` and `false` are booleans and never numbers.
/// - A string is made of Unicode scalars: lone surrogates, invalid UTF-8 and raw control characters are refused.
public struct JSONReader: Sendable {
  /// What to do where an object has a key twice.
  public typealias DuplicateKeys = JSONDuplicateKeys

  /// How much a document may claim: ``ArchiveLimits/depth`` levels of arrays and objects, ``ArchiveLimits/count``
  /// elements of one of them, ``ArchiveLimits/stringLength`` bytes of one string, key or number, and
  /// ``ArchiveLimits/values`` values and keys in all. Models have ``ArchiveLimits/steps`` too.
  ///
  /// A depth above ``maximumDepth`` counts as ``maximumDepth``. The other limits have no meaning here.
  public var limits = ArchiveLimits()

  /// What to do where an object of an ``ArchiveValue`` has a key twice; ``JSONDuplicateKeys/lastWins`` unless set.
  ///
  /// Models always refuse two values for one field, whatever this is: which of them another reader of the same text
  /// took is not known. Keys that no field reads may be duplicates.
  public var duplicateKeys = DuplicateKeys.lastWins

  /// The deepest nesting that is read whatever the limits say.
  ///
  /// Reading itself does not use the stack, but comparing and releasing a nested value does, level by level.
  public static let maximumDepth = JSONTokenizer.maximumDepth

  /// A reader with the default limits.
  public init() {}

  /// A reader that refuses duplicate keys, as the models do on whatever path they are read: a value that another reader
  /// takes from the other one of two is how checks are bypassed.
  package static func refusingDuplicates(limits: ArchiveLimits = ArchiveLimits()) -> JSONReader {
    var reader = JSONReader()
    reader.limits = limits
    reader.duplicateKeys = .refuse
    return reader
  }

  /// Reads a document: one value with white space around it, in UTF-8 without a byte order mark.
  ///
  /// - Throws: ``ArchiveError`` with code `invalidJSON` where the text is not JSON or has a duplicate key that must
  ///   be unique, and with code `limitExceeded` where it goes beyond ``limits``. ``ArchiveError/byteOffset`` and
  ///   the line and column in ``ArchiveError/reason`` say where. Lines end with a line feed; columns count bytes,
  ///   and both start at 1. No message repeats content of the document beyond one punctuation character.
  /// - Complexity: linear in the size of the text.
  public func read(_ data: Data) throws -> ArchiveValue {
    try Measured.work("read JSON", "any", bytes: { _ in data.count }) {
      try withRoot(of: data, depthLimit: Self.maximumDepth) { try $0.value(duplicateKeys: duplicateKeys) }
    }
  }

  /// Reads a document into a model, an array of models or anything else that archives can hold.
  ///
  /// Nothing is made of what the model does not read. Nesting beyond 512 levels is refused whatever the limits say, since
  /// a model is made level by level on the stack.
  ///
  /// - Throws: ``ArchiveError`` as ``read(_:)``, and where the document is not what the model holds with code
  ///   `typeMismatch`, `missingValue`, `unknownCase` or `rejected`, the path of the place in the model, and the place in
  ///   the text.
  ///   `invalid` where a model breaks one of its rules, unless `validates` is false.
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
          do { return try T.make(fromJSON: root, in: context) } catch { throw root.located(error) }
        }
      }
    }
  }

  /// Reads a text and calls `body` with what it holds. An error that it throws is given its place in the text; the
  /// others that came with it are not, since looking for the places of many would take long.
  func withValue<R>(of json: Data, _ body: (ArchiveValue) throws -> R) throws -> R {
    let value = try read(json)
    do { return try body(value) } catch { throw located(error, in: json) }
  }

  /// An error about the value of a text, with its place in the text.
  func located(_ error: any Error, in data: Data) -> ArchiveError {
    let known = ArchiveError.wrap(error)
    // Where a rule is broken there is no place in the text.
    guard known.code != .invalid, known.byteOffset == nil else { return known }
    // Text that is not JSON has no places.
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
