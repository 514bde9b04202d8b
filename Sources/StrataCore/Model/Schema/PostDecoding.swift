/// A model with a hook that runs after its fields are set, for properties that depend on other fields or on the decoding.
///
///     extension Issue: PostDecoding {
///       mutating func didDecode(from source: DecodingSource) throws {
///         if source == .json { retrievedAt = .now }
///       }
///     }
public protocol PostDecoding: VersionedModel {
  /// Called once for each object and each decoding, after every field is set and before validation. It is called on
  /// objects inside before the object that contains them.
  ///
  /// Called for archives (also by ``ArchiveUpgrader``), JSON, dictionaries, the result of a merge and copies with
  /// changes. Not called for a plain copy.
  ///
  /// - Throws: any error. Decoding then fails with an ``ArchiveError`` with the code `rejected` that has this error as
  ///   its cause (`mergeFailed` in a merge). An `ArchiveError` is passed on unchanged.
  mutating func didDecode(from source: DecodingSource) throws
}
