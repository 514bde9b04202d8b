extension Stamp {
  /// Sets the count in the stamp to the number of models in `value`, whose type must be the one that the stamp names. For an array, a set
  /// or a dictionary, this is the number of elements.
  package mutating func setCount(of value: ArchiveValue) {
    // The count is 1 if the value is not a collection. An optional is not a collection, although it has an element type.
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
