/// One rule that failed, and where.
public struct ValidationFailure: Sendable, CustomStringConvertible {
  /// The keys and places that lead to the value, from the outside in; empty where the root as a whole is wrong.
  public let path: [ArchiveError.PathComponent]
  /// The registered name of the model whose rule it is.
  public let typeName: String
  /// What the rule threw, as it threw it.
  public let error: any Error
  /// The value that was refused, for code: an `ArchiveValue`, and in no message. `nil` for one that holds models, and where the whole
  /// object is wrong.
  public let input: (any Sendable)?

  /// The key of the field; `nil` for a rule of the whole model at the root.
  public var key: String? {
    for case .key(let key) in path.reversed() { return key }
    return nil
  }

  /// The path as it would be written in code: `owner.users[3].name`.
  public var pathDescription: String { ArchiveError.describe(path) }

  /// Place and reason in one line.
  public var description: String {
    let reason = ArchiveError.wording(of: error)
    return path.isEmpty ? reason : "\(pathDescription): \(reason)"
  }

  /// The same failure with the value that was refused.
  func about(_ input: any Sendable) -> ValidationFailure {
    ValidationFailure(path: path, typeName: typeName, error: error, input: input)
  }

  func prefixed(by path: [ArchiveError.PathComponent]) -> ValidationFailure {
    ValidationFailure(path: path + self.path, typeName: typeName, error: error, input: input)
  }
}

extension ArchiveError {
  /// The rules that failed where the code is `invalid`, those of an object before those of the objects inside; else empty.
  public var failures: [ValidationFailure] { details.failures }

  /// The error for what is not valid. The path is what the failures have in common, the cause what the first rule threw.
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
      failures: failures, extra: failures.first?.input.map { Extra(input: $0) })
  }
}
