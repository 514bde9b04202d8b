/// Finds the values at many paths of one value; what the paths have in common is walked once.
enum PathValues {
  /// - Parameters:
  ///   - ambiguous: takes in the numbers of the paths that lead to one of several elements with one key.
  ///   - record: the fields of an object.
  /// - Returns: the value at each path; `nil` where there is none.
  static func find(
    _ paths: [ArraySlice<MergePath.Component>], in root: ArchiveValue, ambiguous: inout Set<Int>,
    _ record: (Int) throws -> ModelRecord
  ) throws -> [ArchiveValue?] {
    var result = [ArchiveValue?](repeating: nil, count: paths.count)
    func visit(_ numbers: [Int], _ depth: Int, _ value: ArchiveValue) throws {
      var inner: [Int] = []
      for number in numbers {
        if paths[number].count == depth { result[number] = value } else { inner.append(number) }
      }
      guard !inner.isEmpty else { return }
      var opened = value
      if case .reference(let number) = value { opened = .record(try record(number)) }
      var groups: [MergePath.Component: [Int]] = [:]
      for number in inner { groups[paths[number][paths[number].startIndex + depth], default: []].append(number) }
      var elements: [MergePath.Component: ArchiveValue] = [:]
      if let values = opened.arrayValue {
        let keys = Set(groups.keys.compactMap { if case .element(let key, _) = $0 { ExactKey(key) } else { nil } })
        let hasContent = groups.keys.contains { if case .value = $0 { true } else { false } }
        for (place, element) in values.enumerated() {
          elements[.index(place)] = element
          guard !keys.isEmpty || hasContent else { continue }
          var fields = element
          if case .reference(let number) = element { fields = .record(try record(number)) }
          for key in keys {
            if let id = fields[key.text] {
              let step = MergePath.Component.element(key: key.text, id: id)
              if elements[step] == nil { elements[step] = element } else { ambiguous.formUnion(groups[step] ?? []) }
            }
          }
          if hasContent, elements[.value(fields)] == nil { elements[.value(fields)] = element }
        }
      } else if case .map(let entries) = opened {
        for entry in entries { elements[.value(entry.key)] = entry.value }
      } else if case .object(let object) = opened {
        for entry in object.entries { elements[.key(entry.key)] = entry.value }
      }
      for (step, members) in groups {
        var next = elements[step]
        if case .key(let key) = step, case .record(let record) = opened { next = record[key] }
        if let next { try visit(members, depth + 1, next) }
      }
    }
    try visit(Array(paths.indices), 0, root)
    return result
  }
}
