/// An error that a transformer threw, with the input that the transformer rejected.
///
/// Code can inspect the input, but the description never contains it, because values do not belong in logs.
public struct TransformError: Error, Sendable, CustomStringConvertible {
  /// The problem and its remedy.
  public let reason: String
  /// The input of the step that failed inside the transformer; `nil` if the type of the input is not `Sendable`.
  public let input: (any Sendable)?
  /// The path to the failing element inside the transformed value, as array indices and dictionary keys.
  public let path: [ArchiveError.PathComponent]
  /// The error that the transformer's own code threw; `nil` if ``reason`` describes the problem completely.
  public let underlyingError: (any Error)?

  /// Creates an error for an input.
  ///
  /// A transformer's closure can throw this error to specify the reason itself.
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
    // Only the type of the underlying error is shown, because its text may contain the input.
    if let underlyingError { text += ": \(type(of: underlyingError))" }
    return text
  }

  /// Returns `error` itself if it is a `TransformError`, otherwise a `TransformError` with `error` as its underlying
  /// error.
  static func wrapping(_ error: any Error, input: (any Sendable)?) -> TransformError {
    if let known = error as? TransformError { return known }
    if let known = error as? ArchiveError, known.underlyingError == nil {
      return TransformError(known.reason, input: input, path: known.codingPath, underlyingError: known)
    }
    return TransformError("the transformer rejected the value", input: input, underlyingError: error)
  }

  func prefixed(by component: ArchiveError.PathComponent) -> TransformError {
    TransformError(reason, input: input, path: [component] + path, underlyingError: underlyingError)
  }
}
