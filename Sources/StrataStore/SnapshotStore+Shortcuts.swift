public import Foundation
internal import GRDB
public import StrataCore

// Each of these methods runs in its own transaction. To combine several calls in one transaction, use `write` or `read`.
extension SnapshotStore {
  /// Saves a value under a key, as a new revision. When this method returns, the revision has been written to disk.
  ///
  /// - Throws: the same errors as ``StoreTransaction/save(_:as:author:note:if:overNewer:)``.
  @discardableResult
  public func save<T: Archivable & Sendable>(
    _ value: T, as key: String, author: String? = nil, note: String? = nil, if condition: SaveCondition = .always,
    overNewer: Bool = false
  ) async throws -> StoreRevision {
    try await write {
      try $0.save(value, as: key, author: author, note: note, if: condition, overNewer: overNewer)
    }
  }

  /// Returns the value of a key, or `nil` if the key has no value. A value that was saved by an older version of its type is
  /// upgraded in memory.
  ///
  /// - Throws: the same errors as `StoreTransaction.value(_:for:at:)`.
  public func value<T: Archivable>(
    _ type: T.Type = T.self, for key: String, at point: StorePoint = .latest
  ) async throws -> T? {
    try await read { try $0.content(for: key, at: point) }?.decode(T.self, options)
  }

  /// Returns the value of a key as an archive, in the format of `ArchiveEncoder`.
  ///
  /// - Throws: the same errors as ``StoreTransaction/archive(of:at:compression:)``.
  public func archive(
    of key: String, at point: StorePoint = .latest, compression: CompressionLevel = .balanced
  ) async throws -> Data {
    guard let content = try await read({ try $0.content(for: key, at: point) }) else {
      throw StoreError.notFound("the key has no value to export", key: key)
    }
    return try content.archive(options, compression)
  }

  /// Returns all revisions of a key, oldest first. Empty if the key does not exist.
  ///
  /// - Throws: the same errors as ``StoreTransaction/history(of:)``.
  public func history(of key: String) async throws -> [StoreRevision] { try await read { try $0.history(of: key) } }

  /// Returns the differences between two revisions of a key, by key path.
  ///
  /// - Throws: the same errors as ``StoreTransaction/difference(of:from:to:elementsBy:)``.
  public func difference(
    of key: String, from old: StorePoint, to new: StorePoint = .latest, elementsBy elements: IdentityKey = "id"
  ) async throws -> ValueDifference {
    try await read { try $0.difference(of: key, from: old, to: new, elementsBy: elements) }
  }

  /// Returns the differences between two revisions of a key, after upgrading both revisions to the current version of their
  /// type.
  ///
  /// - Throws: the same errors as ``StoreTransaction/difference(of:as:from:to:elementsBy:)``.
  public func difference<T: Archivable & SendableMetatype>(
    of key: String, as type: T.Type, from old: StorePoint, to new: StorePoint = .latest,
    elementsBy elements: IdentityKey = "id"
  ) async throws -> ValueDifference {
    try await read { try $0.difference(of: key, as: type, from: old, to: new, elementsBy: elements) }
  }

  /// Restores an earlier state of a key by saving it as a new revision.
  ///
  /// - Throws: the same errors as ``StoreTransaction/restore(_:to:author:note:)``.
  @discardableResult
  public func restore(
    _ key: String, to point: StorePoint, author: String? = nil, note: String? = nil
  ) async throws -> StoreRevision {
    try await write { try $0.restore(key, to: point, author: author, note: note) }
  }

  /// Undoes the last change of a key by saving the previous state as a new revision.
  ///
  /// - Throws: the same errors as ``StoreTransaction/undo(_:author:note:)``.
  @discardableResult
  public func undo(_ key: String, author: String? = nil, note: String? = nil) async throws -> StoreRevision {
    try await write { try $0.undo(key, author: author, note: note) }
  }

  /// Redoes the last undone change of a key by saving the undone state as a new revision.
  ///
  /// - Throws: the same errors as ``StoreTransaction/redo(_:author:note:)``.
  @discardableResult
  public func redo(_ key: String, author: String? = nil, note: String? = nil) async throws -> StoreRevision {
    try await write { try $0.redo(key, author: author, note: note) }
  }

  /// Deletes the value of a key by adding a revision without a value.
  ///
  /// - Throws: the same errors as ``StoreTransaction/delete(_:author:note:if:)``.
  @discardableResult
  public func delete(
    _ key: String, author: String? = nil, note: String? = nil, if condition: SaveCondition = .always
  ) async throws -> StoreRevision {
    try await write { try $0.delete(key, author: author, note: note, if: condition) }
  }
}
