#if Logging
  internal import Logging
#endif
#if Metrics
  internal import Metrics
#endif
#if Signposts && canImport(os)
  internal import os
#endif

/// Measures the duration of work if the package is built with the `Logging`, `Metrics` or `Signposts` trait. Without these traits, the work
/// runs unmeasured.
///
/// The measurements contain type names, sizes, durations and error codes, but never values.
package enum Measured {
  /// Runs `body` and reports its duration and outcome.
  ///
  /// - Parameters:
  ///   - name: the name of the work, such as `decode`.
  ///   - type: the registered name of the type.
  ///   - bytes: the number of bytes that were read or written.
  @inline(__always)
  package static func work<R>(
    _ name: StaticString, _ type: @autoclosure () -> String, bytes: (R) -> Int? = { _ in nil }, _ body: () throws -> R
  ) rethrows -> R {
    #if Logging
      return try logged(name, type(), bytes) { try metered(name, type(), bytes, body) }
    #else
      return try metered(name, type(), bytes, body)
    #endif
  }

  /// Runs `body` and records metrics: its duration and size if it succeeds, or the code of its error if it throws.
  @inline(__always)
  private static func metered<R>(
    _ name: StaticString, _ type: @autoclosure () -> String, _ bytes: (R) -> Int?, _ body: () throws -> R
  ) rethrows -> R {
    #if Metrics
      let start = ContinuousClock.now
      let dimensions = [("work", "\(name)"), ("type", type())]
      do {
        let result = try signposted(name, body)
        let duration = (ContinuousClock.now - start) / .nanoseconds(1)
        Metrics.Timer(label: "strata_duration", dimensions: dimensions).recordNanoseconds(Int64(duration))
        if let bytes = bytes(result) { Recorder(label: "strata_bytes", dimensions: dimensions).record(bytes) }
        return result
      } catch {
        let code = (error as? ArchiveError)?.code.rawValue ?? "\(Swift.type(of: error))"
        Counter(label: "strata_errors", dimensions: dimensions + [("code", code)]).increment()
        throw error
      }
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
    /// Runs `body` and logs its duration and outcome at the `debug` level. Errors are not logged at a higher level, because the code that
    /// catches an error decides how severe it is.
    private static func logged<R>(
      _ name: StaticString, _ type: @autoclosure () -> String, _ bytes: (R) -> Int?, _ body: () throws -> R
    ) rethrows -> R {
      // A new logger is created each time, because a logger created before the program configures logging would ignore the configuration.
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

  /// Logs messages about data from older versions at the `notice` level. Each message is logged once per process, and only in debug builds.
  ///
  /// - Parameter lines: the messages, which may contain type names and keys, but no values.
  @inline(__always)
  static func note(_ lines: @autoclosure () -> [String]) {
    #if Logging && DEBUG
      let lines = lines()
      guard !lines.isEmpty else { return }
      // The number of logged messages is limited, because data can contain any number of keys.
      let new = noted.withLock { noted in lines.filter { noted.count < 1000 && noted.insert($0).inserted } }
      for line in new { Logger(label: "strata").notice("\(line)") }
    #endif
  }

  #if Logging && DEBUG
    private static let noted = Mutex<Set<String>>([])
  #endif
}
