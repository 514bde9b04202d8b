internal import Foundation
internal import GRDB

extension SnapshotStore {
  /// Returns a sequence of the revisions that this program or other processes save from now on, or that were saved after a
  /// given ``StoreRevision/sequence``.
  ///
  ///     for try await revision in store.changes() { print(revision.key, revision.number) }
  ///
  /// Each revision is returned exactly once, in the order of the saves, even to a slow reader. Saves by this program are
  /// returned immediately, and saves by other processes within ``StoreOptions/pollInterval``. The sequence ends when the task
  /// that iterates over it is cancelled.
  ///
  /// - Parameter sequence: the ``StoreRevision/sequence`` after which to begin. The default is the sequence of the store's last
  ///   revision. To receive every revision that has not been pruned, remember the sequence of the last revision that was
  ///   processed, and pass it to the next call.
  public func changes(since sequence: Int64? = nil) -> StoreChanges {
    // If the last sequence cannot be read, the first call of `next()` throws the error. Otherwise, saves would be skipped
    // silently.
    let last = Result { try sequence ?? writer.unsafeReentrantRead { try lastSequence(in: $0) } }
    return StoreChanges(store: self, since: last)
  }
}

/// A sequence of the revisions that are saved to a store. It is created by ``SnapshotStore/changes(since:)``.
public struct StoreChanges: AsyncSequence, Sendable {
  public typealias Element = StoreRevision

  let store: SnapshotStore
  let since: Result<Int64, any Error>

  public func makeAsyncIterator() -> Iterator { Iterator(store: store, last: since) }

  /// An iterator that waits for revisions to be saved.
  public struct Iterator: AsyncIteratorProtocol {
    /// The maximum number of revisions that are read in one transaction.
    private static let page = 256

    let store: SnapshotStore
    /// The ``StoreRevision/sequence`` after which to continue, or the error that occurred while reading the store's last
    /// sequence. `nil` to continue with the next save.
    var last: Result<Int64, any Error>?
    private var read: [(id: Int64, revision: Result<StoreRevision, any Error>)] = []
    /// The value of ``StoreSignal/saves`` before the last read of the store, if this read failed. Otherwise `nil`. After a failed
    /// read, the next call waits until `saves` changes or the poll interval has elapsed.
    private var failed: UInt64?

    init(store: SnapshotStore, last: Result<Int64, any Error>) {
      self.store = store
      self.last = last
    }

    /// Waits for the next revision and returns it. Returns `nil` if the task was cancelled.
    ///
    /// If a revision is damaged, the next call continues with the following revision. If the database fails, the next call waits
    /// for at most ``StoreOptions/pollInterval`` and tries again. If `changes(since:)` could not read the store's last sequence,
    /// the first call throws the error, and the second call begins with the next save.
    ///
    /// - Throws: ``StoreError`` with the code `damaged` for a revision that cannot be read, or `notFound` if the store has not
    ///   reached the sequence after which to begin, for example because the store is an older copy. Errors of the database are
    ///   also thrown.
    public mutating func next() async throws -> StoreRevision? {
      if let seen = failed {
        // Waits before retrying, because an immediate retry would probably fail with the same error.
        await store.signal.wait(after: seen, atMost: store.options.boundedPollInterval)
        failed = nil
      }
      while read.isEmpty {
        if Task.isCancelled { return nil }
        let seen = store.signal.saves
        do {
          let last = try last?.get()
          let (found, newest) = try await store.read { [store] transaction in
            let newest = try store.lastSequence(in: transaction.db)
            guard let last, newest != last else {
              return ([(id: Int64, revision: Result<StoreRevision, any Error>)](), newest)
            }
            guard newest > last else {
              throw StoreError(
                .notFound,
                "changes after sequence \(last) were requested, but the store ends at sequence \(newest), so "
                  + "it may be a different store or an older copy; read the whole store again, and continue from "
                  + "its last sequence")
            }
            return (try transaction.rows(since: last, limit: Self.page), newest)
          }
          // If this is not a full page, continues after `newest` instead of after the last revision found, because the revisions
          // between them may have been pruned.
          self.last = .success(found.count == Self.page ? found.last?.id ?? newest : newest)
          read = found.reversed()
        } catch is CancellationError { return nil } catch {
          if case .failure? = last { last = nil }
          failed = seen
          throw StoreError.ofDatabase(error)
        }
        if read.isEmpty { await store.signal.wait(after: seen, atMost: store.options.boundedPollInterval) }
      }
      return try read.popLast()?.revision.get()
    }
  }
}
