package import Foundation

// Further details of errors: the path in JSON, the rejected value, the errors collected with this one, and the file.
extension ArchiveError {
  package struct Extra: Sendable {
    /// `nil` if it is the same as the coding path.
    var jsonPath: [PathComponent]?
    var input: (any Sendable)?
    var others: [ArchiveError] = []
    var fileName: String?
  }

  /// The name of the file that was being read, without its folders; `nil` if no file was read, or if the reason names it.
  public var fileName: String? { details.extra?.fileName }

  /// Returns the result of `body`. An error that it throws gets the name of the file.
  package static func naming<R>(_ file: URL, _ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as ArchiveError {
      // Errors of the file system already have the whole path.
      guard error.fileName == nil, ![.fileSystem, .fileInUse].contains(error.code) else { throw error }
      var extra = error.details.extra ?? Extra()
      extra.fileName = file.lastPathComponent
      throw error.changed(extra: extra)
    }
  }

  /// The path to the failure in JSON, if the fields have other paths there. Otherwise the same as ``codingPath``.
  public var jsonPath: [PathComponent] { details.extra?.jsonPath ?? codingPath }

  /// ``jsonPath`` as it would be written in code, for the sender of the JSON: `user.logins[3]`; empty at the root.
  public var jsonPathDescription: String { Self.describe(jsonPath) }

  /// The rejected value, if it is known. It is never a part of ``description``.
  public var input: (any Sendable)? { details.extra?.input }

  /// This error and those that were collected with it, in the order of the schema.
  public var all: [ArchiveError] { [alone] + (details.extra?.others ?? []) }

  private var alone: ArchiveError {
    guard var extra = details.extra, !extra.others.isEmpty else { return self }
    extra.others = []
    return changed(extra: extra)
  }

  /// The same error with the rejected value, unless the error already has one.
  package func about(_ input: (any Sendable)?) -> ArchiveError {
    guard let input, self.input == nil else { return self }
    var extra = details.extra ?? Extra()
    extra.input = input
    return changed(extra: extra)
  }

  /// Returns the first of several errors, which then lists the others; `nil` if there are none.
  package static func combined(_ errors: [ArchiveError]) -> ArchiveError? {
    let all = errors.flatMap(\.all)
    guard let first = all.first else { return nil }
    guard all.count > 1 else { return first }
    var extra = first.details.extra ?? Extra()
    extra.others = Array(all.dropFirst())
    return first.changed(extra: extra)
  }

  func prefixedExtra(_ component: PathComponent, _ json: [PathComponent]?) -> Extra? {
    var extra = details.extra ?? Extra()
    if let json, json != [component] || extra.jsonPath != nil {
      extra.jsonPath = json + jsonPath
    } else if extra.jsonPath != nil {
      extra.jsonPath = [component] + jsonPath
    } else if details.extra == nil {
      return nil
    }
    extra.others = extra.others.map { $0.prefixed(by: component, json: json) }
    return extra
  }
}
