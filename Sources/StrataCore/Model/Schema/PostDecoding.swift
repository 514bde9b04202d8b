/// A model that finishes itself once its fields are set: what depends on other fields, or on the moment of decoding.
///
///     extension Issue: PostDecoding {
///       mutating func didDecode(from source: DecodingSource) throws {
///         if source == .json { retrievedAt = .now }
///       }
///     }
public protocol PostDecoding: VersionedModel {
  /// Called once for each object and each decoding, after every field is set and before validation. Objects inside
  /// come before the one that holds them.
  ///
  /// Called for archives, by ``ArchiveUpgrader`` too, JSON, dictionaries, the result of a merge and copies with changes. Not
  /// called for a plain copy.
  ///
  /// - Throws: anything; decoding then fails with an ``ArchiveError`` with the code `rejected` that has this error as
  ///   its cause (`mergeFailed` in a merge). An `ArchiveError` is passed on as it is.
  mutating func didDecode(from source: DecodingSource) throws
}
