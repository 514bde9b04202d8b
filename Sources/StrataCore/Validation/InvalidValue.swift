/// The reason why a value is invalid. Ready-made checks throw it, and your own rules may.
public struct InvalidValue: Error, Sendable, Hashable, CustomStringConvertible {
  /// The ready-made check that failed.
  public enum Code: String, Sendable, Hashable {
    /// The value is empty.
    case nonEmpty
    /// The number of elements is out of the range.
    case count
    /// The number of characters is out of the range.
    case length
    /// The value is out of the range.
    case range
    /// The text does not match as a whole.
    case matches
    /// The value is nil.
    case required
  }

  /// The problem, in words that may be shown to users.
  public let reason: String
  /// The field to blame, for a rule of the whole model.
  public let key: String?
  /// The ready-made check; `nil` for rules of your own.
  public let code: Code?

  /// Creates an error of your own rule.
  ///
  /// - Parameters:
  ///   - reason: the problem, in words that may be shown to users.
  ///   - key: the field to blame, for a rule of the whole model.
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
