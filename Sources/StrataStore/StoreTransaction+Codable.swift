internal import Foundation
internal import GRDB
internal import StrataCore

// Support for types that conform only to `Codable`. These types have no versions, so their values are not upgraded.
extension StoreTransaction {
  /// Saves a value under a key, as a new revision. The type of the value conforms only to `Codable` and has no model version,
  /// so later versions of the program decode it with the type's `init(from:)`, without migration steps.
  ///
  /// - Throws: the same errors as ``save(_:as:author:note:if:overNewer:)`` except `newerModel`. Throws `notEncodable` if the
  ///   type's `encode(to:)` throws, with that error as the underlying error.
  /// - Complexity: the same as ``save(_:as:author:note:if:overNewer:)``, plus the creation of an intermediate `ArchiveValue`.
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

  /// Returns the value of a key, decoded as a type that conforms only to `Codable`.
  ///
  /// - Returns: the value, or `nil` if the key did not exist at that point or was deleted.
  /// - Throws: the same errors as ``value(_:for:at:)-(T.Type,_,_)``. Throws `notDecodable` if the type's `init(from:)` throws,
  ///   with that error as the underlying error.
  @_disfavoredOverload
  public func value<T: Decodable>(
    _ type: T.Type = T.self, for key: String, at point: StorePoint = .latest
  ) throws -> T? {
    try content(for: key, at: point)?.decode(codable: T.self, store.options)
  }
}

extension SnapshotStore {
  /// Saves a value of a type that conforms only to `Codable` under a key, as a new revision. When this method returns, the
  /// revision has been written to disk.
  ///
  /// - Throws: the same errors as ``StoreTransaction/save(_:as:author:note:if:)``.
  @_disfavoredOverload
  @discardableResult
  public func save<T: Encodable & Sendable>(
    _ value: T, as key: String, author: String? = nil, note: String? = nil, if condition: SaveCondition = .always
  ) async throws -> StoreRevision {
    try await write { try $0.save(value, as: key, author: author, note: note, if: condition) }
  }

  /// Returns the value of a key, decoded as a type that conforms only to `Codable`. Returns `nil` if the key has no value.
  ///
  /// - Throws: the same errors as the method of ``StoreTransaction`` with the same name.
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
