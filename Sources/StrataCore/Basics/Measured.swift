#if Logging
  internal import Logging
#endif
#if Signposts && canImport(os)
  internal import os
#endif

/// Work that a caller waits for, for those who measure: the traits `Logging` and `Signposts` tell of it. Without them it is done,
/// and nothing else.
///
/// What is told are names of types, sizes, durations and codes of errors, and never values.
package enum Measured {
  /// Does `body`.
  ///
  /// - Parameters:
  ///   - name: what is done: `decode`.
  ///   - type: the registered name of the type.
  ///   - bytes: how many bytes went in or came out.
  @inline(__always)
  package static func work<R>(
    _ name: StaticString, _ type: @autoclosure () -> String, bytes: (R) -> Int? = { _ in nil }, _ body: () throws -> R
  ) rethrows -> R {
    #if Logging
      return try logged(name, type(), bytes) { try signposted(name, body) }
    #else
      return try signposted(name, body)
    #endif
  }

  @inline(__always)
  private static func signposted<R>(_ name: StaticString, _ body: () throws -> R) rethrows -> R {
    #if Signposts && canImport(os)
      return try signposter.withIntervalSignpost(name, around: body)
    #else
      return try body()
    #endif
  }

  #if Signposts && canImport(os)
    private static let signposter = OSSignposter(subsystem: "strata", category: "work")
  #endif

  #if Logging
    /// Does `body`, and logs at the level `debug` how long it took and how it ended: whoever catches the error knows whether it is
    /// worth more.
    private static func logged<R>(
      _ name: StaticString, _ type: @autoclosure () -> String, _ bytes: (R) -> Int?, _ body: () throws -> R
    ) rethrows -> R {
      // Made each time: one that is made before the program has said where logs go would never go there.
      let logger = Logger(label: "strata")
      guard logger.logLevel <= .debug else { return try body() }
      let start = ContinuousClock.now
      func log(_ key: String, _ value: String?) {
        var metadata: Logger.Metadata = [
          "type": "\(type())", "microseconds": "\((ContinuousClock.now - start) / .microseconds(1))",
        ]
        metadata[key] = value.map { "\($0)" }
        logger.debug("\(name)", metadata: metadata)
      }
      do {
        let result = try body()
        log("bytes", bytes(result).map { "\($0)" })
        return result
      } catch {
        log("error", (error as? ArchiveError)?.code.rawValue ?? "\(Swift.type(of: error))")
        throw error
      }
    }
  #endif

  /// Logs lines about older data at the level `notice`. Each line is logged once in a program, and only by debug builds.
  ///
  /// - Parameter lines: names of types and keys, and no values.
  @inline(__always)
  static func note(_ lines: @autoclosure () -> [String]) {
    #if Logging && DEBUG
      let lines = lines()
      guard !lines.isEmpty else { return }
      // Data may name any number of keys, so the set is bounded.
      let new = noted.withLock { noted in lines.filter { noted.count < 1000 && noted.insert($0).inserted } }
      for line in new { Logger(label: "strata").notice("\(line)") }
    #endif
  }

  #if Logging && DEBUG
    private static let noted = Mutex<Set<String>>([])
  #endif
}
