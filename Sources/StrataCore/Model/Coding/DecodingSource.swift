/// Where the values of a model that was just made come from.
///
/// More sources may come, so a `switch` over this has a `default`.
public enum DecodingSource: String, Sendable, Hashable {
  /// An archive of today's version or of an older one.
  case archive
  /// A JSON document.
  case json
  /// A dictionary of field values.
  case dictionary
  /// A merge: the values of target and source together.
  case merge
  /// A copy with some values changed.
  case update
  /// A keyed archive of Foundation.
  case keyedArchive
}
