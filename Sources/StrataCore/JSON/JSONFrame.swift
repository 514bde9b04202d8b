/// An array or an object of which some elements are still to be written.
struct JSONFrame {
  enum Contents {
    case elements([ArchiveValue])
    case entries([ArchiveObject.Entry])
    case fields(RecordShape, [ArchiveValue])
    case pairs([ArchiveValue.MapEntry])
    case members([Member], JSONLayout)
  }

  /// A member of the object that a model is, or an element of an array in it.
  struct Member {
    enum Content {
      /// A value and its number among the leaves of the layout.
      case value(ArchiveValue, Int)
      case group([Member])
      /// An element that nothing is written at, while later ones are.
      case gap
    }
    /// The key or the index; `nil` for a gap.
    let node: JSONPathTree?
    let content: Content

    var index: Int { if case .index(let index)? = node?.step { index } else { 0 } }
  }

  let contents: Contents
  let count: Int
  let isObject: Bool
  /// The case of an enum that this is.
  let tag: JSONTagging.Tag?
  /// The object of a graph that this is.
  var reference: Int?
  /// The element that comes next.
  var next = 0

  init(_ contents: Contents, _ tag: JSONTagging.Tag?) {
    self.contents = contents
    self.tag = tag
    isObject = contents.isObject
    count =
      switch contents {
      case .elements(let elements): elements.count
      case .entries(let entries): entries.count
      case .fields(_, let values): values.count
      case .pairs(let pairs): pairs.count
      case .members(let members, _): members.count
      }
  }

  /// The error with the path to the element that is being written.
  func located(_ error: ArchiveError) -> ArchiveError {
    guard next > 0 else { return error }
    let located: ArchiveError
    switch contents {
    case .elements, .pairs: located = error.prefixed(by: .index(next - 1))
    case .entries(let entries):
      let step = ArchiveError.PathComponent.key(entries[next - 1].key)
      // The case is in the place of the member that holds its values.
      if let tag, tag.isAround, let name = tag.name { return error.prefixed(by: .key(name), json: [step]) }
      located = error.prefixed(by: step)
    case .fields(let shape, _): located = error.prefixed(by: .key(shape.keys[next - 1])).inType(shape.typeName)
    case .members(let members, let layout):
      guard case .value(_, let leaf) = members[next - 1].content else { return error }
      located = layout.located(error, layout.leaves[leaf])
    }
    return tag?.name.map { located.prefixed(by: .key($0), json: []) } ?? located
  }
}

extension JSONFrame.Contents {
  var isObject: Bool {
    switch self {
    case .elements, .pairs: false
    case .entries, .fields: true
    case .members(let members, _): if let first = members.first { first.node?.isKey ?? false } else { true }
    }
  }

  /// The member under a key: its value, or `.some(nil)` for an object of several fields; `nil` where there is none.
  func member(_ key: String) -> ArchiveValue?? {
    switch self {
    case .elements, .pairs: return nil
    case .entries(let entries): return entries.first { ExactKey.isSame($0.key, key) }.map { .some($0.value) }
    case .fields(let shape, let values): return shape.place(of: key).map { .some(values[$0]) }
    case .members(let members, _):
      let found = members.first {
        if case .key(let other)? = $0.node?.step { ExactKey.isSame(other, key) } else { false }
      }
      return found.map { if case .value(let value, _) = $0.content { value } else { nil } }
    }
  }
}
