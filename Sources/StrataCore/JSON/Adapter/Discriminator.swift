/// What identifies the variants of a ``JSONCluster``.
public struct Discriminator: Sendable {
  let tag: @Sendable (ArchiveValue) throws -> String?
  /// Where the tag is written; `nil` where it is not a value of its own.
  let path: JSONPath?
  let content: String?

  /// The text at a path: `type`, or `meta.kind`. Numbers and booleans count as their text. What is written has the tag
  /// there, first, unless the variant's own mapping has put it. Where that has put something else there, or on the way
  /// there, a null too, writing is an error with the code `notEncodable`.
  public static func key(_ path: JSONPath) -> Discriminator {
    Discriminator(tag: { Self.text($0, path) }, path: path, content: nil)
  }

  /// The text under a key beside the one that holds the variant: `{"type": "circle", "payload": {…}}`.
  public static func sibling(_ key: String, content: String) -> Discriminator {
    let path = JSONPath(key: key)
    return Discriminator(tag: { Self.text($0, path) }, path: path, content: content)
  }

  /// What a function makes of the whole document: the tag of a variant, or `nil` where it knows none.
  public static func custom(_ tag: @escaping @Sendable (ArchiveValue) throws -> String?) -> Discriminator {
    Discriminator(tag: tag, path: nil, content: nil)
  }

  private static func text(_ value: ArchiveValue, _ path: JSONPath) -> String? {
    // A document that has nothing of the kind at the path has no tag.
    switch try? path.value(in: value) {
    case .string(let text)?: return text
    case .int(let number)?: return String(number)
    case .bool(let flag)?: return flag ? "true" : "false"
    default: return nil
    }
  }
}
