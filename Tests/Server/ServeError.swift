internal import Foundation
internal import StrataCore

/// An error with a message for the console.
struct ServeError: Error, CustomStringConvertible {
  let message: String
  var description: String { message }

  init(_ message: String) { self.message = message.onOneLine }

  /// The message of any error.
  static func message(of error: any Error) -> String {
    switch error {
    case let error as ServeError: error.message
    case let error as ArchiveError: error.description.onOneLine
    default: error.localizedDescription.onOneLine
    }
  }

  /// The system's reason, if a Foundation error contains one.
  static func reason(of error: any Error) -> String {
    let error = error as NSError
    let cause = (error.userInfo[NSUnderlyingErrorKey] as? any Error).map { $0 as NSError } ?? error
    guard cause.domain == NSPOSIXErrorDomain else { return cause.localizedDescription }
    return String(cString: strerror(CInt(truncatingIfNeeded: cause.code)))
  }

  /// Runs `body` and prefixes its errors with the path.
  static func at<R>(_ path: String, _ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as ServeError { throw error } catch {
      throw ServeError("\(path): \(message(of: error))")
    }
  }
}
