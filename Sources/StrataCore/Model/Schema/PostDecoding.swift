/// A model with a hook that runs after its fields are set. Use the hook for properties that depend on other fields or
/// on the source of the data.
///
///     extension Issue: PostDecoding {
///       mutating func didDecode(from source: DecodingSource) throws {
///         if source == .json { retrievedAt = .now }
///       }
///     }
public protocol PostDecoding: VersionedModel {
  /// Runs once for each decoded object, after all fields are set and before validation. The hooks of nested objects run
  /// before the hook of the object that contains them.
  ///
  /// The hook runs for archives (including archives upgraded by ``ArchiveUpgrader``), JSON, dictionaries, the result of
  /// a merge, and copies with changes. The hook does not run for a plain copy.
  ///
  /// - Throws: any error. Decoding then throws an ``ArchiveError`` with the code `rejected` (`mergeFailed` in a merge)
  ///   and the thrown error as the underlying error. An `ArchiveError` that the hook throws is passed on unchanged.
  mutating func didDecode(from source: DecodingSource) throws
}
