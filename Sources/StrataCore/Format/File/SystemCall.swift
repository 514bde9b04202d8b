internal import Foundation

/// A kind of system call on files. Tests can make individual calls of a kind fail.
package enum SystemCall: String, Sendable, CaseIterable {
  case open, read, write, status, truncate, changeOwner, changeMode, synchronize, close, rename, link, unlink, lock,
    list, makeFolder

  package enum Outcome: Sendable, Equatable {
    case proceeds
    /// The call is not made. It fails with this error number.
    case fails(Int32)
    /// The call reads or writes only one byte, even if more bytes are requested.
    case isShort
  }

  /// A closure that tests set to choose the outcome of each system call in the current task. If it is `nil`, all calls are made normally.
  @TaskLocal package static var interceptor: (@Sendable (SystemCall) -> Outcome)?

  /// Makes a call and repeats it if a signal interrupted it.
  ///
  /// - Returns: the result of the call; −1 if the call failed, in which case `errno` contains the error number.
  static func perform<Result: SignedInteger>(_ call: SystemCall, _ body: () -> Result) -> Result {
    perform(call, count: 1) { _ in body() }
  }

  /// Makes a call that returns a pointer and repeats the call if a signal interrupted it.
  ///
  /// - Returns: the result of the call. `nil` means that the call failed with the error number in `errno`, or that a folder has no more
  ///   entries, in which case `errno` is 0.
  package static func perform<Pointer>(_ call: SystemCall, pointer body: () -> Pointer?) -> Pointer? {
    while true {
      errno = 0
      if case .fails(let number)? = interceptor?(call) { errno = number } else if let result = body() { return result }
      if errno != EINTR { return nil }
    }
  }

  /// Makes a call that transfers at most `count` bytes and repeats the call if a signal interrupted it.
  static func perform<Result: SignedInteger>(_ call: SystemCall, count: Int, _ body: (Int) -> Result) -> Result {
    while true {
      let outcome = interceptor?(call) ?? .proceeds
      var result: Result = -1
      if case .fails(let number) = outcome {
        // A simulated failure of `close` still closes the file, because the system also closes the descriptor when `close` fails.
        if call == .close { _ = body(count) }
        errno = number
      } else {
        result = body(outcome == .isShort ? min(count, 1) : count)
      }
      // An interrupted `close` is not repeated, because the descriptor is already closed.
      if result != -1 || errno != EINTR || call == .close { return result }
    }
  }
}
