package import Foundation

// Further details of errors: the path in JSON, the rejected value, further collected errors, and the file.
extension ArchiveError {
  /// The name of the file that was being read, without its folders; `nil` if no file was read, or if ``reason`` contains the
  /// file's path.
  public var fileName: String? { details.fileName }

  /// Returns the result of `body`. If `body` throws an `ArchiveError`, the file's name is added to the error.
  package static func naming<R>(_ file: URL, _ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as ArchiveError {
      // The reason of a file system error already contains the whole path, so the file name is not added.
      guard error.fileName == nil, ![.fileSystem, .fileInUse].contains(error.code) else { throw error }
      throw error.changed { $0.fileName = file.lastPathComponent }
    }
  }

  /// The path to the failing value in JSON. It differs from ``codingPath`` if fields have a different path in JSON.
  public var jsonPath: [PathComponent] { details.jsonPath ?? codingPath }

  /// ``jsonPath`` in Swift notation, for messages to the sender of the JSON, such as `user.logins[3]`; empty at the root.
  public var jsonPathDescription: String { Self.describe(jsonPath) }

  /// The rejected value, if it is known. It is never a part of ``description``.
  public var input: (any Sendable)? { details.input }

  /// This error, followed by the other errors that were collected with it, in the order of the schema.
  public var all: [ArchiveError] { [changed { $0.others = [] }] + details.others }

  /// Returns the error with `input` as the rejected value, unless the error already has a rejected value.
  package func about(_ input: (any Sendable)?) -> ArchiveError {
    self.input == nil ? changed { $0.input = input } : self
  }

  /// Returns the first of several errors. The returned error also contains the others. Returns `nil` if `errors` is empty.
  package static func combined(_ errors: [ArchiveError]) -> ArchiveError? {
    let all = errors.flatMap(\.all)
    return all.first?.changed { $0.others = Array(all.dropFirst()) }
  }
}
