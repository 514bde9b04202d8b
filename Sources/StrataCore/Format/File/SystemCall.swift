#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// A call to the operating system by which files are read and written. Tests make single ones fail.
package enum SystemCall: String, Sendable, CaseIterable {
  case open, read, write, status, truncate, changeOwner, changeMode, synchronize, close, rename, link, unlink, lock,
    list, makeFolder

  /// What becomes of a call.
  package enum Outcome: Sendable, Equatable {
    case proceeds
    /// The call is not made, and fails with an error number.
    case fails(Int32)
    /// Of the bytes that were to be read or written only the first one is.
    case isShort
  }

  /// Decides what becomes of each call of the task; `nil` where every one is made.
  @TaskLocal package static var interceptor: (@Sendable (SystemCall) -> Outcome)?

  /// Makes a call, again where a signal interrupted it.
  ///
  /// - Returns: what the system returned; −1 where the call failed, with the reason in `errno`.
  static func make<Result: SignedInteger>(_ call: SystemCall, _ body: () -> Result) -> Result {
    while true {
      let result: Result
      if case .fails(let number)? = interceptor?(call) {
        // A close that fails has closed all the same.
        if call == .close { _ = body() }
        errno = number
        result = -1
      } else {
        result = body()
      }
      // An interrupted close must not be repeated: the descriptor is gone already.
      if result != -1 || errno != EINTR || call == .close { return result }
    }
  }

  /// Makes a call that returns a pointer, again where a signal interrupted it.
  ///
  /// - Returns: what the system returned; `nil` where the call failed, with the reason in `errno`, or where there is no more,
  ///   with 0 in it.
  package static func make<Pointer>(_ call: SystemCall, pointer body: () -> Pointer?) -> Pointer? {
    while true {
      errno = 0
      if case .fails(let number)? = interceptor?(call) { errno = number } else if let result = body() { return result }
      if errno != EINTR { return nil }
    }
  }

  /// Makes a call that moves no more than a number of bytes.
  static func make(_ call: SystemCall, count: Int, _ body: (Int) -> Int) -> Int {
    while true {
      let result: Int
      switch interceptor?(call) ?? .proceeds {
      case .fails(let number):
        errno = number
        result = -1
      case .isShort: result = body(min(count, 1))
      case .proceeds: result = body(count)
      }
      if result != -1 || errno != EINTR { return result }
    }
  }
}
