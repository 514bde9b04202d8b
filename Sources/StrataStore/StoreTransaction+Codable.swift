internal import Foundation
internal import GRDB
internal import StrataCore

// Types that are only `Codable`, as in `ArchiveEncoder`. They have no versions, so they are not upgraded.
extension StoreTransaction {
  /// Saves a value whose type is only `Codable` under a key, as a new revision. It has no version: a later program decodes it
  /// by the type's own `init(from:)`.
  ///
  /// - Throws: the same errors as ``save(_:as:author:note:if:overNewer:)``, except `newerModel`; an error of the type's own code is the
  ///   cause of `notEncodable`.
  /// - Complexity: as the same method, plus creating an intermediate `ArchiveValue`.
  @_disfavoredOverload
  @discardableResult
  public func save<T: Encodable>(
    _ value: T, as key: String, author: String? = nil, note: String? = nil, if condition: SaveCondition = .always
  ) throws -> StoreRevision {
    let head = try begin(key, condition)
    let encoder = store.options.encoder
    return try save(key, head, encoder.stamp(ofCodable: T.self), false, author, note) { shapes in
      try encoder.encodeRow(codable: value, shapes: shapes)
    }
  }

  /// The value of a key, whose type is only `Codable`.
  ///
  /// - Returns: `nil` if there is no such key at that point, or if it was deleted.
  /// - Throws: the same errors as ``value(_:for:at:)-(T.Type,_,_)``; an error of the type's own code is the cause of `notDecodable`.
  @_disfavoredOverload
  public func value<T: Decodable>(
    _ type: T.Type = T.self, for key: String, at point: StorePoint = .latest
  ) throws -> T? {
    try content(for: key, at: point)?.decode(codable: T.self, store.options)
  }
}

extension SnapshotStore {
  /// Saves a value whose type is only `Codable` under a key, as a new revision. It is on the disk when this returns.
  ///
  /// - Throws: the same errors as ``StoreTransaction/save(_:as:author:note:if:)``.
  @_disfavoredOverload
  @discardableResult
  public func save<T: Encodable & Sendable>(
    _ value: T, as key: String, author: String? = nil, note: String? = nil, if condition: SaveCondition = .always
  ) async throws -> StoreRevision {
    try await write { try $0.save(value, as: key, author: author, note: note, if: condition) }
  }

  /// The value of a key, whose type is only `Codable`; `nil` if there is none.
  ///
  /// - Throws: the same errors as the method of ``StoreTransaction``.
  @_disfavoredOverload
  public func value<T: Decodable>(
    _ type: T.Type = T.self, for key: String, at point: StorePoint = .latest
  ) async throws -> T? {
    try await read { try $0.content(for: key, at: point) }?.decode(codable: T.self, options)
  }
}

extension StoredContent {
  func decode<T: Decodable>(codable type: T.Type, _ options: StoreOptions) throws -> T {
    try inRow {
      try options.decoder.decodeRow(
        codable: T.self, from: bytes.bytes, definitions: definition.records, contents: contents)
    }
  }
}
