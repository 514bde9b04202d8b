internal import Foundation
internal import StrataCore

/// A failure with a message for the user.
struct ToolError: Error {
  let message: String
  /// The error code, if the failure is an error of the library.
  private(set) var code: ArchiveError.Code?

  init(_ message: String) { self.message = message.onOneLine }

  /// Creates the error for a failed operation on a file. A file system error already names the file.
  init(_ path: String, _ error: any Error) {
    if let error = error as? ToolError {
      self = error
    } else if let error = error as? ArchiveError {
      self.init(error.code == .fileSystem ? error.description : "\(path): \(error.description)")
      code = error.code
    } else {
      self.init("\(path): \(error.localizedDescription)")
    }
  }

  /// Returns the message of any error.
  static func message(of error: any Error) -> String {
    switch error {
    case let error as ToolError: error.message
    case let error as ArchiveError: error.description.onOneLine
    default: error.localizedDescription.onOneLine
    }
  }

  /// Returns the system's description of the POSIX error inside a Foundation error. If there is none, returns the
  /// error's own description.
  static func reason(of error: any Error) -> String {
    let cause = cause(of: error)
    guard cause.domain == NSPOSIXErrorDomain else { return cause.localizedDescription }
    return String(cString: strerror(CInt(truncatingIfNeeded: cause.code)))
  }

  /// Returns the underlying error of a Foundation error, or the error itself if there is none.
  static func cause(of error: any Error) -> NSError {
    let error = error as NSError
    return (error.userInfo[NSUnderlyingErrorKey] as? any Error).map { $0 as NSError } ?? error
  }

  /// Runs `body` and adds the path of the file to the errors that `body` throws.
  static func at<R>(_ path: String, _ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as BrokenPipe { throw error } catch {
      throw ToolError(path == "-" ? "standard input" : path, error)
    }
  }
}
