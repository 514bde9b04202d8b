/// A failed validation rule, with the path to the value that breaks it.
public struct ValidationFailure: Sendable, CustomStringConvertible {
  /// The path to the invalid value, outermost component first; empty if the root as a whole is invalid.
  public let path: [ArchiveError.PathComponent]
  /// The registered name of the model to which the rule was applied. For an inherited rule, this is the name of the subclass.
  public let typeName: String
  /// The error that the rule threw.
  public let error: any Error
  /// The rejected value as an `ArchiveValue`; `nil` if the value contains models, or if the whole object is invalid.
  /// Messages never contain the value.
  public let input: (any Sendable)?

  /// The last key in ``path``, which is usually the key of the invalid field; `nil` if the path contains no key.
  public var key: String? {
    for case .key(let key) in path.reversed() { return key }
    return nil
  }

  /// The path in Swift notation, such as `owner.users[3].name`.
  public var pathDescription: String { ArchiveError.describe(path) }

  /// The path and the reason in one line. If the path is empty, only the reason.
  public var description: String {
    let reason = ArchiveError.wording(of: error)
    return path.isEmpty ? reason : "\(pathDescription): \(reason)"
  }

  /// Returns the failure with `input` as the rejected value.
  func about(_ input: any Sendable) -> ValidationFailure {
    ValidationFailure(path: path, typeName: typeName, error: error, input: input)
  }

  func prefixed(by path: [ArchiveError.PathComponent]) -> ValidationFailure {
    ValidationFailure(path: path + self.path, typeName: typeName, error: error, input: input)
  }
}

extension ArchiveError {
  /// The failed validation rules if the code is `invalid`; otherwise empty. Failures of an object precede failures of the objects that it
  /// contains.
  public var failures: [ValidationFailure] { details.failures }

  /// Creates the error for failed validation rules. The path of the error is the common prefix of all failures' paths,
  /// and its underlying error is the underlying error of the first failure.
  static func invalid(_ failures: [ValidationFailure]) -> ArchiveError {
    var path = failures.first?.path ?? []
    for failure in failures.dropFirst() { path = zip(path, failure.path).prefix { $0 == $1 }.map(\.0) }
    let reason =
      switch path.last {
      case _ where failures.count > 1: "\(failures.count) values are invalid"
      case .key?: "the value is invalid"
      default: "the object is invalid"
      }
    return ArchiveError(
      .invalid, reason, path: path, typeName: failures.first?.typeName, underlying: failures.first?.error,
      failures: failures, input: failures.first?.input)
  }
}
