/// A model with a hook that merges some of the model's fields with its own code.
public protocol KeyMerging: VersionedModel {
  /// Merges the value of one key.
  ///
  /// The receiver is a copy. If the merge fails later, the original object is unchanged.
  ///
  /// `source` is the complete incoming model, in which keys that the incoming data lacks have their local values.
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
