/// A change to a record. All operations except ``custom(_:changes:_:)`` are data, so a tool can list them and apply
/// them without the program's types.
///
/// A record in a Strata archive or a store is complete: it has every key of its version, and nil is stored as null. If a complete record
/// lacks the key that an operation changes, the operation fails with the code `migrationFailed`, and the error names the keys that are
/// present. Use ``ifPresent`` if the record may lack the key. Records from keyed archives, JSON and merges can be incomplete, and a record
/// of an enum has only the key of its case. An incomplete record that lacks the key is not changed. If a nested record is null, operations
/// on its keys have no effect.
///
/// A path begins with a key of the record and continues with keys and indices. If an index is beyond the end of an
/// array, the array is filled with nulls up to that index.
public enum MigrationOperation: Sendable, CustomStringConvertible {
  /// Renames a key. Fails if the record has both the old and the new key, unless `overwriting` is true. In that case, the renamed value
  /// replaces the existing one.
  case rename(String, to: String, overwriting: Bool = false)
  /// Moves a value to another path, which may be inside or outside a nested record. If a nested record on the new path does not exist, it
  /// is created as described by `creating`. If the moved value is null and the upgraded record is complete, no nested record is created,
  /// and null is stored in its place. Fails if both paths have a value, unless `overwriting` is true.
  case move(ValuePath, to: ValuePath, creating: NestedRecord? = nil, overwriting: Bool = false)
  /// Removes a key. A record without the key is not changed.
  case drop(ValuePath)
  /// Sets a value if the key is absent. An explicit null is kept. If a nested record on the path is null or absent, nothing is set.
  case setDefault(ValuePath, ArchiveValue)
  /// Replaces an explicit null, which is the archived form of a nil optional, with the given value. If the key is absent, it stays absent.
  case replaceNull(ValuePath, with: ArchiveValue)
  /// Converts a value to another kind. A null stays null.
  case convert(ValuePath, ValueConversion)
  /// An operation that does not fail if a complete record lacks the operation's key. A record without the key is not changed. Created by
  /// ``ifPresent``.
  indirect case optional(MigrationOperation)
  /// Any other change, made by a closure. The string describes the change. `changes` lists the keys that the closure may change or remove;
  /// `nil` means any key. The migration proof in StrataTesting (Docs/Evolving.md) reports a closure that changes other keys.
  case custom(String, changes: [String]? = nil, @Sendable (inout ModelRecord) throws -> Void)

  /// The same operation, except that it does not fail if a complete record lacks the key. A record without the key is not changed.
  public var ifPresent: MigrationOperation { .optional(self) }

  /// The type name and version of a record that a move operation creates.
  public struct NestedRecord: Sendable, Hashable {
    /// The registered name of the record's model.
    public let typeName: String
    /// The version of the model that has the record's fields. The model's own steps upgrade the record to the current
    /// version.
    public let modelVersion: Int
    /// The shape (type name, version and keys) of a created record before keys are added. All created records share this object. Shapes
    /// with added keys are derived from it, so the records share those, too.
    fileprivate let shape: RecordShape

    /// Describes a record to create: the registered name of its model, and the version of the model that has the
    /// record's fields.
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

  /// A description of the operation for error messages. The description of a conversion omits the path, because the
  /// error already contains the path.
  var failure: String {
    switch self {
    case .convert(_, let conversion): "convert a value \(conversion)"
    case .setDefault(let path, _): "set \(path) to its default"
    case .replaceNull(let path, _): "replace null in \(path)"
    case .optional(let operation): operation.failure
    default: description
    }
  }

  /// Applies the operation to a record.
  ///
  /// - Parameters:
  ///   - isComplete: whether the record has every key of its version.
  ///   - allowsAbsence: whether a complete record may lack the key that the operation changes. See ``ifPresent``.
  /// - Returns: `false` if the record lacks the key that a rename, move or conversion changes, but is allowed to lack it. All other
  ///   operations return `true`, also those created by ``ifPresent``.
  /// - Throws: ``ArchiveError`` if a record lacks a key that it must have, or any other error that makes the operation fail.
  package func apply(
    to record: inout ModelRecord, isComplete: Bool, allowsAbsence: Bool = false
  ) throws -> Bool {
    let requiresKeys = isComplete && !allowsAbsence
    switch self {
    case .rename(let key, let newKey, let overwrites):
      guard record.shape.place(of: key) != nil else {
        return try record.lacks(ValuePath(key: key), isComplete: requiresKeys)
      }
      guard overwrites || ExactKey.isSame(key, newKey) || record.shape.place(of: newKey) == nil else {
        throw Self.occupied(key, newKey)
      }
      record.rename(key, to: newKey)
    case .drop(let path): try record.set(nil, at: path)
    case .setDefault(let path, let value):
      if try record.hasContainer(of: path), try record.value(at: path) == nil { try record.set(value, at: path) }
    case .move(let path, let newPath, let creating, let overwrites):
      guard let value = try record.value(at: path) else { return try record.lacks(path, isComplete: requiresKeys) }
      let source = try path.stepsOfRecord(), target = try newPath.stepsOfRecord()
      if case .index? = source.last, path != newPath, target.starts(with: source.dropLast()) {
        throw ArchiveError(
          .migrationFailed,
          "an element cannot be moved within its own array because the move changes indices; use .custom instead"
        )
      }
      if !overwrites, try record.value(at: newPath) != nil, path != newPath {
        throw Self.occupied("\(path)", "\(newPath)")
      }
      try record.set(nil, at: path)
      // If the record is incomplete, such as the incoming data of a merge, a nested record is created that contains only the null. If the
      // nested record were null itself, the merge would clear all fields of the local nested record.
      if isComplete, value.isNull, let absent = try record.absentContainer(of: target) {
        try record.set(.null, at: absent, making: ArchiveValue.container)
      } else {
        try record.set(value, at: target[...]) { try Self.container($0, $1, creating) }
      }
    case .replaceNull(let path, let value):
      if case .null? = try record.value(at: path) { try record.set(value, at: path) }
    case .convert(let path, let conversion):
      guard let value = try record.value(at: path) else { return try record.lacks(path, isComplete: requiresKeys) }
      guard !value.isNull else { return true }
      do { try record.set(conversion.apply(to: value), at: path) } catch {
        throw ArchiveError.wrap(error).prefixed(by: path.errorPath)
      }
    case .optional(let operation):
      _ = try operation.apply(to: &record, isComplete: isComplete, allowsAbsence: true)
    case .custom(_, _, let transform): try transform(&record)
    }
    return true
  }

  /// The paths that the operation removes values from, and the paths that it writes values to; `nil` if they are unknown. The keys that a
  /// closure declares are listed as sources, because the closure may remove any of them.
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
      "the record has both the key \(source) and the key \(target); drop one of them first, or pass overwriting: true "
        + "to replace \(target)"
    )
  }

  /// Returns a new record to replace a null on the target path of a move. Throws if `found` is not null, or if `creating` is `nil`.
  private static func container(_ found: ArchiveValue, _ step: ArchiveValue.Step, _ creating: NestedRecord?) throws
    -> ArchiveValue
  {
    guard found.isNull else { return try ArchiveValue.container(found, for: step) }
    guard let creating else {
      throw ArchiveError(
        .migrationFailed,
        "the record into which the value is moved does not exist; describe the record to create in the argument "
          + "“creating”"
      )
    }
    return .record(ModelRecord(shape: creating.shape, values: []))
  }
}

extension ModelRecord {
  fileprivate func value(at path: ValuePath) throws -> ArchiveValue? {
    // Most paths consist of a single key, and the subscript is faster for them.
    if let key = path.onlyKey { return self[key] }
    return try ArchiveValue.record(self).value(at: path.stepsOfRecord())
  }

  /// Returns the path to the outermost record or array on `path` that is absent or null; `nil` if all of them exist. The value at `path`
  /// itself is not checked.
  fileprivate func absentContainer(of path: [ArchiveValue.Step]) throws -> ArraySlice<ArchiveValue.Step>? {
    guard path.count > 1 else { return nil }
    let root = ArchiveValue.record(self)
    return try (1..<path.count).lazy.map { path.prefix($0) }.first { try root.value(at: $0)?.isNull ?? true }
  }

  /// Whether the record or array that directly contains the value at `path` exists and is not null.
  fileprivate func hasContainer(of path: ValuePath) throws -> Bool {
    if path.onlyKey != nil { return true }
    let container = try ArchiveValue.record(self).value(at: path.stepsOfRecord().dropLast())
    return container?.isNull == false
  }

  /// Finds out why the record has no value at a path.
  ///
  /// - Returns: `true` if a value along the path is null, so that no key is missing; `false` if the record is incomplete and lacks a key.
  /// - Throws: ``ArchiveError`` with the code `migrationFailed` if the record is complete and lacks a key.
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
    let present = keys.isEmpty ? "none" : "\(keys.prefix(20).joined(separator: ", "))\(rest)"
    let reason =
      switch step {
      case .key(let key):
        "the record has no key \(key) (existing keys: \(present)); correct the step, or add .ifPresent if records of "
          + "this version may lack the key"
      case .index(let index):
        "the index \(index) is out of range for an array of \((container.arrayValue?.count ?? 0).counting("element")); "
          + "correct the step, or add .ifPresent if arrays of this version may lack the element"
      }
    return ArchiveError(.migrationFailed, reason)
  }
}

extension ValuePath {
  /// Returns the path's steps from a record to a value.
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
