internal import Foundation
internal import StrataCore

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// A failure in the words of the tool.
struct ToolError: Error {
  let message: String
  /// The kind of failure, where it was one of the library's.
  private(set) var code: ArchiveError.Code?

  init(_ message: String) { self.message = message.onOneLine }

  /// The failure of an operation on a file. A failure of the file system names the file already.
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

  /// The message of any error.
  static func message(of error: any Error) -> String {
    switch error {
    case let error as ToolError: error.message
    case let error as ArchiveError: error.description.onOneLine
    default: error.localizedDescription.onOneLine
    }
  }

  /// What the system said, where an error of Foundation's has that inside.
  static func reason(of error: any Error) -> String {
    let cause = cause(of: error)
    guard cause.domain == NSPOSIXErrorDomain else { return cause.localizedDescription }
    return String(cString: strerror(CInt(truncatingIfNeeded: cause.code)))
  }

  /// The error of the system, where one of Foundation's has it inside.
  static func cause(of error: any Error) -> NSError {
    let error = error as NSError
    return (error.userInfo[NSUnderlyingErrorKey] as? any Error).map { $0 as NSError } ?? error
  }

  /// Runs `body`, whose failures concern the file at `path`.
  static func at<R>(_ path: String, _ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as BrokenPipe { throw error } catch {
      throw ToolError(path == "-" ? "standard input" : path, error)
    }
  }
}
