public import Foundation
public import StrataCore

/// How a store is opened. A change of an option after that does not change the store.
public struct StoreOptions: Sendable {
  /// Seconds that a transaction waits for another connection or process before it fails with
  /// ``StoreError/Code/busy``; 5 unless set, and 0 to fail at once. Inside of a database of the app's own, the settings of that
  /// database decide.
  public var busyTimeout: TimeInterval = 5
  /// Seconds between two looks for what other processes saved, while something is observed; 0.25 unless set.
  public var pollInterval: TimeInterval = 0.25
  /// Limits on the memory and work that reading a row takes, and on the values that can be saved, so that they can be read
  /// again: `limitExceeded` is then the cause of `notDecodable` or `notEncodable`.
  public var limits = ArchiveLimits()
  /// Whether models must keep their rules when they are read, as for `ArchiveDecoder`; else the error is `notDecodable`.
  public var validates = true
  /// Classes whose instances are saved and read where a superclass of theirs is expected, as for `ArchiveEncoder` and `ArchiveDecoder`.
  public var subclasses: [any VersionedModel.Type] = []
  /// Whether the store is opened for reading only: whatever would change it throws `readOnly`, and no file is made.
  public var isReadOnly = false
  /// Tells the time that revisions are stamped with. Nothing depends on its order.
  public var clock: @Sendable () -> Date = { Date() }

  /// The default options.
  public init() {}

  /// The times as SQLite and the clock take them; more is as good as for ever.
  var boundedBusyTimeout: TimeInterval { Self.bounded(busyTimeout) }
  var boundedPollInterval: TimeInterval { Self.bounded(pollInterval) }

  private static func bounded(_ time: TimeInterval) -> TimeInterval { time.isNaN ? 0 : min(max(0, time), 1_000_000) }

  var decoder: ArchiveDecoder { ArchiveDecoder(limits: limits, validates: validates, subclasses: subclasses) }
  var encoder: ArchiveEncoder { ArchiveEncoder(limits: limits, subclasses: subclasses) }
}
