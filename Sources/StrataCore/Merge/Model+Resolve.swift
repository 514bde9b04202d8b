/// How somebody decides a conflict.
public enum MergeResolution: Sendable, Hashable {
  /// The value that the side had when they met.
  case base, local, server
  case value(Value)
}

extension Model {
  /// The conflicts of earlier merges that nobody resolved yet; empty where the model has no ``MergeState``.
  public var mergeConflicts: [MergeReport.Entry] { (try? mergeState?.conflicts) ?? [] }

  /// Decides a conflict: the value takes its place, and the model no longer remembers the conflict.
  ///
  /// - Parameters:
  ///   - conflict: one of ``mergeConflicts``, or of a report's ``MergeReport/conflicts``.
  ///   - resolution: the side that is right, or another value, in the type of the field.
  /// - Throws: ``ArchiveError`` with the code `mergeFailed` where the path no longer leads anywhere or the value is not
  ///   what the field holds, and `invalid` where the result breaks a rule. The object is then as it was.
  public mutating func resolve(_ conflict: MergeReport.Entry, with resolution: MergeResolution) throws {
    if isOfSubclass {
      func resolve<M: Model>(_ object: M) throws {
        var object = object
        try object.resolve(conflict, with: resolution)
      }
      return try resolve(dynamicModel)
    }
    let value: Value? =
      switch resolution {
      case .base: conflict.base
      case .local: conflict.local
      case .server: conflict.server
      case .value(let value): value
      }
    let neighbours = ObjectNeighbours()
    var values = try shallowRecord(neighbours)
    var catalog = SchemaCatalog()
    Self.collectSchemas(into: &catalog)
    var editor = PathEditor(neighbours: neighbours)
    do {
      guard case .record(let edited)? = try editor.set(value, at: conflict.path.components[...], in: .record(values))
      else { throw PathEditor.lost }
      values = edited
    } catch { throw ArchiveError.wrap(error).inType(Self.schema.name) }
    if let key = Self.schema.mergeStateKey, var state = try mergeState {
      state.conflicts.removeAll { $0.path == conflict.path }
      values[key] = state.value
    }
    let commit = MergeCommit(
      neighbours: neighbours, validates: true, updates: editor.updates.map { (number: $0.key, record: $0.value) })
    try commit.run(&self, values, runsHooks: catalog.finishesModels) { _, _ in true }
  }
}

/// Puts a value in its place in nested values and objects.
private struct PathEditor {
  let neighbours: ObjectNeighbours
  /// The new fields of objects on the way.
  var updates: [Int: Record] = [:]

  static var lost: ArchiveError {
    ArchiveError(.mergeFailed, "the path of the conflict no longer leads to a value")
  }

  /// - Parameter path: the rest of the way.
  mutating func set(_ new: Value?, at path: ArraySlice<MergePath.Component>, in value: Value?) throws -> Value? {
    guard let step = path.first else { return new }
    if case .reference(let number)? = value {
      let record = try updates[number] ?? neighbours.objects[number].shallowRecord(neighbours)
      guard case .record(let edited)? = try set(new, at: path, in: .record(record)) else { throw Self.lost }
      updates[number] = edited
      return value
    }
    switch (step, value) {
    case (.key(let key), .record(var record)?):
      record[key] = try set(new, at: path.dropFirst(), in: record[key])
      return .record(record)
    case (.key(let key), .object(var object)?):
      object[key] = try set(new, at: path.dropFirst(), in: object[key])
      return .object(object)
    case (.value(let key), .map(var entries)?):
      let place = entries.firstIndex { $0.key == key }
      let edited = try set(new, at: path.dropFirst(), in: place.map { entries[$0].value })
      if let place { entries.remove(at: place) }
      if let edited { entries.insert(.init(key: key, value: edited), at: place ?? entries.count) }
      return .map(entries)
    case (_, .array(var elements)?):
      let place = try elements.firstIndex { try matches($0, step) }
      let edited = try set(new, at: path.dropFirst(), in: place.map { elements[$0] })
      switch (place, edited) {
      case (let place?, let edited?): elements[place] = edited
      case (let place?, nil): elements.remove(at: place)
      case (nil, let edited?):
        guard path.count == 1 else { throw Self.lost }
        elements.append(edited)
      case (nil, nil): break
      }
      return .array(elements)
    default: throw Self.lost
    }
  }

  private func matches(_ element: Value, _ step: MergePath.Component) throws -> Bool {
    var opened = element
    if case .reference(let number) = element {
      opened = .record(try updates[number] ?? neighbours.objects[number].shallowRecord(neighbours))
    }
    return switch step {
    case .element(let key, let id): opened[key] == id
    case .value(let content): opened == content
    default: false
    }
  }
}
