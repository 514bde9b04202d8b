public import Foundation
public import StrataCore

/// The options for opening a store. Changing an option later does not change an open store.
public struct StoreOptions: Sendable {
  /// The seconds that a transaction waits for another connection or process before it fails with ``StoreError/Code/busy``; 5 by
  /// default, 0 to fail at once. In the app's own database, the settings of that database apply.
  public var busyTimeout: TimeInterval = 5
  /// The seconds between two checks for saves by other processes, while something is observed; 0.25 by default.
  public var pollInterval: TimeInterval = 0.25
  /// Limits on the memory and work of reading a row. They also apply to saved values, so that those can be read again. If
  /// one is exceeded, `limitExceeded` is the cause of `notDecodable` or `notEncodable`.
  public var limits = ArchiveLimits()
  /// Whether models are validated when they are read, as by `ArchiveDecoder`. A broken rule is the error `notDecodable`.
  public var validates = true
  /// Classes whose instances are saved and read where a superclass is expected, as for `ArchiveEncoder` and `ArchiveDecoder`.
  public var subclasses: [any VersionedModel.Type] = []
  /// Whether the store is opened for reading only. Changes throw `readOnly`, and no file is created.
  public var isReadOnly = false
  /// Returns the current time for new revisions. The times need not be in order.
  public var clock: @Sendable () -> Date = { Date() }

  /// The default options.
  public init() {}

  /// The times in the range that SQLite and the clock accept.
  var boundedBusyTimeout: TimeInterval { Self.bounded(busyTimeout) }
  var boundedPollInterval: TimeInterval { Self.bounded(pollInterval) }

  private static func bounded(_ time: TimeInterval) -> TimeInterval { time.isNaN ? 0 : min(max(0, time), 1_000_000) }

  var decoder: ArchiveDecoder { ArchiveDecoder(limits: limits, validates: validates, subclasses: subclasses) }
  var encoder: ArchiveEncoder { ArchiveEncoder(limits: limits, subclasses: subclasses) }
}
