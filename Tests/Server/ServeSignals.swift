internal import Dispatch

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Tells of the first SIGINT or SIGTERM instead of being ended by it; the next one ends the process.
final class ServeSignals {
  private static let signals = [SIGINT, SIGTERM]
  private let sources: [any DispatchSourceSignal]

  init(_ heard: @escaping @Sendable () -> Void) {
    sources = Self.signals.map { number in
      // A source hears of a signal as well as what the process does with it, which would be to end.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        Self.restore()
        heard()
      }
      source.activate()
      return source
    }
  }

  deinit {
    for source in sources { source.cancel() }
    Self.restore()
  }

  private static func restore() {
    for number in signals { signal(number, SIG_DFL) }
  }
}
