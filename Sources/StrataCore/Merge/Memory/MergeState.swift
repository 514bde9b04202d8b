/// The memory of a model across merges: the last known state of the server, and the unresolved conflicts.
///
/// To use merge state, add a stored property of this type to the model:
///
///     var merging = MergeState()
///
/// Every merge is then a three-way merge without any bookkeeping. The base is the last known state of the server: the values that
/// `init(fromJSON:)` read, or that merges accepted from the server. Local values never become part of the base, so the base may lack keys
/// whose server value is not known. Archives contain the state. When an archive is read, the upgrade steps of the model also upgrade the
/// base. JSON does not contain the state. Comparisons by ``FieldEquatable`` ignore the state. A synthesized `==` does not.
///
/// The base is a copy of the model's fields and of all referenced objects, so archives grow by the size of this copy.
public struct MergeState: Sendable, Hashable {
  /// The state of the server, as far as it is known; `nil` before the first merge.
  ///
  /// An object that is referenced once is stored inline. An object that is referenced more often, or that is nested too deeply, is stored
  /// separately, and each reference to it is a record of the type `strata.reference`.
  public internal(set) var base: ModelRecord?
  /// The objects of the base that are not stored inline.
  var objects: [ModelRecord] = []
  /// The keys of fields that archives leave out, by type name. Archives leave these fields out of the base, too.
  var excludedKeys: [String: [String]] = [:]
  /// The unresolved conflicts of earlier merges, in the order in which they occurred.
  public internal(set) var conflicts: [MergeReport.Entry] = []

  /// Creates the state before the first merge.
  public init() {}

  /// Creates a state with a base, which is the known state of the server.
  public init(base: ModelRecord?) { self.base = base }

  /// The type name of a record that refers to an object by number. Number 0 is the model itself, and `objects` are numbered from 1.
  static let referenceName = "strata.reference"

  static func reference(_ number: Int) -> ArchiveValue {
    .record(ModelRecord(typeName: referenceName, modelVersion: nil, fields: [("number", .integer(number))]))
  }

  /// Reads a base as a value of the model's current version. Models in the result may lack keys.
  func read(_ base: ModelRecord, _ type: any VersionedModel.Type, _ reader: PartReader) throws -> ArchiveValue {
    try reader.register(([base] + objects).map { .record($0) }, for: type)
    return try reader.read(type, type.schema.isObject ? Self.reference(0) : .record(base))
  }

  /// Updates the state after a merge: stores the server's values and new conflicts, and removes conflicts that have ended or that a rule,
  /// such as a merge policy, has decided.
  ///
  /// If the server sends nothing new, the merge decides nothing, and a conflict stays until it is resolved.
  ///
  /// - Parameter decided: the paths of values that a rule decided.
  mutating func move(
    to server: ServerState, _ report: MergeReport, decided: [ValuePath], _ result: ModelRecord
  ) throws {
    if !conflicts.isEmpty {
      // A decision about a value also applies to the conflicts inside the value.
      let decided = PathTree(decided.map(\.components))
      // An outdated conflict has a path of an older version of the model, which cannot be used to check whether the conflict has ended.
      let rest = conflicts.filter { $0.isOutdated || !decided.covers($0.path.components) }
      let ended = try server.ended(rest.map(\.path), with: result)
      conflicts = zip(rest, ended).filter { $0.isOutdated || !$1 }.map(\.0)
    }
    conflicts += report.conflicts
    (base, objects) = try server.remembered()
    excludedKeys = RememberedGraph.excludedKeys(server.catalog)
  }
}

extension MergeState {
  /// Removes a resolved conflict. If several conflicts have the same path, which is possible for elements with the same identity, the one
  /// with the same values is removed.
  mutating func forget(_ conflict: MergeReport.Entry) {
    let places = conflicts.indices.filter { conflicts[$0].path == conflict.path }
    func isSame(_ other: MergeReport.Entry) -> Bool {
      other.base == conflict.base && other.local == conflict.local && other.server == conflict.server
    }
    let place = places.count == 1 ? places.first : places.first { isSame(conflicts[$0]) }
    if let place { conflicts.remove(at: place) }
  }
}

extension MergeState: Archivable {
  public func write(to writer: inout ArchiveWriter) throws {
    try writer.write(writer.includesExcluded || excludedKeys.isEmpty ? value : archived.value)
  }

  /// The state without the fields that archives leave out.
  private var archived: MergeState {
    func plain(_ record: ModelRecord) -> ModelRecord {
      var result = record
      for key in excludedKeys[record.typeName] ?? [] { result[key] = nil }
      return result.mapValues { value in value.mapRecords { .record(plain($0)) } }
    }
    func plain(_ value: ArchiveValue?) -> ArchiveValue? { value?.mapRecords { .record(plain($0)) } }
    var state = self
    state.excludedKeys = [:]
    state.base = base.map(plain)
    state.objects = objects.map(plain)
    var lists = Lists()
    state.conflicts = conflicts.filter { !isExcluded($0.path, &lists) }.map { conflict in
      MergeReport.Entry(
        path: conflict.path, outcome: conflict.outcome, rule: conflict.rule, base: plain(conflict.base),
        local: plain(conflict.local), server: plain(conflict.server), result: plain(conflict.result),
        isOutdated: conflict.isOutdated)
    }
    return state
  }

  /// Whether a path contains a field that archives leave out. If the type of the model cannot be found in the base, only the key is
  /// checked.
  private func isExcluded(_ path: ValuePath, _ lists: inout Lists) -> Bool {
    var value = base.map { ArchiveValue.record($0) }
    for step in path.components {
      guard case .key(let key) = step else {
        value = element(step, of: value, &lists)
        continue
      }
      let keys = value?.recordValue.map { excludedKeys[$0.typeName] ?? [] } ?? excludedKeys.values.flatMap(\.self)
      if value?.objectValue == nil, keys.contains(key) { return true }
      value = opened(value?[key])
    }
    return false
  }

  /// A cache for finding elements in the lists of the base, indexed by list, identity key and identity.
  private typealias Lists = [StorageIdentity: [IdentityKey: [ArchiveValue: ArchiveValue]]]

  /// Returns the element that a path step refers to in a container of the base. If a list has no element with the identity, returns the
  /// first model of the list, because it has the type of the elements.
  private func element(
    _ step: ValuePath.Component, of value: ArchiveValue?, _ lists: inout Lists
  ) -> ArchiveValue? {
    switch step {
    case .element(let key, let id):
      guard let elements = value?.arrayValue else { return nil }
      let list = StorageIdentity(elements)
      if lists[list]?[key] == nil {
        let known = elements.compactMap { opened($0).flatMap { model in model[key].map { ($0, model) } } }
        lists[list, default: [:]][key] = Dictionary(known, uniquingKeysWith: { first, _ in first })
      }
      return lists[list]?[key]?[id] ?? elements.lazy.compactMap(opened).first { $0.recordValue != nil }
    case .index(let index):
      return value?.arrayValue.flatMap { $0.indices.contains(index) ? opened($0[index]) : nil }
    case .value(let content): return opened(value?.members(arePairs: true)?.first { $0.step == step }?.value ?? content)
    case .key, .anyKey, .anyElement: return nil
    }
  }

  /// Returns the separately stored object that a record of the type `strata.reference` refers to. Number 0 refers to the base itself. Any
  /// other value is returned unchanged.
  private func opened(_ value: ArchiveValue?) -> ArchiveValue? {
    guard let record = value?.recordValue, record.typeName == Self.referenceName else { return value }
    guard let number = record["number"]?.intValue, number > 0 else { return base.map { .record($0) } }
    return objects.indices.contains(number - 1) ? .record(objects[number - 1]) : nil
  }

  var value: ArchiveValue {
    var object = ArchiveObject([
      .init(key: "base", value: base.map { .record($0) } ?? .null),
      .init(
        key: "conflicts",
        value: .array(
          conflicts.map { entry in
            var object = ArchiveObject([
              .init(key: "path", value: .array(entry.path.components.map(\.value))),
              .init(key: "rule", value: .string(entry.rule)),
            ])
            object["base"] = entry.base
            object["local"] = entry.local
            object["server"] = entry.server
            if entry.isOutdated { object["outdated"] = true }
            return .object(object)
          })),
    ])
    if !objects.isEmpty { object["objects"] = .array(objects.map { .record($0) }) }
    if !excludedKeys.isEmpty {
      // Only copies in memory need these keys, because archives leave out the fields.
      object["excluded"] = .object(
        ArchiveObject(
          excludedKeys.sorted { $0.key < $1.key }.map { name, keys in
            ArchiveObject.Entry(key: name, value: .array(keys.map { .string($0) }))
          }))
    }
    return .object(object)
  }

  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> MergeState {
    // The value is null in JSON, which does not contain the state, and in archives that are older than the property.
    guard !value.isNull else { return MergeState() }
    guard let object = value.objectValue else {
      throw ArchiveError.mismatch(expected: "a merge state", found: value.kind)
    }
    var state = MergeState()
    switch object["base"] {
    case nil, .null?: break
    case .record(let record)?:
      state.base = record
      context.hasMergeBase = true
    default: throw ArchiveError(.damaged, "the base of the merge state is not a record", path: [.key("base")])
    }
    func list(_ key: String) throws -> [ArchiveValue] {
      guard let value = object[key], !value.isNull else { return [] }
      guard case .array(let elements) = value else {
        throw ArchiveError(.damaged, "the value of \(key) in the merge state is not an array", path: [.key(key)])
      }
      return elements
    }
    state.objects = try list("objects").map { object in
      guard case .record(let record) = object else {
        throw ArchiveError(.damaged, "an object in the merge state is not a record")
      }
      return record
    }
    for entry in object["excluded"]?.objectValue?.entries ?? [] {
      state.excludedKeys[entry.key] = entry.value.arrayValue?.compactMap(\.stringValue) ?? []
    }
    state.conflicts = try list("conflicts").map { conflict in
      guard let path = conflict["path"]?.arrayValue, let rule = conflict["rule"]?.stringValue else {
        throw ArchiveError(.damaged, "a conflict in the merge state has no path or no rule")
      }
      return MergeReport.Entry(
        path: ValuePath(try path.map { try ValuePath.Component($0) }), outcome: .conflict, rule: rule,
        base: conflict["base"], local: conflict["local"], server: conflict["server"], result: conflict["local"],
        isOutdated: conflict["outdated"] == true)
    }
    return state
  }
}

extension MergeState: FinishingLibraryField {
  package static func prepare<M: VersionedModel>(_ model: inout M, in context: DecodingContext) throws {
    if context.source == .archive { try model.upgradeMergeState(in: context) }
  }

  package static func complete<M: VersionedModel>(_ model: inout M, in context: DecodingContext) throws {
    if context.source == .json { try model.rememberAsBase() }
  }
}

extension ModelSchema {
  /// The key of the field that holds the merge state; `nil` if there is none.
  var mergeStateKey: String? {
    libraryField is MergeState.Type ? fields.first { $0.type is MergeState.Type }?.key : nil
  }
}

extension VersionedModel {
  /// Stores the model's current values as the base of later merges.
  mutating func rememberAsBase() throws {
    // A model without a ``MergeState`` cannot store a base, so it need not be encoded.
    guard Swift.type(of: dynamicModel).schema.mergeStateKey != nil else { return }
    let snapshot = try MergeSnapshot(self)
    var state = MergeState()
    (state.base, state.objects) = try RememberedGraph.encoded(
      snapshot.catalog, snapshot.root, record: snapshot.graph.record)
    state.excludedKeys = RememberedGraph.excludedKeys(snapshot.catalog)
    try snapshot.set(state, of: &self)
  }
}

extension MergeState: CustomStringConvertible {
  /// One line without values: the type of the base, and the paths of the conflicts.
  public var description: String {
    guard base != nil || !conflicts.isEmpty else { return "no merge recorded" }
    let known = base.map { "base of type \($0.typeName)" } ?? "no base"
    guard !conflicts.isEmpty else { return known }
    let paths = conflicts.map(\.path.description).joined(separator: ", ")
    return "\(known), \(conflicts.count.counting("conflict")): \(paths)".onOneLine
  }
}
