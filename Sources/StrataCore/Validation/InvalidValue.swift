/// Why a value is wrong: what ready-made checks throw, and rules of your own may.
public struct InvalidValue: Error, Sendable, Hashable, CustomStringConvertible {
  /// The ready-made check that failed.
  public enum Code: String, Sendable, Hashable {
    case nonEmpty, count, length, range, matches, required
  }

  /// What is wrong, in words that may be shown.
  public let reason: String
  /// The field to blame, for a rule of the whole model.
  public let key: String?
  /// The ready-made check; `nil` for rules of your own.
  public let code: Code?

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
