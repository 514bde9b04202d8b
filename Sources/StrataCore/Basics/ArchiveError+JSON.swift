package import Foundation

// What errors of the JSON adapter tell besides: the place in JSON, the value there, and the errors that came with it.
extension ArchiveError {
  package struct Extra: Sendable {
    /// `nil` where it is the same as the coding path.
    var jsonPath: [PathComponent]?
    var input: (any Sendable)?
    var others: [ArchiveError] = []
    var fileName: String?
  }

  /// The name of the file that was being read, without its folders; `nil` where it was no file, and where the reason names it.
  public var fileName: String? { details.extra?.fileName }

  /// What `body` gives; an error that it throws has the name of a file.
  package static func naming<R>(_ file: URL, _ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as ArchiveError {
      // Errors of the file system have the whole path.
      guard error.fileName == nil, ![.fileSystem, .fileInUse].contains(error.code) else { throw error }
      var extra = error.details.extra ?? Extra()
      extra.fileName = file.lastPathComponent
      throw error.changed(extra: extra)
    }
  }

  /// The keys and places of JSON that lead to the failure, where the fields have other paths there; else as
  /// ``codingPath``.
  public var jsonPath: [PathComponent] { details.extra?.jsonPath ?? codingPath }

  /// ``jsonPath`` as it would be written in code, for who sent the JSON: `user.logins[3]`; empty at the root.
  public var jsonPathDescription: String { Self.describe(jsonPath) }

  /// The value that was refused, where it is known; never a part of ``description``.
  public var input: (any Sendable)? { details.extra?.input }

  /// This error and those that were collected with it, in the order of the schema.
  public var all: [ArchiveError] { [alone] + (details.extra?.others ?? []) }

  private var alone: ArchiveError {
    guard var extra = details.extra, !extra.others.isEmpty else { return self }
    extra.others = []
    return changed(extra: extra)
  }

  /// The same error with the value that was refused, where none is known yet.
  package func about(_ input: (any Sendable)?) -> ArchiveError {
    guard let input, self.input == nil else { return self }
    var extra = details.extra ?? Extra()
    extra.input = input
    return changed(extra: extra)
  }

  /// The first of several errors, which tells of the others; `nil` where there are none.
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
