/// A model with a hook that runs once its fields are set, for properties that depend on other fields or on the data's
/// source.
///
///     extension Issue: PostDecoding {
///       mutating func didDecode(from source: DecodingSource) throws {
///         if source == .json { retrievedAt = .now }
///       }
///     }
public protocol PostDecoding: VersionedModel {
  /// Called once for each object that is decoded, after all its fields are set and before it is validated. Nested
  /// objects are called before the object that contains them.
  ///
  /// The hook is called for archives (including those upgraded by ``ArchiveUpgrader``), JSON, dictionaries, the result
  /// of a merge, and copies with changes. It is not called for a plain copy.
  ///
  /// - Throws: any error. Decoding then throws an ``ArchiveError`` with the code `rejected` (`mergeFailed` in a merge)
  ///   and this error as the underlying error. If the hook throws an `ArchiveError`, it is passed on unchanged.
  mutating func didDecode(from source: DecodingSource) throws
}
