internal import Foundation
internal import GRDB
public import StrataCore

/// A value with the revision that holds it.
public struct StoreEntry<Value> {
  /// The metadata of the save.
  public let revision: StoreRevision
  /// The value, upgraded to the current version.
  public let value: Value

  /// The key.
  public var key: String { revision.key }
}

extension StoreEntry: Sendable where Value: Sendable {}

extension SnapshotStore {
  /// The current values of a type, in the order of the keys' bytes, in bounded memory.
  ///
  ///     for try await entry in store.entries(Issue.self, prefix: "issue/") { print(entry.key, entry.value.title) }
  ///
  /// The values are read page by page. Saves made meanwhile under later keys are included, and no read keeps the journal
  /// from being shortened for longer than a page takes. ``StoreTransaction/forEach(_:prefix:_:)`` reads one snapshot of the store.
  ///
  /// - Parameters:
  ///   - type: the type; values of other types are skipped.
  ///   - prefix: the prefix of the keys; all keys if it is empty.
  ///   - last: the key after which to begin.
  public func entries<T: Archivable>(
    _ type: T.Type = T.self, prefix: String = "", after last: String? = nil
  ) -> StoreEntries<T> {
    StoreEntries(store: self, prefix: prefix, after: last)
  }
}

/// The current values of a type, see ``SnapshotStore/entries(_:prefix:after:)``.
public struct StoreEntries<Value: Archivable>: AsyncSequence, Sendable {
  public typealias Element = StoreEntry<Value>

  let store: SnapshotStore
  let prefix: String
  let after: String?

  public func makeAsyncIterator() -> Iterator {
    Iterator(store: store, prefix: prefix, last: after.map { Data($0.utf8) })
  }

  /// Reads one value after the other.
  public struct Iterator: AsyncIteratorProtocol {
    let store: SnapshotStore
    let prefix: String
    var last: Data?
    private var page: [StoreTransaction.PageEntry] = []
    private var isFinished = false

    init(store: SnapshotStore, prefix: String, last: Data?) {
      self.store = store
      self.prefix = prefix
      self.last = last
    }

    /// The next value, or `nil` at the end.
    ///
    /// - Throws: ``StoreError``, whose ``StoreError/key`` could not be read. The next call continues after that key.
    public mutating func next() async throws -> StoreEntry<Value>? {
      while true {
        while let entry = page.popLast() {
          let (revision, content) = try entry.result.get()
          guard let content, Value.isStored(as: revision.typeName) else { continue }
          return StoreEntry(revision: revision, value: try content.decode(Value.self, store.options))
        }
        if isFinished { return nil }
        do {
          let found = try await store.read { [prefix, last] in try $0.page(prefix: prefix, after: last) }
          isFinished = found.isEmpty
          last = found.last?.key.bytes ?? last
          page = found.reversed()
        } catch { throw StoreError.ofDatabase(error) }
      }
    }
  }
}

extension StoreTransaction {
  /// A key with its revision and content, or the error of reading them.
  typealias PageEntry = (key: StoredKey, result: Result<(StoreRevision, StoredContent?), any Error>)

  /// The number of values that are read at once.
  private static var page: Int { 128 }

  /// Calls `body` with the current values of a type, in the order of the keys' bytes, from one snapshot.
  ///
  /// - Throws: the errors of `body`, and ``StoreError``.
  /// - Complexity: memory holds 128 rows at a time.
  public func forEach<T: Archivable>(
    _ type: T.Type = T.self, prefix: String = "", _ body: (StoreEntry<T>) throws -> Void
  ) throws {
    var last: Data?
    while true {
      let found = try page(prefix: prefix, after: last)
      guard let final = found.last else { return }
      for entry in found {
        let (revision, content) = try entry.result.get()
        guard let content, T.isStored(as: revision.typeName) else { continue }
        try body(StoreEntry(revision: revision, value: try content.decode(T.self, store.options)))
      }
      last = final.key.bytes
    }
  }

  func page(prefix: String, after last: Data?) throws -> [PageEntry] {
    try rows(prefix: prefix, after: last, limit: Self.page, deleted: false).map { key, row in
      (
        key,
        try result {
          let row = try row.get()
          return (try described(row, key.name), try keyed(row, key.name))
        }.mapError { StoreError.ofRow($0, key: key.name, revision: nil) }
      )
    }
  }
}
