/// A model that merges some of its fields itself.
public protocol KeyMerging: VersionedModel {
  /// Merges one key.
  ///
  /// The receiver is a copy: when anything fails later, the object that the merge was called on is unchanged.
  ///
  /// `source` is all of what came in. Where these were only parts, keys that it lacks have the values that they have
  /// here.
  ///
  /// - Returns: whether the key was dealt with; else its policy decides.
  mutating func mergeValue(forKey key: String, from source: Self) throws -> Bool
}
