/// A model that merges some of its fields with its own code.
public protocol KeyMerging: VersionedModel {
  /// Merges the value of one key of `source` into this model.
  ///
  /// This method is called on a copy of the model, so the original is unchanged if the merge fails later. `source` is the complete incoming
  /// model, with the local values for keys that the incoming data lacks.
  ///
  /// - Returns: whether this method merged the key. If it did not, the policy of the key decides.
  mutating func mergeValue(forKey key: String, from source: Self) throws -> Bool
}

extension _Strata {
  public static func keyMerging<T: KeyMerging>(_ type: T.Type) -> T.Type { type }

  @available(
    *, unavailable,
    message: "'mergeValue(forKey:from:)' is used only if the type conforms to KeyMerging; add KeyMerging"
  )
  public static func keyMerging<T>(_ type: T.Type) -> T.Type { type }
}
