/// One rule that failed, and where.
public struct ValidationFailure: Sendable, CustomStringConvertible {
  /// The keys and places that lead to the value, from the outside in; empty where the root as a whole is wrong.
  public let path: [ArchiveError.PathComponent]
  /// What the rule threw, as it threw it.
  public let error: any Error

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

  func prefixed(by component: ArchiveError.PathComponent) -> ValidationFailure {
    ValidationFailure(path: [component] + path, error: error)
  }
}

extension ArchiveError {
  /// The rules that failed where the code is `invalid`, in the order of the schema; else empty.
  ///
  /// Those of one object: an object inside that is invalid is reported before the one that holds it is looked at.
  public var failures: [ValidationFailure] { details.failures }

  /// The error for an object that is not valid. The cause is what the first rule threw.
  static func invalid(_ failures: [ValidationFailure], typeName: String) -> ArchiveError {
    let only = failures.count == 1 ? failures.first : nil
    let reason =
      switch only {
      case nil: "\(failures.count) values are invalid"
      case let only? where only.path.isEmpty: "the object is invalid"
      default: "the value is invalid"
      }
    return ArchiveError(
      .invalid, reason, path: only?.path ?? [], typeName: typeName, underlying: failures.first?.error,
      failures: failures)
  }
}
