extension Stamp {
  /// Sets the count for another value of the same type: the number of elements of an array, a set or a dictionary.
  package mutating func setCount(of value: ArchiveValue) {
    // The count of any other value is 1. An optional isn't a collection.
    let isCollection = !typeName.hasSuffix("?") && ArchivedType.element(of: typeName[...]) != nil
    guard isCollection || count != 1 else { return }
    let root = if case .graph(let graph) = value { graph.root } else { value }
    switch root {
    case .array(let elements), .set(let elements): count = UInt64(elements.count)
    case .object(let object): count = UInt64(object.count)
    case .map(let entries): count = UInt64(entries.count)
    default: break
    }
  }
}
