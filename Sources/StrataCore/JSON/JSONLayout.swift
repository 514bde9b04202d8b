/// Describes how records that have the same type, version and keys are written as JSON. Fields whose paths begin with the same steps share
/// a nested object, which is at the position of the first of these fields.
final class JSONLayout: Sendable {
  /// A field of a record, with a JSON path at which the field is written. A field with several paths has several leaves.
  final class Leaf: Sendable {
    /// The index of the field in the record.
    let index: Int
    let key: String
    /// The JSON mapping of the field; `nil` for a key without a mapping, whose value is written unchanged.
    let entry: JSONPlan.Entry?
    let path: ValuePath
    /// Whether the whole value is written at `path`, with no transformer and no null setting of its own.
    let isPlain: Bool
    /// Whether the field is read from this path only if its main path is absent. If the field has a value, the placeholder
    /// ``JSONLayout/mark`` is written at this path.
    let isFallbackPath: Bool

    init(index: Int, key: String, entry: JSONPlan.Entry?, path: ValuePath, isFallbackPath: Bool = false) {
      (self.index, self.key, self.entry, self.path, self.isFallbackPath) = (index, key, entry, path, isFallbackPath)
      isPlain = entry.map { $0.json.transform == nil && $0.json.nulls == nil && !$0.isAll } ?? true
    }
  }

  let leaves: [Leaf]
  /// The unknown keys that are also the first key of a field's path, with the indices of their leaves in `leaves`. The value of each of
  /// these leaves contains only members that no field reads.
  let rests: [ExactKey: Int]
  /// The paths of all `leaves` except those in `rests`, as a tree. Each node in this array is a member of the JSON object.
  let nodes: [JSONPathTree]
  /// The fields that are mapped to the whole JSON object instead of a path in it.
  let whole: [Leaf]
  /// Whether the values of the record are direct members of the JSON object, in the same order.
  let isFlat: Bool
  /// The keys of the members, in quotes, if the layout is flat; otherwise empty.
  let flatKeys: [[UInt8]]
  /// Whether all values are written without transformers, at paths that consist only of keys.
  let isPlain: Bool
  /// The enum cases or subclasses with their JSON tags; `nil` if the JSON object has no tag.
  let kinds: JSONKinds?
  /// The error that is thrown when a record with this layout is written; `nil` if the record can be written.
  let problem: ArchiveError?
  let typeName: String
  /// The number of fields in the record.
  let fieldCount: Int

  /// Creates a layout for records whose keys differ from the model's current keys, or for records that do not belong to a model.
  ///
  /// - Parameters:
  ///   - plan: the mapping; `nil` to write every key as a member.
  ///   - kinds: the enum cases or subclasses with their JSON tags; `nil` if the JSON object has no tag.
  ///   - writesUnknownKeys: whether keys without a mapping are written, after all other keys.
  ///   - marksFallbackPaths: whether the placeholder ``mark`` is written at the fallback paths of each field that has a value.
  convenience init(
    _ shape: RecordShape, _ plan: JSONPlan?, kinds: JSONKinds? = nil, writesUnknownKeys: Bool = true,
    marksFallbackPaths: Bool = false
  ) {
    self.init(
      shape.keys, shape.typeName, plan?.entries ?? [], plan?.problem, kinds, writesUnknownKeys: writesUnknownKeys,
      marksFallbackPaths: marksFallbackPaths)
  }

  /// The placeholder that is written at the fallback paths of a field in documents that are only compared and then discarded. Other
  /// documents do not contain this text, because U+E000 is in the private use area of Unicode.
  static let mark = ArchiveValue.string("\u{E000}")

  init(
    _ keys: [String], _ typeName: String, _ entries: [JSONPlan.Entry], _ problem: ArchiveError?,
    _ kinds: JSONKinds? = nil, writesUnknownKeys: Bool = true, marksFallbackPaths: Bool = false
  ) {
    var leaves: [Leaf] = []
    var whole: [Leaf] = []
    lazy var indices = Dictionary(
      keys.enumerated().map { (ExactKey($1), $0) }, uniquingKeysWith: { first, _ in first })
    for entry in entries where entry.json.isWritten {
      // Fast path: the keys of a record are in the order of the schema, unless the model writes its record with its own code.
      let isInPlace = entry.place < keys.count && keys[entry.place] == entry.field.key
      guard let index = isInPlace ? entry.place : indices[ExactKey(entry.field.key)] else { continue }
      if case .entireObject = entry.source {
        whole.append(Leaf(index: index, key: entry.field.key, entry: entry, path: ValuePath([])))
      }
      for path in entry.writtenPaths where !path.readsEach {
        leaves.append(Leaf(index: index, key: entry.field.key, entry: entry, path: path))
      }
      guard marksFallbackPaths else { continue }
      for path in entry.furtherPaths {
        let leaf = Leaf(index: index, key: entry.field.key, entry: entry, path: path, isFallbackPath: true)
        // No placeholder is written at a fallback path that conflicts with a path to which a field is written.
        let all = (entries.filter(\.json.isWritten).flatMap(\.writtenPaths) + leaves.map(\.path) + [path])
        guard Self.isLastPathFree(all) else { continue }
        leaves.append(leaf)
      }
    }
    var rests: [Leaf] = []
    if writesUnknownKeys, keys.count > entries.count {
      let known = Set(entries.map { ExactKey($0.field.key) })
      let shared = Set(leaves.compactMap { $0.path.components.count > 1 ? $0.path.firstKey.map { ExactKey($0) } : nil })
      for (index, key) in keys.enumerated() where !known.contains(ExactKey(key)) {
        let key = UnknownFields.key(ofArchived: key)
        let leaf = Leaf(index: index, key: key, entry: nil, path: ValuePath(key: key))
        if shared.contains(ExactKey(key)) { rests.append(leaf) } else { leaves.append(leaf) }
      }
    }
    nodes = JSONPathTree.nodes(leaves.map(\.path))
    isPlain =
      whole.isEmpty && rests.isEmpty && kinds == nil && !leaves.contains(where: \.isFallbackPath)
      && leaves.allSatisfy { leaf in
        (leaf.isPlain || leaf.entry?.json.transform == nil && leaf.entry?.json.nulls == .null)
          && leaf.path.components.allSatisfy(\.isKey)
      }
    isFlat =
      isPlain && nodes.count == keys.count
      && zip(nodes, nodes.indices).allSatisfy { $0.leaves == [$1] && leaves[$1].index == $1 && $0.children.isEmpty }
    flatKeys = isFlat ? nodes.map(\.quotedKey) : []
    self.typeName = typeName
    fieldCount = keys.count
    self.problem = problem ?? Self.problem(leaves, nodes, typeName)
    self.kinds = kinds
    self.rests = Dictionary(
      rests.enumerated().map { (ExactKey($1.key), leaves.count + $0) }, uniquingKeysWith: { first, _ in first })
    self.leaves = leaves + rests
    self.whole = whole
  }

  /// Returns whether the last path does not conflict with any other path.
  private static func isLastPathFree(_ paths: [ValuePath]) -> Bool {
    let last = paths.count - 1
    return !JSONPathTree.conflicts(in: JSONPathTree.nodes(paths)).contains { $0.number == last || $0.other == last }
  }

  private static func problem(_ leaves: [Leaf], _ nodes: [JSONPathTree], _ typeName: String) -> ArchiveError? {
    JSONPathTree.conflicts(in: nodes).min { $0.number < $1.number }.map { number, other in
      ArchiveError(
        .invalidMapping,
        "the JSON paths of \(leaves[number].key) and \(leaves[other].key) conflict; change one of the paths",
        path: [.key(leaves[number].key)], typeName: typeName)
    }
  }

  /// Returns the error for a key without a mapping that conflicts with the path of a field.
  func pathConflict(_ leaf: Leaf) -> ArchiveError {
    ArchiveError(
      .invalidMapping,
      "the unmapped key \(leaf.key) conflicts with the JSON path of a field; change the path of the field",
      path: [.key(leaf.key)], typeName: typeName)
  }

  /// Prepends the key of a field to the path of an error.
  func located(_ error: any Error, _ leaf: Leaf) -> ArchiveError {
    ArchiveError.wrap(error).prefixed(by: .key(leaf.key), json: leaf.entry?.components).inType(typeName)
  }
}
