/// How to handle duplicate keys in an object, which RFC 8259 leaves open.
public enum JSONDuplicateKeys: Sendable, Hashable {
  /// The last value is used, in the position of the first.
  case lastWins
  /// An error with the code `invalidJSON` and the path of the key is thrown.
  case refuse
}
