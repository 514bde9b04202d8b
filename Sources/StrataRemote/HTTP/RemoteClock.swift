public import Foundation

/// The source of the current time and of random numbers, which determine retry delays and the age of cached responses.
/// Tests can replace the clock.
public struct RemoteClock: Sendable {
  /// Returns the current time.
  public var now: @Sendable () -> Date
  /// Waits for the given duration. Throws `CancellationError` if the task is cancelled while it waits.
  public var sleep: @Sendable (Duration) async throws -> Void
  /// Returns a random number from 0 up to, but not including, 1.
  public var random: @Sendable () -> Double

  /// Creates a clock from the given closures, for tests.
  public init(
    now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (Duration) async throws -> Void,
    random: @escaping @Sendable () -> Double
  ) {
    self.now = now
    self.sleep = sleep
    self.random = random
  }

  /// The system clock and random number generator.
  public static let system = RemoteClock(
    now: { Date.now }, sleep: { try await Task.sleep(for: $0) }, random: { Double.random(in: 0..<1) })
}
