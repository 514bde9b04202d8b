/// How somebody decides a conflict.
public enum MergeResolution: Sendable, Hashable {
  /// The value that the side had when they met.
  case base, server
  /// What is here now, also where it was edited since.
  case local
  case value(Value)
}

extension VersionedModel {
  /// The conflicts of earlier merges that nobody resolved yet; empty where the model has no ``MergeState``.
  ///
  /// Where an older version of the model wrote them, they have been through its steps.
  public var mergeConflicts: [MergeReport.Entry] {
    let state = try? mergeState
    // A property cannot throw; conflicts whose values no step can upgrade are shown as they were archived, and resolving
    // one throws.
    return (try? state?.upgraded(for: Self.self).conflicts) ?? state?.conflicts ?? []
  }

  /// Decides a conflict: the value takes its place, and the model no longer remembers the conflict.
  ///
  /// An object that the value stands for is the one here with its identity, where there is one.
  ///
  /// - Parameters:
  ///   - conflict: one of ``mergeConflicts``, or of a report's ``MergeReport/conflicts``.
  ///   - resolution: the side that is right, or another value, in the type of the field. ``MergeResolution/local`` leaves
  ///     what is here now.
  /// - Throws: ``ArchiveError`` with the code `mergeFailed` where the path no longer leads anywhere or the value is not
  ///   what the field holds, and `invalid` where the result breaks a rule. Every object is then as it was.
  public mutating func resolve(_ conflict: MergeReport.Entry, with resolution: MergeResolution) throws {
    if isOfSubclass {
      var object = dynamicModel
      return try object.resolveItself(conflict, resolution)
    }
    try resolveItself(conflict, resolution)
  }

  /// Says that the server has taken this object as it is: it is the base of later merges, and no conflict is kept.
  ///
  /// To be called when a push was answered with success. Without it the next answer tells as much, but for
  /// ``MergePolicy/sumOfDeltas``: what the server sends back counts like what it counted itself. Without a
  /// ``MergeState`` nothing happens.
  ///
  /// - Throws: ``ArchiveError`` where a field cannot be encoded, or a class does not take over fields.
  public mutating func acceptedByServer() throws {
    if isOfSubclass {
      var object = dynamicModel
      return try object.rememberAsBase()
    }
    try rememberAsBase()
  }

  /// What merging remembers of this object; `nil` where the model does not ask for it.
  var mergeState: MergeState? {
    get throws {
      guard let key = Self.schema.mergeStateKey else { return nil }
      let record = try shallowRecord(ReferencedObjects())
      return try MergeState.make(from: record[key] ?? .null, in: DecodingContext())
    }
  }

  private mutating func resolveItself(_ conflict: MergeReport.Entry, _ resolution: MergeResolution) throws {
    let graph = MergeGraph()
    let number = Self.schema.isObject ? graph.referenced.number(of: self) : nil
    let before = try number.map { try graph.record($0) } ?? shallowRecord(graph.referenced)
    var editor = PathEditor { try graph.record($0) }
    var values = before
    if resolution != .local {
      let value: Value? =
        switch resolution {
        case .base: conflict.base
        case .local: nil
        case .server: conflict.server
        case .value(let value): value
        }
      do {
        let root = number.map { Value.reference($0) } ?? .record(before)
        let objects = try LocalObjects(graph, root)
        let located = value.map(objects.located)
        let edited = try editor.set(located, at: conflict.path.components[...], in: .record(before))
        guard case .record(let record)? = edited else { throw PathEditor.lost }
        values = record
      } catch { throw ArchiveError.wrap(error).inType(Self.schema.name) }
    }
    var catalog = SchemaCatalog()
    Self.collectSchemas(into: &catalog)
    if let number { values = editor.updates.removeValue(forKey: number) ?? values }
    if let key = Self.schema.mergeStateKey, var state = try mergeState?.upgraded(for: Self.self) {
      state.conflicts.removeAll { $0.path == conflict.path }
      values[key] = state.value
    }
    let updates = try editor.updates.sorted { $0.key < $1.key }.map { number, record in
      ObjectLinking.Update(number: number, before: try graph.record(number), record: record)
    }
    let linking = try ObjectLinking(graph, nil, root: .record(values), updates: updates) { _ in before }
    let commit = MergeCommit(
      graph: graph, linking: linking, validates: true, runsHooks: catalog.finishesModels, rootNumber: number)
    _ = try commit.run(&self, before, mustAdopt: true)
  }
}

extension VersionedModel where Self: AnyObject {
  /// Decides a conflict: the value takes its place, and the object no longer remembers the conflict.
  public func resolve(_ conflict: MergeReport.Entry, with resolution: MergeResolution) throws {
    var object = dynamicModel
    try object.resolveItself(conflict, resolution)
  }

  /// Says that the server has taken this object as it is: it is the base of later merges, and no conflict is kept.
  public func acceptedByServer() throws {
    var object = dynamicModel
    try object.rememberAsBase()
  }
}

/// Finds the objects here that values of a report stand for.
private struct LocalObjects {
  private struct Identity: Hashable {
    let typeName: String
    let value: Value
  }

  private let graph: MergeGraph
  private var numbers: [Identity: Int] = [:]
  private var keys: [String: String] = [:]

  init(_ graph: MergeGraph, _ root: Value) throws {
    self.graph = graph
    var waiting: [Int] = []
    var seen = Set<Int>()
    func visit(_ value: Value) { value.forEachReference { if seen.insert($0).inserted { waiting.append($0) } } }
    visit(root)
    while let number = waiting.popLast() {
      let record = try graph.record(number)
      let schema = graph.schema(number)
      if let key = schema.identityKey, let id = record[key], !id.isNull {
        for name in [schema.name] + schema.superclasses.map(\.name) {
          keys[name] = key
          numbers[Identity(typeName: name, value: id)] = number
        }
      }
      visit(.record(record))
    }
  }

  func located(_ value: Value) -> Value {
    value.mapRecords { record in
      if let key = keys[record.typeName], let id = record[key],
        let number = numbers[Identity(typeName: record.typeName, value: id)]
      {
        return .reference(number)
      }
      return .record(ModelRecord(shape: record.shape, values: record.values.map(located)))
    }
  }
}
