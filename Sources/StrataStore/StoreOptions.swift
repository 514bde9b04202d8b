public import Foundation
public import StrataCore

/// The options for opening a store. They cannot be changed while the store is open.
public struct StoreOptions: Sendable {
  /// The time in seconds that a transaction waits for a lock held by another connection or process. After this time, the transaction
  /// fails with ``StoreError/Code/busy``. The default is 5, and 0 means to fail at once. A store in the app's own database ignores this
  /// option and uses the settings of that database.
  public var busyTimeout: TimeInterval = 5
  /// The interval in seconds at which ``SnapshotStore/changes(since:)`` and ``SnapshotStore/values(_:for:)`` check for saves by
  /// other processes. The default is 0.25.
  public var pollInterval: TimeInterval = 0.25
  /// Limits on the memory and the work needed to read a row. They also apply to saves, so that every saved value can be read again.
  /// Exceeding a limit throws `notDecodable` or `notEncodable` with the underlying error `limitExceeded`.
  public var limits = ArchiveLimits()
  /// Whether models are validated on reading, as with `ArchiveDecoder`. A value that breaks a rule throws `notDecodable`.
  public var validates = true
  /// Subclasses whose instances may be saved and read in fields that are declared with a superclass, as with `ArchiveEncoder`
  /// and `ArchiveDecoder`.
  public var subclasses: [any VersionedModel.Type] = []
  /// Whether the store is opened read-only. If so, saves throw `readOnly`, and a missing file is not created.
  public var isReadOnly = false
  /// A closure that returns the time to record in new revisions. The default is the current time. The times need not increase.
  public var clock: @Sendable () -> Date = { Date() }

  /// The default options.
  public init() {}

  /// The busy timeout and the poll interval, limited to the range that SQLite and timers accept.
  var boundedBusyTimeout: TimeInterval { Self.bounded(busyTimeout) }
  var boundedPollInterval: TimeInterval { Self.bounded(pollInterval) }

  private static func bounded(_ time: TimeInterval) -> TimeInterval { time.isNaN ? 0 : min(max(0, time), 1_000_000) }

  var decoder: ArchiveDecoder { ArchiveDecoder(limits: limits, validates: validates, subclasses: subclasses) }
  var encoder: ArchiveEncoder { ArchiveEncoder(limits: limits, subclasses: subclasses) }
}
