/// Finds the mistakes of a mapping, all of them.
enum JSONPlanCheck {
  static func problem(
    _ typeName: String, _ entries: [JSONPlan.Entry], _ mapping: [String: JSONField]?, _ fields: [FieldInfo]
  ) -> ArchiveError? {
    var errors: [ArchiveError] = []
    func add(_ key: String, _ reason: String) {
      errors.append(ArchiveError(.invalidMapping, reason, path: [.key(key)], typeName: typeName))
    }
    let declared = Set(fields.map(\.key))
    for key in (mapping ?? [:]).keys.filter({ !declared.contains($0) }).sorted() {
      add(key, "the model declares no field \(key); its fields are \(fields.map(\.key).joined(separator: ", "))")
    }
    for entry in entries {
      for reason in problems(of: entry) { add(entry.field.key, reason) }
    }
    let tree = PathTree()
    for entry in entries where entry.json.isWritten {
      for path in writtenPaths(entry) where !path.readsEach {
        if let other = tree.add(path, of: entry.field.key) {
          add(
            entry.field.key,
            "the path \(path) is in the way of \(other), which is also written; make one of the two readOnly")
        }
      }
    }
    for gap in tree.gaps() { add(gap.field, "the array at \(gap.path) is written with a gap; map every index from 0") }
    return ArchiveError.combined(errors)
  }

  private static func writtenPaths(_ entry: JSONPlan.Entry) -> [JSONPath] {
    if case .firstOf(let paths) = entry.source { return Array(paths.prefix(1)) }
    return JSONPlan.paths(entry)
  }

  private static func problems(of entry: JSONPlan.Entry) -> [String] {
    var reasons: [String] = []
    let json = entry.json
    switch json.source {
    case .firstOf([]), .all([]): reasons.append("a list of paths is empty; name one, or use none")
    default: break
    }
    if let transform = json.transform {
      if let problem = transform.problem { reasons.append(problem) }
      if !holds(entry.field.type, transform.output), !transform.isUntyped {
        reasons.append("the transformer yields \(transform.output), and the field holds \(entry.field.type)")
      }
      if transform.write == nil, json.isWritten {
        reasons.append("the transformer goes one way, and the field is written; make it reversible or readOnly")
      }
    }
    if json.isWritten, writtenPaths(entry).contains(where: \.readsEach) {
      reasons.append("a path with [*] cannot be written; make the field readOnly")
    }
    if json.nullPolicy == .useDefault, !entry.isNullable, entry.field.makeDefault == nil {
      reasons.append("null means the default, and the field has none")
    }
    for lenience in json.leniences.sorted(by: { $0.rawValue < $1.rawValue })
    where json.transform == nil && !entry.kind.allows(lenience) {
      reasons.append("the lenience \(lenience.rawValue) means nothing for \(entry.field.type)")
    }
    if json.skipsInvalid, entry.kind != .array {
      reasons.append("only elements of an array can be skipped, and the field holds \(entry.field.type)")
    }
    return reasons
  }

  private static func holds(_ field: Any.Type, _ output: Any.Type) -> Bool {
    if field == output { return true }
    guard let field = field as? any OptionalType.Type else { return false }
    return field.wrappedType == output
  }
}

/// The places that a mapping writes.
private struct PathTree {
  private final class Node {
    var field: String?
    var children: [JSONPath.Step: Node] = [:]
    /// A field that is written here or below.
    var anyField: String { field ?? children.values.map(\.anyField).min() ?? "" }
  }

  private let root = Node()

  /// Adds a path; answers the field that is in its way.
  func add(_ path: JSONPath, of field: String) -> String? {
    var node = root
    for step in path.steps {
      if let other = node.field { return other }
      if let child = node.children[step] {
        node = child
        continue
      }
      if let other = node.children.keys.first, Self.isIndex(other) != Self.isIndex(step) { return node.anyField }
      let child = Node()
      node.children[step] = child
      node = child
    }
    if node.field != nil || !node.children.isEmpty { return node.anyField }
    node.field = field
    return nil
  }

  private static func isIndex(_ step: JSONPath.Step) -> Bool { if case .index = step { true } else { false } }

  func gaps() -> [(field: String, path: JSONPath)] {
    var result: [(field: String, path: JSONPath)] = []
    func walk(_ node: Node, _ path: [JSONPath.Step]) {
      let indices = node.children.keys.compactMap { if case .index(let index) = $0 { index } else { Int?.none } }
      if let last = indices.max(), last >= indices.count { result.append((node.anyField, JSONPath(path))) }
      for (step, child) in node.children { walk(child, path + [step]) }
    }
    walk(root, [])
    return result.sorted { $0.path.description < $1.path.description }
  }
}
