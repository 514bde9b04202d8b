/// How to handle duplicate keys in an object. RFC 8259 does not specify this.
public enum JSONDuplicateKeys: Sendable, Hashable {
  /// The last value of the key is used, at the position of the first value.
  case lastWins
  /// The reader throws an error with the code `invalidJSON` and the path of the key.
  case refuse
}
