internal import Foundation
internal import GRDB
public import StrataCore

/// A value with the revision from which it was read.
public struct StoreEntry<Value> {
  /// The metadata of the revision.
  public let revision: StoreRevision
  /// The value, upgraded to the current version of its type.
  public let value: Value

  /// The key of the revision.
  public var key: String { revision.key }
}

extension StoreEntry: Sendable where Value: Sendable {}

extension SnapshotStore {
  /// Returns a sequence of the current values of a type, sorted by the bytes of their keys. The iteration keeps only one page of
  /// values in memory.
  ///
  ///     for try await entry in store.entries(Issue.self, prefix: "issue/") { print(entry.key, entry.value.title) }
  ///
  /// Each page of values is read in its own transaction. The sequence therefore includes concurrent saves under keys that the
  /// iteration has not reached yet. The truncation of the write-ahead log is delayed only while a page is read. To iterate over
  /// one snapshot of the store, use ``StoreTransaction/forEach(_:prefix:_:)``.
  ///
  /// - Parameters:
  ///   - type: the type of the values. Values of other types are skipped.
  ///   - prefix: the prefix of the keys. If it is empty, all keys are included.
  ///   - last: the key after which to begin, or `nil` to begin at the first key.
  public func entries<T: Archivable>(
    _ type: T.Type = T.self, prefix: String = "", after last: String? = nil
  ) -> StoreEntries<T> {
    StoreEntries(store: self, prefix: prefix, after: last)
  }
}

/// A sequence of the current values of a type. It is created by ``SnapshotStore/entries(_:prefix:after:)``.
public struct StoreEntries<Value: Archivable>: AsyncSequence, Sendable {
  public typealias Element = StoreEntry<Value>

  let store: SnapshotStore
  let prefix: String
  let after: String?

  public func makeAsyncIterator() -> Iterator {
    Iterator(store: store, prefix: prefix, last: after.map { Data($0.utf8) })
  }

  /// An iterator that reads the values page by page.
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

    /// Returns the next value, or `nil` at the end.
    ///
    /// - Throws: ``StoreError`` if a value cannot be read. Its ``StoreError/key`` is the key of this value, and the next call
    ///   continues after this key.
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
  /// A key with its revision and content, or with the error that occurred while reading them.
  typealias PageEntry = (key: StoredKey, result: Result<(StoreRevision, StoredContent?), any Error>)

  /// The maximum number of keys in a page.
  private static var page: Int { 128 }

  /// Calls `body` with each current value of a type, sorted by the bytes of the keys. All values come from one snapshot of the
  /// store.
  ///
  /// - Throws: any error that `body` throws, or ``StoreError`` if a value cannot be read.
  /// - Complexity: linear in the number of keys. At most 128 rows are in memory at a time.
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
