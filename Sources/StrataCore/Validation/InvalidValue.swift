/// Why a value is wrong: what ready-made checks throw, and rules of your own may.
public struct InvalidValue: Error, Sendable, Hashable, CustomStringConvertible {
  /// The ready-made check that failed.
  public enum Code: String, Sendable, Hashable {
    /// It is empty.
    case nonEmpty
    /// The number of elements is another.
    case count
    /// The number of characters is another.
    case length
    /// It is out of the range.
    case range
    /// The text does not match as a whole.
    case matches
    /// It is nil.
    case required
  }

  /// What is wrong, in words that may be shown.
  public let reason: String
  /// The field to blame, for a rule of the whole model.
  public let key: String?
  /// The ready-made check; `nil` for rules of your own.
  public let code: Code?

  /// An error of your own rule.
  ///
  /// - Parameters:
  ///   - reason: what is wrong, in words that may be shown.
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
