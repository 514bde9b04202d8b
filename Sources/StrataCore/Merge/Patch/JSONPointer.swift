/// A place in a JSON document (RFC 6901): `/labels/0/name`, and the empty text for the whole.
public struct JSONPointer: Sendable, Hashable, CustomStringConvertible {
  /// The keys and places, unescaped.
  public var tokens: [String]

  public init(_ tokens: [String] = []) { self.tokens = tokens }

  /// - Throws: ``ArchiveError`` with the code `invalidJSON` where the text does not begin with a slash, or a `~` is not
  ///   followed by 0 or 1.
  public init(parsing text: String) throws {
    guard !text.isEmpty else {
      tokens = []
      return
    }
    guard text.utf8.first == UInt8(ascii: "/") else {
      throw ArchiveError(.invalidJSON, "a JSON pointer is empty or begins with /")
    }
    tokens = try text.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { part in
      var token = ""
      var rest = part
      while let character = rest.popFirst() {
        guard character == "~" else {
          token.append(character)
          continue
        }
        switch rest.popFirst() {
        case "0": token.append("~")
        case "1": token.append("/")
        default: throw ArchiveError(.invalidJSON, "in a JSON pointer ~ is followed by 0 or 1")
        }
      }
      return token
    }
  }

  public var description: String {
    tokens.map { "/" + $0.replacing("~", with: "~0").replacing("/", with: "~1") }.joined()
  }

  /// The place that a token names in an array (RFC 6901 section 4): digits without a zero in front.
  static func place(_ token: String) -> Int? {
    guard !token.isEmpty, token.utf8.allSatisfy({ 48...57 ~= $0 }), token == "0" || !token.hasPrefix("0") else {
      return nil
    }
    return Int(token)
  }
}
