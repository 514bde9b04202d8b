/// What a transformer could not do, with the value that it was given.
///
/// The input is for code only: the description never holds it, since data does not belong into logs.
public struct TransformError: Error, Sendable, CustomStringConvertible {
  /// What is wrong, and what would be right.
  public let reason: String
  /// The value that the failing step was given; `nil` where that is an object which belongs to one task (no `Sendable` type).
  public let input: (any Sendable)?
  /// The place inside the transformed value: indices of arrays, keys of dictionaries.
  public let path: [ArchiveError.PathComponent]
  /// The error that the transformer's own code threw, as it was thrown; `nil` where the reason says it all.
  public let underlyingError: (any Error)?

  /// An error about an input.
  ///
  /// Closures of transformers may throw it, to word the reason themselves.
  public init(
    _ reason: String, input: (any Sendable)?, path: [ArchiveError.PathComponent] = [],
    underlyingError: (any Error)? = nil
  ) {
    self.reason = reason
    self.input = input
    self.path = path
    self.underlyingError = underlyingError
  }

  public var description: String {
    var text = reason
    if !path.isEmpty { text += " (at \(ArchiveError.describe(path)))" }
    // Only the kind of somebody else's error is told: its text may hold the input.
    if let underlyingError { text += ": \(type(of: underlyingError))" }
    return text
  }

  /// `error` itself where it is one of these, else one of these with `error` as its cause.
  static func wrapping(_ error: any Error, input: (any Sendable)?) -> TransformError {
    if let known = error as? TransformError { return known }
    if let known = error as? ArchiveError, known.underlyingError == nil {
      return TransformError(known.reason, input: input, path: known.codingPath, underlyingError: known)
    }
    return TransformError("the transformer refused the value", input: input, underlyingError: error)
  }

  func prefixed(by component: ArchiveError.PathComponent) -> TransformError {
    TransformError(reason, input: input, path: [component] + path, underlyingError: underlyingError)
  }
}
