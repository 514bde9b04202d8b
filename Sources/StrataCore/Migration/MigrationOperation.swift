/// One change to a record. All but ``custom(_:_:)`` are data, so that a tool can list them and apply them without the
/// program's types.
public enum MigrationOperation: Sendable, CustomStringConvertible {
  /// Gives a key another name; a field that has it already goes. A record without the key stays as it is.
  case rename(String, to: String)
  /// Moves a value to another place, into a nested record or out of one. Where the place lies in a record that does
  /// not exist, `creating` makes it. A record without the value stays as it is.
  case move(ValuePath, to: ValuePath, creating: NestedRecord? = nil)
  /// Takes a key out.
  case drop(ValuePath)
  /// Sets a value where the key is absent; an explicit null stays.
  case setDefault(String, ArchiveValue)
  /// Sets a value in the place of an explicit null, which is how an optional's nil was archived; what is absent stays.
  case replaceNull(ValuePath, with: ArchiveValue)
  /// Turns a value into another kind. Absent and null stay.
  case convert(ValuePath, ValueConversion)
  /// Anything else, with what it does in a few words.
  case custom(String, @Sendable (inout ModelRecord) throws -> Void)

  /// Type name and version of a record that a move makes.
  public struct NestedRecord: Sendable, Hashable {
    /// The registered name of its model.
    public let typeName: String
    /// The version of its fields, from which its own steps go on.
    public let modelVersion: Int
    /// Shared by every record that is made, so that each key added to it leads to the same next shape.
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
    case .rename(let key, let newKey): "rename \(key) to \(newKey)"
    case .move(let path, let newPath, _): "move \(path) to \(newPath)"
    case .drop(let path): "drop \(path)"
    case .setDefault(let key, _): "set the default of \(key)"
    case .replaceNull(let path, _): "replace null of \(path)"
    case .convert(let path, let conversion): "convert \(path) \(conversion)"
    case .custom(let description, _): description
    }
  }

  /// What the operation does, for an error that has the path: a conversion fails at its own.
  var failure: String {
    if case .convert(_, let conversion) = self { "convert a value \(conversion)" } else { description }
  }

  func apply(to record: inout ModelRecord) throws {
    switch self {
    case .rename(let key, let newKey): record.rename(key, to: newKey)
    case .drop(let path): try record.set(nil, at: path)
    case .setDefault(let key, let value): if record[key] == nil { record[key] = value }
    case .move(let path, let newPath, let creating):
      guard let value = try ArchiveValue.record(record).value(at: path.steps) else { return }
      try record.set(nil, at: path)
      try record.set(value, at: newPath.steps[...]) { try Self.container($0, $1, creating) }
    case .replaceNull(let path, let value):
      if case .null? = try ArchiveValue.record(record).value(at: path.steps) { try record.set(value, at: path) }
    case .convert(let path, let conversion):
      guard let value = try ArchiveValue.record(record).value(at: path.steps), !value.isNull else { return }
      do { try record.set(conversion.apply(to: value), at: path) } catch {
        throw ArchiveError.wrap(error).prefixed(by: path.steps)
      }
    case .custom(_, let transform): try transform(&record)
    }
  }

  /// What a move makes of null for a step.
  private static func container(_ found: ArchiveValue, _ step: ArchiveValue.Step, _ creating: NestedRecord?) throws
    -> ArchiveValue
  {
    guard found.isNull else { return try ArchiveValue.container(found, for: step) }
    guard let creating else {
      throw ArchiveError(
        .migrationFailed, "there is no record to move into; say with creating: which one to make")
    }
    return .record(ModelRecord(shape: creating.shape, values: []))
  }
}
