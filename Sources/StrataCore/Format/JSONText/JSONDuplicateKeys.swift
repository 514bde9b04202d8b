/// How to handle duplicate keys in a JSON object. RFC 8259 leaves this open.
public enum JSONDuplicateKeys: Sendable, Hashable {
  /// The last value of the key is used, at the position of the first value.
  case lastWins
  /// The reader throws an error with the code `invalidJSON` and the path of the key.
  case refuse
}
