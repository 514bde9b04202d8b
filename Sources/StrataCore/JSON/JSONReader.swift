public import Foundation

/// Reads JSON text (RFC 8259) into a ``Value``.
///
/// - An object becomes ``Value/object(_:)`` with its keys in the order of the text. Where a key stands twice the
///   last value counts, at the place of the first. Keys are compared by their bytes, so two spellings of the
///   same character (U+00E9, and U+0065 U+0301) are two keys.
/// - A number without fraction and exponent is an exact integer, whatever its size: ``Value/int(_:)``,
///   ``Value/uint(_:)``, or ``Value/wideInteger(_:)`` up to 128 bits of magnitude. Beyond that it becomes
///   ``Value/decimal(_:)`` where a decimal of at most 38 significant digits holds it exactly, and
///   ``Value/double(_:)`` rounded to nearest where none does.
/// - Every other number is a double, rounded to nearest; so is `-0`, since no integer keeps its sign. A number
///   nearer to zero than the smallest double becomes zero; one beyond the largest double is refused.
/// - `true` and `false` are booleans and never numbers.
/// - A string is made of Unicode scalars: lone surrogates, invalid UTF-8 and raw control characters are refused.
public struct JSONReader: Sendable {
  /// How much a document may claim: ``ArchiveLimits/depth`` levels of arrays and objects, ``ArchiveLimits/count``
  /// elements of one of them, and ``ArchiveLimits/stringLength`` bytes of one string or key.
  ///
  /// A depth above ``maximumDepth`` counts as ``maximumDepth``. The other limits have no meaning here.
  public var limits = ArchiveLimits()

  /// The deepest nesting that is read whatever the limits say.
  ///
  /// Reading itself does not use the stack, but comparing and releasing a nested value does, level by level.
  public static let maximumDepth = 2048

  /// A reader with the default limits.
  public init() {}

  /// Reads a document: one value with white space around it, in UTF-8 without a byte order mark.
  ///
  /// - Throws: ``ArchiveError`` with code `invalidJSON` where the text is not JSON or a number is beyond the range
  ///   of a double, and with code `limitExceeded` where it goes beyond ``limits``. ``ArchiveError/byteOffset`` and
  ///   the line and column in ``ArchiveError/reason`` tell where. Lines end with a line feed; columns count bytes,
  ///   and both start at 1. No message repeats content of the document beyond one punctuation character.
  public func read(_ data: Data) throws -> Value {
    var parser = JSONParser(data, limits: limits)
    return try parser.document()
  }
}
