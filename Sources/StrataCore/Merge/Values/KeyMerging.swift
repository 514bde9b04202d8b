/// A model that merges some of its fields itself.
public protocol KeyMerging: VersionedModel {
  /// Merges one key.
  ///
  /// The receiver is a copy: if the merge fails later, the object that it was called on is unchanged.
  ///
  /// `source` is the complete incoming model. If the incoming data lacks keys, these have their local values.
  ///
  /// - Returns: whether the key was merged; otherwise its policy decides.
  mutating func mergeValue(forKey key: String, from source: Self) throws -> Bool
}
