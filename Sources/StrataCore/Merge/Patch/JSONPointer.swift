/// A location in a JSON document (RFC 6901): `/labels/0/name`, or the empty text for the whole document.
public struct JSONPointer: Sendable, Hashable, CustomStringConvertible {
  /// The keys and indices, unescaped.
  public var tokens: [String]

  /// Creates a pointer from unescaped keys and indices. Without any, it refers to the whole document.
  public init(_ tokens: [String] = []) { self.tokens = tokens }

  /// - Throws: ``ArchiveError`` with the code `invalidJSON` if the text is not empty and does not begin with a slash,
  ///   or if a `~` is not followed by 0 or 1.
  public init(parsing text: String) throws {
    guard !text.isEmpty else {
      tokens = []
      return
    }
    guard text.utf8.first == UInt8(ascii: "/") else {
      throw ArchiveError(.invalidJSON, "a JSON pointer is empty or begins with /")
    }
    // By code points: a slash with a combining mark is one character in Swift, but still a separator.
    tokens = try text.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { part in
      var token = String.UnicodeScalarView()
      var rest = part
      while let scalar = rest.popFirst() {
        guard scalar == "~" else {
          token.append(scalar)
          continue
        }
        switch rest.popFirst() {
        case "0": token.append("~")
        case "1": token.append("/")
        default: throw ArchiveError(.invalidJSON, "in a JSON pointer ~ is followed by 0 or 1")
        }
      }
      return String(token)
    }
  }

  public var description: String {
    var text = String.UnicodeScalarView()
    for token in tokens {
      text.append("/")
      for scalar in token.unicodeScalars {
        switch scalar {
        case "~": text.append(contentsOf: "~0".unicodeScalars)
        case "/": text.append(contentsOf: "~1".unicodeScalars)
        default: text.append(scalar)
        }
      }
    }
    return String(text)
  }

  /// The array index of a token (RFC 6901 section 4): digits without a leading zero; `nil` for any other token.
  static func place(_ token: String) -> Int? {
    guard !token.isEmpty, token.utf8.allSatisfy({ 48...57 ~= $0 }), token == "0" || !token.hasPrefix("0") else {
      return nil
    }
    return Int(token)
  }
}

extension JSONPointer {
  /// Keys are compared by their bytes: two spellings of one text are two keys of an object.
  public static func == (left: JSONPointer, right: JSONPointer) -> Bool {
    left.tokens.count == right.tokens.count && right.isInside(left)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(tokens.count)
    for token in tokens { hasher.combine(ExactKey(token)) }
  }

  /// Whether this is a location inside of another one, or the same location.
  func isInside(_ other: JSONPointer) -> Bool { tokens.starts(with: other.tokens, by: ExactKey.isSame) }
}
