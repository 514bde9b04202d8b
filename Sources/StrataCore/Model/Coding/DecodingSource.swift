/// The source of the values of a decoded model.
///
/// More sources may be added, so a `switch` over this needs a `default`.
public enum DecodingSource: String, Sendable, Hashable {
  /// An archive of the current version or of an older one.
  case archive
  /// A JSON document.
  case json
  /// A dictionary of field values.
  case dictionary
  /// A merge: the combined values of target and source.
  case merge
  /// A copy with some values changed.
  case update
  /// A keyed archive of Foundation.
  case keyedArchive
}
