/// What merging does with a field.
public enum MergePolicy: Sendable {
  /// The source's value, null included: what Mantle does.
  case takeSource
  /// The source's value unless it is null.
  case takeSourceIfPresent
  /// The target's value.
  case keepTarget
  /// Nested records and objects key by key, each by the policies of its own type; anything else as `takeSource`.
  case recursive
  /// Arrays of records: elements with the same value under `key` are merged, new ones added, others go. The order is
  /// the source's.
  case byID(_ key: String = "id")
  /// A value made of both. `nil` stands for absent on the way in, and for "keep the target's" on the way out.
  case custom(@Sendable (_ target: Value?, _ source: Value?) throws -> Value?)
}
