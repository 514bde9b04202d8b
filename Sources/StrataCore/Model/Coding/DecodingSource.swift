/// Where the values of a decoded model came from.
///
/// New sources may be added later, so a `switch` needs a `default` case.
public enum DecodingSource: String, Sendable, Hashable {
  /// An archive of the current version or of an older version.
  case archive
  /// A JSON document.
  case json
  /// A dictionary of field values.
  case dictionary
  /// A merge, which combines local values with the server's values.
  case merge
  /// A copy of a model with some of its values changed.
  case update
  /// A keyed archive written by Foundation.
  case keyedArchive
}
