package import Foundation

// Additional details of errors: the path in JSON, the rejected value, other errors of the same operation, and the file name.
extension ArchiveError {
  /// The name of the file that was being read, without its folders; `nil` if no file was read, or if ``reason`` contains the
  /// file's path.
  public var fileName: String? { details.fileName }

  /// Returns the result of `body`. If `body` throws an `ArchiveError`, adds the file's name to the error.
  package static func naming<R>(_ file: URL, _ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as ArchiveError {
      // The message of a file system error already contains the whole path, so the file name is not added.
      guard error.fileName == nil, ![.fileSystem, .fileInUse].contains(error.code) else { throw error }
      throw error.changed { $0.fileName = file.lastPathComponent }
    }
  }

  /// The path to the failing value in the JSON document. It differs from ``codingPath`` if the JSON mapping gives a field a different path.
  public var jsonPath: [PathComponent] { details.jsonPath ?? codingPath }

  /// ``jsonPath`` in Swift notation, for messages to the sender of the JSON, such as `user.logins[3]`; empty at the root.
  public var jsonPathDescription: String { Self.describe(jsonPath) }

  /// The rejected value; `nil` if it is not known. ``description`` never contains this value.
  public var input: (any Sendable)? { details.input }

  /// This error, followed by the other errors that the same operation collected, in the order of the fields in the schema and of the
  /// elements in arrays.
  public var all: [ArchiveError] { [changed { $0.others = [] }] + details.others }

  /// Returns the error with `input` as the rejected value, unless the error already has a rejected value.
  package func about(_ input: (any Sendable)?) -> ArchiveError {
    self.input == nil ? changed { $0.input = input } : self
  }

  /// Combines several errors into the first of them, which then also contains the other errors. Returns `nil` if `errors` is empty.
  package static func combined(_ errors: [ArchiveError]) -> ArchiveError? {
    let all = errors.flatMap(\.all)
    return all.first?.changed { $0.others = Array(all.dropFirst()) }
  }
}
