/// How to handle an object that has a key twice. RFC 8259 leaves it open.
public enum JSONDuplicateKeys: Sendable, Hashable {
  /// The last value counts, in the position of the first.
  case lastWins
  /// An error with the code `invalidJSON` and the path of the key.
  case refuse
}
