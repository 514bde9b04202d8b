import Foundation

/// A formatter that threads share under a lock. Formatters are objects with state, and expensive to create.
final class SharedFormatter<F: AnyObject>: Sendable {
  private let formatter: Mutex<F>

  init(_ make: () -> sending F) { formatter = Mutex(make()) }

  func callAsFunction<Result: Sendable>(_ use: (F) -> Result) -> Result { formatter.withLock { use($0) } }
}
