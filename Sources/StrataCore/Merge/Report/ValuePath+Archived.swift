extension ValuePath.Component {
  /// The component as a value, in the form in which archives store paths.
  var value: ArchiveValue {
    switch self {
    case .key(let key): .string(key)
    case .index(let index): .integer(index)
    case .element(let key, let id):
      ["key": key.keys.count == 1 ? .string(key.keys[0]) : .array(key.keys.map(ArchiveValue.string)), "id": id]
    case .value(let value): ["value": value]
    // Only patterns contain these two components. Archives store the paths of reports, which are never patterns.
    case .anyKey, .anyElement: .null
    }
  }

  init(_ value: ArchiveValue) throws {
    if let key = value.stringValue {
      self = .key(key)
    } else if let index = value.intValue {
      self = .index(index)
    } else if let keys = value["key"].map({ $0.arrayValue ?? [$0] })?.map(\.stringValue), let id = value["id"],
      !keys.isEmpty, !keys.contains(nil)
    {
      self = .element(key: IdentityKey(keys.compactMap(\.self)), id: id)
    } else if let value = value["value"] {
      self = .value(value)
    } else {
      throw ArchiveError(.damaged, "each component of the path must be a key, an index or the identity of an element")
    }
  }
}

extension ValuePath {
  /// The path for error messages. Element identities are replaced with a wildcard, because they are users' data.
  var keysOnly: String {
    ValuePath(
      components.map { component in
        switch component {
        case .element, .value: .anyElement
        default: component
        }
      }
    ).description
  }
}
