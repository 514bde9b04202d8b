public import Foundation
public import StrataCore

/// The options for opening a store. An open store keeps the options that it was opened with.
public struct StoreOptions: Sendable {
  /// The time in seconds that a transaction waits for a lock of another connection or process before it fails with
  /// ``StoreError/Code/busy``; 5 by default, 0 to fail at once. Ignored for a store in the app's own database, to which the
  /// settings of that database apply.
  public var busyTimeout: TimeInterval = 5
  /// The interval in seconds at which an observed store checks for saves by other processes; 0.25 by default.
  public var pollInterval: TimeInterval = 0.25
  /// Limits on the memory and work of reading a row. They also apply when saving, so that every saved value can be read again.
  /// Exceeding a limit throws `notDecodable` or `notEncodable` with the underlying error `limitExceeded`.
  public var limits = ArchiveLimits()
  /// Whether models are validated when they are read, as with `ArchiveDecoder`. A value that breaks a rule throws
  /// `notDecodable`.
  public var validates = true
  /// Subclasses whose instances may be saved and read in fields declared with a superclass, as with `ArchiveEncoder` and
  /// `ArchiveDecoder`.
  public var subclasses: [any VersionedModel.Type] = []
  /// Whether the store is opened read-only. Saves then throw `readOnly`, and a missing file is not created.
  public var isReadOnly = false
  /// Returns the time to record in new revisions; the current time by default. The times need not increase.
  public var clock: @Sendable () -> Date = { Date() }

  /// The default options.
  public init() {}

  /// The two intervals, limited to the range that SQLite and timers accept.
  var boundedBusyTimeout: TimeInterval { Self.bounded(busyTimeout) }
  var boundedPollInterval: TimeInterval { Self.bounded(pollInterval) }

  private static func bounded(_ time: TimeInterval) -> TimeInterval { time.isNaN ? 0 : min(max(0, time), 1_000_000) }

  var decoder: ArchiveDecoder { ArchiveDecoder(limits: limits, validates: validates, subclasses: subclasses) }
  var encoder: ArchiveEncoder { ArchiveEncoder(limits: limits, subclasses: subclasses) }
}
