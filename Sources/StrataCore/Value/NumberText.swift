/// A number as written in JSON (RFC 8259, section 6), for numbers that no integer, double or decimal can represent
/// exactly.
///
/// Two `NumberText` values are equal if their texts are equal.
public struct NumberText: Sendable, Hashable, CustomStringConvertible {
  /// The digits with the sign, the point and the exponent, exactly as written.
  public let text: String

  /// Parses a number. Returns `nil` for a text that is not a JSON number, such as `1.`, `+1`, `01` or `NaN`.
  ///
  /// - Complexity: linear in the length of the text.
  public init?(_ text: String) {
    guard Self.isNumber(text) else { return nil }
    self.text = text
  }

  /// Creates a number from a text that is known to be a JSON number.
  package init(checked text: String) { self.text = text }

  public var description: String { text }

  private static func isNumber(_ text: String) -> Bool {
    var rest = text.utf8[...]
    func digits() -> Bool {
      let count = rest.prefix { $0 &- UInt8(ascii: "0") < 10 }.count
      rest = rest.dropFirst(count)
      return count > 0
    }
    if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
    if rest.first == UInt8(ascii: "0") { rest.removeFirst() } else if !digits() { return false }
    if rest.first == UInt8(ascii: ".") {
      rest.removeFirst()
      guard digits() else { return false }
    }
    if let letter = rest.first, letter | 0x20 == UInt8(ascii: "e") {
      rest.removeFirst()
      if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { rest.removeFirst() }
      guard digits() else { return false }
    }
    return rest.isEmpty
  }
}
