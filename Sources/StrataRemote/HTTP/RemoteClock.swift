public import Foundation

/// Time and chance, as retries and the age of copies need them. A test injects its own.
public struct RemoteClock: Sendable {
  /// The time of day.
  public var now: @Sendable () -> Date
  /// Waits; throws `CancellationError` where the task is cancelled meanwhile.
  public var sleep: @Sendable (Duration) async throws -> Void
  /// A number from 0 up to 1, without 1.
  public var random: @Sendable () -> Double

  /// A clock of these three, for tests.
  public init(
    now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (Duration) async throws -> Void,
    random: @escaping @Sendable () -> Double
  ) {
    self.now = now
    self.sleep = sleep
    self.random = random
  }

  /// The system's.
  public static let system = RemoteClock(
    now: { Date.now }, sleep: { try await Task.sleep(for: $0) }, random: { Double.random(in: 0..<1) })
}
