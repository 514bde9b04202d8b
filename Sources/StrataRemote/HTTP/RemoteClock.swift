public import Foundation

/// The source of time and randomness for retries and the age of copies. Tests inject their own.
public struct RemoteClock: Sendable {
  /// The time of day.
  public var now: @Sendable () -> Date
  /// Waits. Throws `CancellationError` if the task is cancelled meanwhile.
  public var sleep: @Sendable (Duration) async throws -> Void
  /// Returns a random number from 0 up to but not including 1.
  public var random: @Sendable () -> Double

  /// Creates a clock from these closures, for tests.
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
