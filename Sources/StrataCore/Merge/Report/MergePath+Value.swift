extension MergePath.Component {
  /// A step as an archive holds it.
  var value: ArchiveValue {
    switch self {
    case .key(let key): .string(key)
    case .index(let index): .integer(index)
    case .element(let key, let id): ["key": .string(key), "id": id]
    case .value(let value): ["value": value]
    }
  }

  init(_ value: ArchiveValue) throws {
    if let key = value.stringValue {
      self = .key(key)
    } else if let index = value.intValue {
      self = .index(index)
    } else if let key = value["key"]?.stringValue, let id = value["id"] {
      self = .element(key: key, id: id)
    } else if let value = value["value"] {
      self = .value(value)
    } else {
      throw ArchiveError(.damaged, "a step of a path is a key, a place or what tells an element apart")
    }
  }
}
