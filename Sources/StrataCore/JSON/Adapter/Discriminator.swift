/// The position of the tag that identifies the kind of a JSON object: the variant of a ``JSONCluster``, the case of an enum, or the class.
public struct Discriminator: Sendable {
  enum TagPosition: Sendable {
    /// The tag is the only key of the object, and the content is the value under that key.
    case onlyKey
    /// The tag is a string in the content, at this path.
    case inside(ValuePath)
    /// The tag and the content are two members of the same object.
    case beside(String, content: String)
    /// When a document is read, a function computes the tag. When it is written, no tag is added.
    case computed(@Sendable (ArchiveValue) throws -> String?)
  }

  let position: TagPosition

  /// The tag is the text at a path, such as `type` or `meta.kind`. In a cluster, integers and booleans are read as text. The tag is written
  /// as the first member of its object, unless the variant's own mapping has already written the tag. If that mapping has written a
  /// different value or null at the path or along the path, writing fails with the code `notEncodable`.
  public static func key(_ path: ValuePath) -> Discriminator { Discriminator(position: .inside(path)) }

  /// The tag is the string under a key, next to the key of the content: `{"type": "circle", "payload": {…}}`.
  public static func sibling(_ key: String, content: String) -> Discriminator {
    Discriminator(position: .beside(key, content: content))
  }

  /// The tag is the string that a function returns for the whole document. The function returns `nil` for a document without a tag.
  public static func custom(_ tag: @escaping @Sendable (ArchiveValue) throws -> String?) -> Discriminator {
    Discriminator(position: .computed(tag))
  }

  /// The path of the tag; `nil` if the tag is the object's only key or is computed.
  private var path: ValuePath? {
    switch position {
    case .inside(let path): path
    case .beside(let key, _): ValuePath(key: key)
    case .onlyKey, .computed: nil
    }
  }

  /// The discriminator for a variant that uses the whole document as its content. A tag next to the content then becomes a member of the
  /// content.
  var besideAll: Discriminator { if case .beside(let key, _) = position { .key(ValuePath(key: key)) } else { self } }

  /// Whether the tag is the only key of the object.
  var isKey: Bool { if case .onlyKey = position { true } else { false } }

  /// The path of the tag, for error messages; empty if the tag has no path.
  var components: [ArchiveError.PathComponent] { path?.errorPath ?? [] }

  /// The key of a tag that is a direct member of the content; `nil` for a tag at any other position.
  var key: String? { if case .inside(let path) = position { path.onlyKey } else { nil } }

  /// The reasons why a tag cannot be at this position; empty if the position is valid.
  var problems: [String] {
    if let path, path.components.isEmpty {
      return ["the tag path \(path) refers to the whole document; specify a key for the tag, such as type"]
    }
    if let path, path.readsEach {
      return ["the tag path \(path) can match several values; use a path that consists only of keys and indices"]
    }
    if case .beside(let key, let content) = position, key == content {
      return ["the tag and the content have the same key \(key); use a different key for one of them"]
    }
    return []
  }

  // MARK: Reading

  /// An object divided into its tag and its content.
  struct Parts {
    /// The tag; `nil` if the object has none.
    var tag: ArchiveValue?
    /// The content; `nil` if the member for the content is absent. A tag inside the content is not removed.
    var content: ArchiveValue?
    /// The path from the object to the content.
    var path: [ArchiveError.PathComponent] = []
  }

  func parts(of object: ArchiveObject) throws -> Parts {
    let json = ArchiveValue.object(object)
    switch position {
    case .onlyKey:
      guard object.count == 1, let entry = object.entries.first else {
        throw ArchiveError.mismatch(
          expected: "an object whose only key is the name of an enum case",
          found: "an object with \(object.count) keys")
      }
      return Parts(tag: .string(entry.key), content: entry.value, path: [.key(entry.key)])
    // If the document has no value at the path, or a step of the path does not fit the document, there is no tag.
    case .inside(let path): return Parts(tag: try? path.value(in: json), content: json)
    case .beside(let key, let content):
      return Parts(tag: object[key], content: object[content], path: [.key(content)])
    case .computed(let tag): return Parts(tag: try tag(json).map { .string($0) }, content: json)
    }
  }

  /// Returns the text of a tag that must be a string.
  ///
  /// - Parameter kind: what the tag belongs to, such as "an enum", for error messages.
  /// - Throws: ``ArchiveError`` with the code `missingValue` or `typeMismatch`.
  func text(_ tag: ArchiveValue?, of kind: String) throws -> String {
    guard let tag else { throw absent(kind) }
    guard case .string(let text) = tag else {
      throw ArchiveError(
        .typeMismatch, "the tag of \(kind) must be a string; found \(tag.kind)", path: components,
        input: tag)
    }
    return text
  }

  func absent(_ kind: String) -> ArchiveError {
    ArchiveError(.missingValue, "the tag of \(kind) is missing", path: components)
  }

  // MARK: Writing

  /// Adds the tag to the JSON of an object. The tag, and each object on the path to the tag, is placed before the other members. Existing
  /// values are never replaced.
  ///
  /// - Parameter content: the content of the object; `nil` to leave out the member for the content.
  /// - Throws: ``ArchiveError`` with the code `notEncodable` if the content has a different value at the path of the tag.
  func tagged(_ content: ArchiveValue?, _ tag: String) throws -> ArchiveValue {
    switch position {
    case .onlyKey: return [tag: content ?? [:]]
    case .beside(let key, let contentKey):
      let members = ArchiveObject.Entry(key: contentKey, value: content ?? .null)
      return .object(ArchiveObject([.init(key: key, value: .string(tag))] + (content == nil ? [] : [members])))
    case .inside(let path):
      let value = content ?? [:]
      var known: ArchiveValue?
      do { known = try path.value(in: value) } catch { known = .null }
      guard let known else { return try Self.tagged(value, tag, at: path.errorPath[...]) }
      // The variant's own mapping may already have written the tag, possibly as an integer or a boolean instead of a string.
      guard known.tagText == tag else {
        throw ArchiveError(
          .notEncodable,
          "the encoded object already has a different value at the path of its tag; set the field at this path to the "
            + "tag, or change the path of the field or of the tag",
          path: path.errorPath)
      }
      return value
    case .computed: return content ?? [:]
    }
  }

  private static func tagged(
    _ value: ArchiveValue, _ tag: String, at steps: ArraySlice<ArchiveError.PathComponent>
  ) throws -> ArchiveValue {
    guard let step = steps.first else { return .string(tag) }
    var result = value.accepts(step) ? value : try ArchiveValue.container(value, for: step)
    if case .key(let key) = step, case .object(let object) = result {
      // Inserts the key at the front. If the object already has the key, `ArchiveObject` moves it to the front and keeps its value.
      result = .object(ArchiveObject([.init(key: key, value: .null)] + object.entries))
    }
    try result.set(tagged(result[step] ?? .null, tag, at: steps.dropFirst()), at: [step])
    return result
  }
}

extension ArchiveValue {
  /// The value as the text of a tag, if it is a string, an integer or a boolean; otherwise `nil`.
  var tagText: String? {
    switch self {
    case .string(let text): text
    case .int(let number): String(number)
    case .bool(let flag): flag ? "true" : "false"
    default: nil
    }
  }
}
