/// An error that describes why a value is invalid. Built-in checks and custom rules throw this error.
public struct InvalidValue: Error, Sendable, Hashable, CustomStringConvertible {
  /// Identifies the built-in check that failed.
  public enum Code: String, Sendable, Hashable {
    /// The value is empty.
    case nonEmpty
    /// The number of elements is out of range.
    case count
    /// The number of characters is out of range.
    case length
    /// The value is out of range.
    case range
    /// The string as a whole does not match the regular expression.
    case matches
    /// The value is nil.
    case required
  }

  /// A description of the problem in words that may be shown to users.
  public let reason: String
  /// The key of the invalid field, if a rule for the whole model reported this error for one field; otherwise `nil`.
  public let key: String?
  /// The built-in check that failed; `nil` for a custom rule.
  public let code: Code?

  /// Creates an error for a custom rule.
  ///
  /// - Parameters:
  ///   - reason: a description of the problem that may be shown to users.
  ///   - key: the key of the invalid field. Specify it only in a rule that checks the whole model.
  public init(_ reason: String, at key: String? = nil) {
    self.reason = reason
    self.key = key
    code = nil
  }

  @usableFromInline
  init(_ reason: String, code: Code) {
    self.reason = reason
    key = nil
    self.code = code
  }

  public var description: String { reason }
}
