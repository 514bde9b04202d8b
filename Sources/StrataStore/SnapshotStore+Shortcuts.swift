public import Foundation
internal import GRDB
public import StrataCore

// Each of these is one transaction. Use `write` or `read` to combine several.
extension SnapshotStore {
  /// Saves a value under a key, as a new revision. It is on the disk when this returns.
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

  /// The value of a key, upgraded in memory if an older version saved it; `nil` if there is none.
  ///
  /// - Throws: the same errors as `StoreTransaction.value(_:for:at:)`.
  public func value<T: Archivable>(
    _ type: T.Type = T.self, for key: String, at point: StorePoint = .latest
  ) async throws -> T? {
    try await read { try $0.content(for: key, at: point) }?.decode(T.self, options)
  }

  /// The archive of a value, as `ArchiveEncoder` encodes it.
  ///
  /// - Throws: the same errors as ``StoreTransaction/archive(of:at:compression:)``.
  public func archive(
    of key: String, at point: StorePoint = .latest, compression: CompressionLevel = .balanced
  ) async throws -> Data {
    guard let content = try await read({ try $0.content(for: key, at: point) }) else {
      throw StoreError.notFound("value to export", key: key)
    }
    return try content.archive(options, compression)
  }

  /// All revisions of a key, the first one first; empty if there is no such key.
  ///
  /// - Throws: the same errors as ``StoreTransaction/history(of:)``.
  public func history(of key: String) async throws -> [StoreRevision] { try await read { try $0.history(of: key) } }

  /// The difference between two revisions of a key, by key path.
  ///
  /// - Throws: the same errors as ``StoreTransaction/difference(of:from:to:elementsBy:)``.
  public func difference(
    of key: String, from old: StorePoint, to new: StorePoint = .latest, elementsBy elements: IdentityKey = "id"
  ) async throws -> ValueDifference {
    try await read { try $0.difference(of: key, from: old, to: new, elementsBy: elements) }
  }

  /// The difference between two revisions of a key, both upgraded to the current version of their type.
  ///
  /// - Throws: the same errors as ``StoreTransaction/difference(of:as:from:to:elementsBy:)``.
  public func difference<T: Archivable & SendableMetatype>(
    of key: String, as type: T.Type, from old: StorePoint, to new: StorePoint = .latest,
    elementsBy elements: IdentityKey = "id"
  ) async throws -> ValueDifference {
    try await read { try $0.difference(of: key, as: type, from: old, to: new, elementsBy: elements) }
  }

  /// Saves an earlier state again, as a new revision.
  ///
  /// - Throws: the same errors as ``StoreTransaction/restore(_:to:author:note:)``.
  @discardableResult
  public func restore(
    _ key: String, to point: StorePoint, author: String? = nil, note: String? = nil
  ) async throws -> StoreRevision {
    try await write { try $0.restore(key, to: point, author: author, note: note) }
  }

  /// Saves the state before the last change of a key again, as a new revision.
  ///
  /// - Throws: the same errors as ``StoreTransaction/undo(_:author:note:)``.
  @discardableResult
  public func undo(_ key: String, author: String? = nil, note: String? = nil) async throws -> StoreRevision {
    try await write { try $0.undo(key, author: author, note: note) }
  }

  /// Redoes the last undone change of a key, as a new revision.
  ///
  /// - Throws: the same errors as ``StoreTransaction/redo(_:author:note:)``.
  @discardableResult
  public func redo(_ key: String, author: String? = nil, note: String? = nil) async throws -> StoreRevision {
    try await write { try $0.redo(key, author: author, note: note) }
  }

  /// Deletes a key, as a new revision without a value.
  ///
  /// - Throws: the same errors as ``StoreTransaction/delete(_:author:note:if:)``.
  @discardableResult
  public func delete(
    _ key: String, author: String? = nil, note: String? = nil, if condition: SaveCondition = .always
  ) async throws -> StoreRevision {
    try await write { try $0.delete(key, author: author, note: note, if: condition) }
  }
}
