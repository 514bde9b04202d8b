internal import Dispatch

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Reports the first SIGINT or SIGTERM instead of exiting. The next one ends the process.
final class ServeSignals {
  private static let signals = [SIGINT, SIGTERM]
  private let sources: [any DispatchSourceSignal]

  init(_ heard: @escaping @Sendable () -> Void) {
    sources = Self.signals.map { number in
      // A dispatch source does not replace the default action, which would end the process.
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
