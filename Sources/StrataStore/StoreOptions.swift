public import Foundation
public import StrataCore

/// How a store is opened.
public struct StoreOptions: Sendable {
  /// Seconds that a transaction waits for another connection or process before it fails with
  /// ``StoreError/Code/busy``; 5 unless set.
  public var busyTimeout: TimeInterval = 5
  /// Seconds between two looks for what other processes saved, while something is observed; 0.25 unless set.
  public var pollInterval: TimeInterval = 0.25
  /// What a row may claim, and what a value that is saved may hold.
  public var limits = ArchiveLimits()
  /// Whether models must keep their rules when they are read, as for `ArchiveDecoder`.
  public var validates = true
  /// Classes that may stand where one that they inherit from is expected, as for `ArchiveDecoder`.
  public var subclasses: [any VersionedModel.Type] = []
  /// Whether the store is only read.
  public var isReadOnly = false
  /// Tells the time that revisions are stamped with. Nothing depends on its order.
  public var clock: @Sendable () -> Date = { Date() }

  /// The default options.
  public init() {}

  var decoder: ArchiveDecoder { ArchiveDecoder(limits: limits, validates: validates, subclasses: subclasses) }
  var encoder: ArchiveEncoder { ArchiveEncoder(limits: limits) }
}
