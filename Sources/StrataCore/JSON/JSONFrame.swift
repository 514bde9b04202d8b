/// The state of a JSON array or object that is being written.
struct JSONFrame {
  enum Contents {
    case elements([ArchiveValue])
    /// The members of an object. If they are the fields of a record, `typeName` is the name of the record's type.
    case entries([ArchiveObject.Entry], typeName: String? = nil)
    case members([Member], JSONLayout)
    /// The members of an object that represents the enum case `caseName`: the tag, and the associated values under a separate key.
    case tagged([ArchiveObject.Entry], caseName: String)
  }

  /// A member of the JSON object for a model, or an element of an array nested in that object.
  struct Member {
    enum Content {
      /// The value of a field, and the index of the field's leaf in `JSONLayout.leaves`.
      case value(ArchiveValue, Int)
      case group([Member])
      /// A value that is not from a field: a tag, or a null that fills a gap in an array.
      case constant(ArchiveValue)
    }
    let step: ValuePath.Component
    let content: Content

    var index: Int { if case .index(let index) = step { index } else { 0 } }
  }

  let contents: Contents
  let count: Int
  let isObject: Bool
  /// The name of the enum case that this object represents, if its tag and its associated values are members of the same object; otherwise
  /// `nil`.
  let caseName: String?
  /// The index, in the object graph, of the object that is being written; `nil` for a value that is not in the graph.
  var reference: Int?
  /// The index of the next element or member to write.
  var next = 0

  init(_ contents: Contents, caseName: String? = nil) {
    self.contents = contents
    self.caseName = caseName
    isObject = contents.isObject
    count =
      switch contents {
      case .elements(let elements): elements.count
      case .entries(let entries, _), .tagged(let entries, _): entries.count
      case .members(let members, _): members.count
      }
  }

  /// Prepends the key or the index of the current element to the path of an error.
  func located(_ error: ArchiveError) -> ArchiveError {
    guard next > 0 else { return error }
    var located = error
    switch contents {
    case .elements: located = error.prefixed(by: .index(next - 1))
    case .entries(let entries, let typeName):
      located = error.prefixed(by: .key(entries[next - 1].key))
      if let typeName { located = located.inType(typeName) }
    // The path in the model contains the name of the case. The path in JSON contains the key of the member instead.
    case .tagged(let entries, let name): located = error.prefixed(by: .key(name), json: [.key(entries[next - 1].key)])
    case .members(let members, let layout):
      if case .value(_, let leaf) = members[next - 1].content { located = layout.located(error, layout.leaves[leaf]) }
    }
    return caseName.map { located.prefixed(by: .key($0), json: []) } ?? located
  }
}

extension JSONFrame.Contents {
  var isObject: Bool {
    switch self {
    case .elements: false
    case .entries, .tagged: true
    case .members(let members, _): members.first?.step.isKey ?? true
    }
  }

  /// Inserts a tag as the first member. If `mayHoldTag` is true, as for a class, and a field has already written this tag under `key`, the
  /// contents are returned unchanged.
  ///
  /// - Throws: ``ArchiveError`` with the code `notEncodable` if the contents have a member under `key` in any other case, or if they are
  ///   not an object.
  func tagged(_ key: String, _ tag: String, mayHoldTag: Bool) throws -> JSONFrame.Contents {
    let found: ArchiveValue??
    let tagged: JSONFrame.Contents
    switch self {
    case .entries(let entries, let typeName):
      found = entries.first { ExactKey.isSame($0.key, key) }.map { .some($0.value) }
      tagged = .entries([.init(key: key, value: .string(tag))] + entries, typeName: typeName)
    case .members(let members, let layout) where isObject:
      let member = members.first { if case .key(let other) = $0.step { ExactKey.isSame(other, key) } else { false } }
      found = member.map { if case .value(let value, _) = $0.content { value } else { nil } }
      tagged = .members([.init(step: .key(key), content: .constant(.string(tag)))] + members, layout)
    case .members, .elements, .tagged: throw Self.noMemberForTag()
    }
    guard let found else { return tagged }
    guard mayHoldTag, case .string(tag)? = found else {
      throw ArchiveError(
        .notEncodable,
        "the encoded object already has a value under the key of its tag, \(key); map that value to a different key, or, "
          + "in a class, set the field to the tag \(tag)",
        path: [.key(key)])
    }
    return self
  }

  static func noMemberForTag() -> ArchiveError {
    ArchiveError(
      .notEncodable,
      "the tag cannot be added because the value is not an object; use adjacent tagging for an enum, or map the "
        + "fields of a class to keys instead of indices"
    )
  }
}
