internal import Foundation

/// A system call on files. Tests can make individual calls fail.
package enum SystemCall: String, Sendable, CaseIterable {
  case open, read, write, status, truncate, changeOwner, changeMode, synchronize, close, rename, link, unlink, lock,
    list, makeFolder

  package enum Outcome: Sendable, Equatable {
    case proceeds
    /// The call is not made, and fails with an error number.
    case fails(Int32)
    /// Only the first of several bytes is read or written.
    case isShort
  }

  /// Returns the outcome of each call in the task; `nil` if every call is made.
  @TaskLocal package static var interceptor: (@Sendable (SystemCall) -> Outcome)?

  /// Makes a call, and repeats it if a signal interrupted it.
  ///
  /// - Returns: the system's result; −1 if the call failed, with the reason in `errno`.
  static func perform<Result: SignedInteger>(_ call: SystemCall, _ body: () -> Result) -> Result {
    perform(call, count: 1) { _ in body() }
  }

  /// Makes a call that returns a pointer, and repeats it if a signal interrupted it.
  ///
  /// - Returns: the system's result. `nil` means a failure with the reason in `errno`, or the end with 0 in `errno`.
  package static func perform<Pointer>(_ call: SystemCall, pointer body: () -> Pointer?) -> Pointer? {
    while true {
      errno = 0
      if case .fails(let number)? = interceptor?(call) { errno = number } else if let result = body() { return result }
      if errno != EINTR { return nil }
    }
  }

  /// Makes a call that transfers at most a number of bytes, and repeats it if a signal interrupted it.
  static func perform<Result: SignedInteger>(_ call: SystemCall, count: Int, _ body: (Int) -> Result) -> Result {
    while true {
      let outcome = interceptor?(call) ?? .proceeds
      var result: Result = -1
      if case .fails(let number) = outcome {
        // A close that fails has still closed the descriptor.
        if call == .close { _ = body(count) }
        errno = number
      } else {
        result = body(outcome == .isShort ? min(count, 1) : count)
      }
      // An interrupted close must not be repeated: the descriptor is closed already.
      if result != -1 || errno != EINTR || call == .close { return result }
    }
  }
}
