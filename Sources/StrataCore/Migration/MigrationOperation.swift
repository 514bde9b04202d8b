/// One change to a record. All except ``custom(_:changes:_:)`` are data, so that a tool can list them and apply them without the program's types.
///
/// A record of a Strata archive or a store is complete: it has each key of its version, and nil is null. If a complete
/// record lacks the key that an operation changes, the operation fails with the code `migrationFailed` and names the
/// keys that are present. ``ifPresent`` allows the record to lack it. Keyed archives, JSON and incoming values of a
/// merge may lack keys, and cases of enums have only the key of one case. Such a record stays unchanged if the key is
/// absent. A nested record that is null has no keys, and nothing inside it changes.
///
/// A path begins with a key of the record and has keys and indices. An array is filled with nulls up to a new index.
public enum MigrationOperation: Sendable, CustomStringConvertible {
  /// Renames a key. Fails if the record has both keys, unless it is `overwriting`.
  case rename(String, to: String, overwriting: Bool = false)
  /// Moves a value to another path, into a nested record or out of one. If the record at the new path does not exist,
  /// `creating` creates it. Fails if both paths have a value, unless it is `overwriting`.
  case move(ValuePath, to: ValuePath, creating: NestedRecord? = nil, overwriting: Bool = false)
  /// Removes a key. A record without the key stays unchanged.
  case drop(ValuePath)
  /// Sets a value if the key is absent. An explicit null stays. Nothing is set in a nested record that is null or absent.
  case setDefault(ValuePath, ArchiveValue)
  /// Replaces an explicit null, which is how an optional's nil was archived. An absent value stays absent.
  case replaceNull(ValuePath, with: ArchiveValue)
  /// Converts a value to another kind. Null stays.
  case convert(ValuePath, ValueConversion)
  /// An operation that leaves a record as it is if it lacks the key: see ``ifPresent``.
  indirect case optional(MigrationOperation)
  /// Any other change, with a short description. `changes` lists the keys that the closure may change or remove, so that
  /// the proof of StrataTesting (Docs/Evolving.md) reports a change of any other key; by default, that is every key.
  case custom(String, changes: [String]? = nil, @Sendable (inout ModelRecord) throws -> Void)

  /// The same operation, for keys that a complete record may lack.
  public var ifPresent: MigrationOperation { .optional(self) }

  /// The type name and version of a record that a move creates.
  public struct NestedRecord: Sendable, Hashable {
    /// The registered name of its model.
    public let typeName: String
    /// The version of its fields. The model's own steps upgrade it from there.
    public let modelVersion: Int
    /// Shared by every created record, so that these records also share the shapes with added keys.
    fileprivate let shape: RecordShape

    /// A record of a model, at the version that the step was written for.
    public init(_ typeName: String, version: Int) {
      self.typeName = typeName
      modelVersion = version
      shape = RecordShape(typeName: typeName, modelVersion: version, keys: [])
    }
  }

  public var description: String {
    switch self {
    case .rename(let key, let newKey, _): "rename \(key) to \(newKey)"
    case .move(let path, let newPath, _, _): "move \(path) to \(newPath)"
    case .drop(let path): "drop \(path)"
    case .setDefault(let path, _): "set the default of \(path)"
    case .replaceNull(let path, _): "replace null of \(path)"
    case .convert(let path, let conversion): "convert \(path) \(conversion)"
    case .optional(let operation): "\(operation) if present"
    case .custom(let description, _, _): description
    }
  }

  /// Describes the operation for an error. A conversion omits its path, because the error has it.
  var failure: String {
    switch self {
    case .convert(_, let conversion): "convert a value \(conversion)"
    case .optional(let operation): operation.failure
    default: description
    }
  }

  /// Changes a record.
  ///
  /// - Parameter isComplete: whether the record has each key of its version.
  /// - Returns: `false` if an incomplete record lacks the key that the operation changes.
  /// - Throws: an error if a complete record lacks the key, or if the operation fails.
  package func apply(to record: inout ModelRecord, isComplete: Bool) throws -> Bool {
    switch self {
    case .rename(let key, let newKey, let overwrites):
      guard record.shape.place(of: key) != nil else {
        return try record.lacks(ValuePath(key: key), isComplete: isComplete)
      }
      guard overwrites || ExactKey.isSame(key, newKey) || record.shape.place(of: newKey) == nil else {
        throw Self.occupied(key, newKey)
      }
      record.rename(key, to: newKey)
    case .drop(let path): try record.set(nil, at: path)
    case .setDefault(let path, let value):
      if try record.hasContainer(of: path), try record.value(at: path) == nil { try record.set(value, at: path) }
    case .move(let path, let newPath, let creating, let overwrites):
      guard let value = try record.value(at: path) else { return try record.lacks(path, isComplete: isComplete) }
      let source = try path.stepsOfRecord(), target = try newPath.stepsOfRecord()
      if case .index? = source.last, path != newPath, target.starts(with: source.dropLast()) {
        throw ArchiveError(
          .migrationFailed, "an element cannot be moved within its own array, whose indices change; use a closure")
      }
      if !overwrites, try record.value(at: newPath) != nil, path != newPath {
        throw Self.occupied("\(path)", "\(newPath)")
      }
      try record.set(nil, at: path)
      try record.set(value, at: target[...]) { try Self.container($0, $1, creating) }
    case .replaceNull(let path, let value):
      if case .null? = try record.value(at: path) { try record.set(value, at: path) }
    case .convert(let path, let conversion):
      guard let value = try record.value(at: path) else { return try record.lacks(path, isComplete: isComplete) }
      guard !value.isNull else { return true }
      do { try record.set(conversion.apply(to: value), at: path) } catch {
        throw ArchiveError.wrap(error).prefixed(by: path.errorPath)
      }
    case .optional(let operation): _ = try operation.apply(to: &record, isComplete: false)
    case .custom(_, _, let transform): try transform(&record)
    }
    return true
  }

  /// The paths that the operation removes values from and writes values to; `nil` if they are unknown. The keys that a closure declares are
  /// sources, because it may remove each of them.
  package var effect: (sources: [ValuePath], targets: [ValuePath])? {
    switch self {
    case .rename(let key, let newKey, _): ([ValuePath(key: key)], [ValuePath(key: newKey)])
    case .move(let path, let newPath, _, _): ([path], [newPath])
    case .drop(let path): ([path], [])
    case .setDefault(let path, _), .replaceNull(let path, _), .convert(let path, _): ([], [path])
    case .optional(let operation): operation.effect
    case .custom(_, let keys, _): keys.map { ($0.map { ValuePath(key: $0) }, []) }
    }
  }

  private static func occupied(_ source: String, _ target: String) -> ArchiveError {
    ArchiveError(
      .migrationFailed,
      "the record has both \(source) and \(target); drop one of them first, or pass overwriting: true to replace \(target)"
    )
  }

  /// Creates the record that a move needs in place of null.
  private static func container(_ found: ArchiveValue, _ step: ArchiveValue.Step, _ creating: NestedRecord?) throws
    -> ArchiveValue
  {
    guard found.isNull else { return try ArchiveValue.container(found, for: step) }
    guard let creating else {
      throw ArchiveError(
        .migrationFailed, "there is no record to move into; pass the record to create as creating:")
    }
    return .record(ModelRecord(shape: creating.shape, values: []))
  }
}

extension ModelRecord {
  fileprivate func value(at path: ValuePath) throws -> ArchiveValue? {
    // The fast path: most paths are keys of the record.
    if let key = path.onlyKey { return self[key] }
    return try ArchiveValue.record(self).value(at: path.stepsOfRecord())
  }

  /// Whether the value before the last step of a path is neither absent nor null.
  fileprivate func hasContainer(of path: ValuePath) throws -> Bool {
    if path.onlyKey != nil { return true }
    let container = try ArchiveValue.record(self).value(at: path.stepsOfRecord().dropLast())
    return container?.isNull == false
  }

  /// Determines why there is no value at a path.
  ///
  /// - Returns: `true` if a value along the path is null, so that no key is missing; `false` if an incomplete record lacks a key.
  /// - Throws: ``ArchiveError`` with the code `migrationFailed` if a complete record lacks a key.
  fileprivate func lacks(_ path: ValuePath, isComplete: Bool) throws -> Bool {
    var value = ArchiveValue.record(self)
    for (place, step) in path.errorPath.enumerated() {
      if value.isNull { return true }
      guard let next = value[step] else {
        guard isComplete else { return false }
        throw Self.missing(step, in: value).prefixed(by: Array(path.errorPath.prefix(place)))
      }
      value = next
    }
    return true
  }

  private static func missing(_ step: ArchiveValue.Step, in container: ArchiveValue) -> ArchiveError {
    let keys: [String] =
      switch container {
      case .record(let record): record.keys
      case .object(let object): object.keys
      default: []
      }
    let rest = keys.count > 20 ? " and \(keys.count - 20) more" : ""
    let present = keys.isEmpty ? "it has none" : "it has \(keys.prefix(20).joined(separator: ", "))\(rest)"
    let lack =
      switch step {
      case .key(let key): "the record has no key \(key) (\(present))"
      case .index(let index):
        "the array has no index \(index) (it has \((container.arrayValue?.count ?? 0).counting("element")))"
      }
    return ArchiveError(
      .migrationFailed, "\(lack); correct the step, or add .ifPresent if records of this version may lack it")
  }
}

extension ValuePath {
  /// The steps from a record to a value.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidMigration` if the path is a pattern or does not begin with a key.
  func stepsOfRecord() throws(ArchiveError) -> [ArchiveValue.Step] {
    let steps = try steps(.invalidMigration)
    guard firstKey != nil else {
      throw ArchiveError(.invalidMigration, "the path \(self) does not begin with a key of the record")
    }
    return steps
  }
}
