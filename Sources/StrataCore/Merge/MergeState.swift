/// What merging remembers from one time to the next: the last server's state that was merged, and what is unresolved.
///
/// A model asks for it with a stored property of this type:
///
///     var merging = MergeState()
///
/// Then every merge has three sides without any book-keeping: the base is what the server had the last time, which is
/// what `init(fromJSON:)` read or the last merge took in. Archives keep it, at the version of the model that wrote them,
/// and it goes through the same steps when a newer version merges. JSON does not hold it, and the equality of ``FieldEquatable`` leaves it out; what the compiler makes does not.
///
/// The base is a copy of the model's fields, so archives grow by that much. Objects that refer to each other in circles
/// cannot be kept so; give those models' merges their base.
public struct MergeState: Sendable, Hashable {
  /// The server's state that was merged last; `nil` before the first one.
  public internal(set) var base: Record?
  /// The conflicts of earlier merges that nobody resolved yet, in the order in which they came up.
  public internal(set) var conflicts: [MergeReport.Entry] = []

  /// Nothing was merged yet.
  public init() {}

  /// A state in which the server had this.
  public init(base: Record?) { self.base = base }

  /// Takes in new conflicts, and lets go of those that a rule decided or that are none any more.
  ///
  /// A server that says nothing new decides nothing: the conflict stays until somebody resolves it.
  ///
  /// - Parameter agree: whether both sides have the same at a path by now.
  mutating func take(_ report: MergeReport, agree: (MergePath) -> Bool) {
    let decided = Set(report.entries.filter { $0.outcome != .local || $0.base != $0.server }.map(\.path))
    conflicts = conflicts.filter { !decided.contains($0.path) && !agree($0.path) } + report.conflicts
  }
}

extension MergeState: Archivable {
  public func write(to writer: inout ArchiveWriter) throws { try writer.write(value) }

  var value: Value {
    [
      "base": base.map { .record($0) } ?? .null,
      "conflicts": .array(
        conflicts.map { entry in
          var object = Object([
            .init(key: "path", value: .array(entry.path.components.map(\.value))),
            .init(key: "rule", value: .string(entry.rule)),
          ])
          object["base"] = entry.base
          object["local"] = entry.local
          object["server"] = entry.server
          return .object(object)
        }),
    ]
  }

  public static func make(from value: Value, in context: DecodingContext) throws -> MergeState {
    // JSON does not hold it, and an archive from before it was declared has nothing.
    guard !value.isNull else { return MergeState() }
    guard let object = value.objectValue else {
      throw ArchiveError.mismatch(expected: "what merging remembers", found: value.kind)
    }
    var state = MergeState(base: object["base"]?.recordValue)
    state.conflicts = try (object["conflicts"]?.arrayValue ?? []).map { conflict in
      guard let path = conflict["path"]?.arrayValue, let rule = conflict["rule"]?.stringValue else {
        throw ArchiveError(.damaged, "a conflict has a path and a rule")
      }
      return MergeReport.Entry(
        path: MergePath(try path.map { try MergePath.Component($0) }), outcome: .conflict, rule: rule,
        base: conflict["base"], local: conflict["local"], server: conflict["server"], result: conflict["local"])
    }
    return state
  }
}

extension MergePath.Component {
  /// A step as an archive holds it.
  var value: Value {
    switch self {
    case .key(let key): .string(key)
    case .index(let index): .integer(index)
    case .element(let key, let id): ["key": .string(key), "id": id]
    case .value(let value): ["value": value]
    }
  }

  init(_ value: Value) throws {
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

extension ModelSchema {
  /// The key of the field in which merging remembers something; `nil` where there is none.
  var mergeStateKey: String? { fields.first { $0.type is MergeState.Type }?.key }
}

extension Record {
  /// The record without what merging remembers in it, at any depth.
  func withoutMergeState(_ catalog: SchemaCatalog) -> Record {
    guard catalog.schemas.contains(where: { $0.mergeStateKey != nil }) else { return self }
    var result = self
    if let key = catalog[typeName]?.mergeStateKey { result[key] = nil }
    result.values = result.values.map { $0.withoutMergeState(catalog) }
    return result
  }
}

extension Value {
  fileprivate func withoutMergeState(_ catalog: SchemaCatalog) -> Value {
    switch self {
    case .record(let record): return .record(record.withoutMergeState(catalog))
    case .array(let elements): return .array(elements.map { $0.withoutMergeState(catalog) })
    case .object(let object):
      return .object(
        Object(uniqueEntries: object.entries.map { .init(key: $0.key, value: $0.value.withoutMergeState(catalog)) }))
    default: return self
    }
  }
}

extension Model {
  /// Takes the object as it is for the server's state, from which later edits start.
  mutating func rememberAsBase() throws {
    guard let key = Self.schema.mergeStateKey else { return }
    var catalog = SchemaCatalog()
    Self.collectSchemas(into: &catalog)
    let neighbours = ObjectNeighbours()
    var values = try shallowRecord(neighbours)
    values[key] = MergeState(base: try baseRecord(catalog)).value
    let context = DecodingContext(source: .merge, includesExcluded: true, finishesModels: false)
    try adoptFields(of: MergeCommit.made(Self.self, values, in: context, neighbours))
  }
}
