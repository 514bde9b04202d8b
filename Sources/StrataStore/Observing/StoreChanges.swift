internal import Foundation
internal import GRDB

extension SnapshotStore {
  /// The revisions that are saved from now on, by this program or another process.
  ///
  ///     for try await revision in store.changes() { print(revision.key, revision.number) }
  ///
  /// Each revision is returned once, in the order of the saves, however slowly the sequence is read. Saves by this
  /// program arrive at once, saves by other processes within ``StoreOptions/pollInterval``. The sequence ends when its task is cancelled.
  ///
  /// - Parameter sequence: the ``StoreRevision/sequence`` after which to begin; by default the current last one. A program that
  ///   remembers the last one that it processed misses no revisions, except pruned ones.
  public func changes(since sequence: Int64? = nil) -> StoreChanges {
    // The first call of `next()` throws the error. Saves from now on would otherwise be skipped silently.
    let last = Result { try sequence ?? writer.unsafeReentrantRead { try lastSequence(in: $0) } }
    return StoreChanges(store: self, since: last)
  }
}

/// The revisions that are saved to a store, see ``SnapshotStore/changes(since:)``.
public struct StoreChanges: AsyncSequence, Sendable {
  public typealias Element = StoreRevision

  let store: SnapshotStore
  let since: Result<Int64, any Error>

  public func makeAsyncIterator() -> Iterator { Iterator(store: store, last: since) }

  /// Returns one revision after the other.
  public struct Iterator: AsyncIteratorProtocol {
    /// The number of revisions that are read at once.
    private static let page = 256

    let store: SnapshotStore
    /// The sequence of the last revision that was read, or the error of reading it.
    var last: Result<Int64, any Error>?
    private var read: [(id: Int64, revision: Result<StoreRevision, any Error>)] = []
    /// The number of saves when reading failed.
    private var failed: UInt64?

    init(store: SnapshotStore, last: Result<Int64, any Error>) {
      self.store = store
      self.last = last
    }

    /// Waits for the next revision; `nil` if the task was cancelled.
    ///
    /// - Throws: ``StoreError`` with the code `damaged` for a revision that cannot be read, after which the next call continues
    ///   with the one after it; `notFound` if the store has not given the sequence after which to begin, for example because it is
    ///   an older copy; errors of the database, after which the next call waits for at most ``StoreOptions/pollInterval`` and reads
    ///   again. If the last sequence could not be read when the sequence was made, the call after the error begins with the next save.
    public mutating func next() async throws -> StoreRevision? {
      if let seen = failed {
        // An immediate retry would meet the same error.
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
                "there are no changes after revision \(last), because the store ends at revision \(newest); it may be a different "
                  + "store or an older copy: read all of it again, and continue after its last revision")
            }
            return (try transaction.rows(since: last, limit: Self.page), newest)
          }
          // After the last revision read there may be sequences that were pruned, or whose transaction failed.
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
