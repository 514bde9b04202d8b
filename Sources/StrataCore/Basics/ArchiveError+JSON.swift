package import Foundation

// Further details of errors: the path in JSON, the rejected value, the errors collected with this one, and the file.
extension ArchiveError {
  /// The name of the file that was being read, without its folders; `nil` if no file was read, or if the reason names it.
  public var fileName: String? { details.fileName }

  /// Returns the result of `body`. Adds the name of the file to an error that it throws.
  package static func naming<R>(_ file: URL, _ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as ArchiveError {
      // Errors of the file system already have the whole path.
      guard error.fileName == nil, ![.fileSystem, .fileInUse].contains(error.code) else { throw error }
      throw error.changed { $0.fileName = file.lastPathComponent }
    }
  }

  /// The path to the failure in JSON, if the fields have different paths in JSON; otherwise ``codingPath``.
  public var jsonPath: [PathComponent] { details.jsonPath ?? codingPath }

  /// ``jsonPath`` in the notation of Swift code, for the sender of the JSON: `user.logins[3]`; empty at the root.
  public var jsonPathDescription: String { Self.describe(jsonPath) }

  /// The rejected value, if it is known. It is never a part of ``description``.
  public var input: (any Sendable)? { details.input }

  /// This error and those that were collected with it, in the order of the schema.
  public var all: [ArchiveError] { [changed { $0.others = [] }] + details.others }

  /// Returns the error with the rejected value, unless the error already has one.
  package func about(_ input: (any Sendable)?) -> ArchiveError {
    self.input == nil ? changed { $0.input = input } : self
  }

  /// Returns the first of several errors, which then lists the others; `nil` if there are none.
  package static func combined(_ errors: [ArchiveError]) -> ArchiveError? {
    let all = errors.flatMap(\.all)
    return all.first?.changed { $0.others = Array(all.dropFirst()) }
  }
}
