internal import Foundation
internal import GRDB
public import StrataCore

extension SnapshotStore {
  /// The value of a key now, and again after each change of it by this program or another process.
  ///
  ///     for try await issue in store.values(Issue.self, for: "issue/7") { show(issue) }
  ///
  /// A slow reader gets the last state, not each one in between; ``changes(since:)`` returns all. `nil` means that there is
  /// no value. The sequence ends when its task is cancelled. Changes by this program arrive at once, changes by other
  /// processes within ``StoreOptions/pollInterval``.
  ///
  /// - Parameters:
  ///   - type: the type that the values are decoded as.
  ///   - key: the key, which need not exist yet.
  public func values<T: Archivable>(_ type: T.Type = T.self, for key: String) -> StoreValues<T> {
    StoreValues(store: self, key: key)
  }
}

/// The changing states of a key, see ``SnapshotStore/values(_:for:)``.
public struct StoreValues<Value: Archivable>: AsyncSequence {
  public typealias Element = Value?

  let store: SnapshotStore
  let key: String

  public func makeAsyncIterator() -> Iterator { Iterator(store: store, key: key) }

  /// Returns one state after the other.
  public struct Iterator: AsyncIteratorProtocol {
    let store: SnapshotStore
    let key: String
    /// The last revision that was returned; `.some(nil)` if the key had none.
    private var last: Int64??
    /// The number of saves when reading failed.
    private var failed: UInt64?

    init(store: SnapshotStore, key: String) {
      self.store = store
      self.key = key
    }

    /// Waits for the next state; `nil` if the task was cancelled.
    ///
    /// - Throws: ``StoreError``, like reading the value. After an error the next call waits for the next change. If the
    ///   store itself could not be read, it also reads again after ``StoreOptions/pollInterval``.
    public mutating func next() async throws -> Value?? {
      if let seen = failed {
        // An immediate retry would meet the same error.
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
