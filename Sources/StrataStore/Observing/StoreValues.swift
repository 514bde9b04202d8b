internal import Foundation
internal import GRDB
public import StrataCore

extension SnapshotStore {
  /// Returns a sequence of the values of a key. It yields the current value, then the new value after each change by this
  /// program or another process.
  ///
  ///     for try await issue in store.values(Issue.self, for: "issue/7") { show(issue) }
  ///
  /// An element is `nil` if the key has no value. A slow reader may skip intermediate values, but always receives the latest
  /// value. To receive all revisions, use ``changes(since:)``. Changes by this program are returned immediately, and changes by
  /// other processes within ``StoreOptions/pollInterval``. The sequence ends when the task that iterates over it is cancelled.
  ///
  /// - Parameters:
  ///   - type: the type that the values are decoded as.
  ///   - key: the key. It need not exist yet.
  public func values<T: Archivable>(_ type: T.Type = T.self, for key: String) -> StoreValues<T> {
    StoreValues(store: self, key: key)
  }
}

/// A sequence of the values of a key. It is created by ``SnapshotStore/values(_:for:)``.
public struct StoreValues<Value: Archivable>: AsyncSequence {
  public typealias Element = Value?

  let store: SnapshotStore
  let key: String

  public func makeAsyncIterator() -> Iterator { Iterator(store: store, key: key) }

  /// An iterator that waits for changes of the value.
  public struct Iterator: AsyncIteratorProtocol {
    let store: SnapshotStore
    let key: String
    /// The identifier of the revision that `next()` read last, or `.some(nil)` if the key did not exist at that time. `nil`
    /// before the first successful read.
    private var last: Int64??
    /// The value of ``StoreSignal/saves`` before the last read of the store, if this read failed. Otherwise `nil`. After a failed
    /// read, the next call waits until `saves` changes or the poll interval has elapsed.
    private var failed: UInt64?

    init(store: SnapshotStore, key: String) {
      self.store = store
      self.key = key
    }

    /// Waits for the next value and returns it. Returns `nil` if the task was cancelled, and `.some(nil)` if the key has no value.
    ///
    /// If the value cannot be decoded, the next call waits for the next change. If the store cannot be read, the next call
    /// waits for at most ``StoreOptions/pollInterval`` and tries again.
    ///
    /// - Throws: ``StoreError`` if the value cannot be read, for example with the code `newerModel`, `damaged` or
    ///   `notDecodable`.
    public mutating func next() async throws -> Value?? {
      if let seen = failed {
        // Waits before retrying, because an immediate retry would probably fail with the same error.
        await store.signal.wait(after: seen, atMost: store.options.boundedPollInterval)
        failed = nil
      }
      while !Task.isCancelled {
        let seen = store.signal.saves
        let found: (row: Int64?, content: StoredContent?)
        do {
          found = try await store.read { [key, last] transaction in
            guard let head = try transaction.head(of: key)?.row else { return (nil, nil) }
            return (head.id, head.id == last ?? nil ? nil : try transaction.keyed(head, key))
          }
        } catch is CancellationError { return nil } catch {
          failed = seen
          throw StoreError.ofDatabase(error)
        }
        if last == nil || found.row != last ?? nil {
          last = .some(found.row)
          return .some(try found.content?.decode(Value.self, store.options))
        }
        await store.signal.wait(after: seen, atMost: store.options.boundedPollInterval)
      }
      return nil
    }
  }
}

extension StoreValues: Sendable {}
