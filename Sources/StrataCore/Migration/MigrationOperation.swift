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
  case setDefault(String, Value)
  /// Turns a value into another kind. Absent and null stay.
  case convert(ValuePath, Conversion)
  /// Anything else, with what it does in a few words.
  case custom(String, @Sendable (inout ModelRecord) throws -> Void)

  /// Type name and version of a record that a move makes.
  public struct NestedRecord: Sendable, Hashable {
    public let typeName: String
    public let modelVersion: Int
    /// Shared by every record that is made, so that each key added to it leads to the same next shape.
    fileprivate let shape: RecordShape

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
    case .convert(let path, let conversion): "convert \(path) \(conversion)"
    case .custom(let description, _): description
    }
  }

  package var isData: Bool { if case .custom = self { false } else { true } }

  func apply(to record: inout ModelRecord) throws {
    switch self {
    case .rename(let key, let newKey): record.rename(key, to: newKey)
    case .drop(let path): _ = try record.take(path.keys[...])
    case .setDefault(let key, let value): if record[key] == nil { record[key] = value }
    case .move(let path, let newPath, let creating):
      if let value = try record.take(path.keys[...]) { try record.put(value, at: newPath.keys[...], creating) }
    case .convert(let path, let conversion):
      guard let value = try record.value(at: path.keys[...]), !value.isNull else { return }
      do { try record.put(conversion.apply(to: value), at: path.keys[...], nil) } catch {
        throw ArchiveError.wrap(error).prefixed(by: .key(path.description))
      }
    case .custom(_, let transform): try transform(&record)
    }
  }
}

extension ModelRecord {
  /// The value at a path through nested records and objects; `nil` where a key is absent.
  fileprivate func value(at path: ArraySlice<String>) throws -> Value? {
    guard let key = path.first, let value = self[key] else { return nil }
    return path.count == 1 ? value : try value.nested(key)?.value(at: path.dropFirst())
  }

  /// Takes the value at a path out.
  fileprivate mutating func take(_ path: ArraySlice<String>) throws -> Value? {
    guard let key = path.first, let value = self[key] else { return nil }
    guard path.count > 1 else { return removeValue(forKey: key) }
    guard var nested = try value.nested(key) else { return nil }
    let taken = try nested.take(path.dropFirst())
    self[key] = value.replacing(nested)
    return taken
  }

  /// Puts a value at a path, whose outer records must exist unless `creating` says what they are.
  fileprivate mutating func put(
    _ value: Value, at path: ArraySlice<String>, _ creating: MigrationOperation.NestedRecord?
  ) throws {
    guard let key = path.first else { return }
    guard path.count > 1 else {
      self[key] = value
      return
    }
    let outer = self[key] ?? .null
    guard
      var nested = try outer.nested(key)
        ?? creating.map({ ModelRecord(shape: $0.shape, values: []) })
    else {
      throw ArchiveError(
        .migrationFailed, "there is no record to move into; say with creating: which one to make", path: [.key(key)])
    }
    try nested.put(value, at: path.dropFirst(), creating)
    self[key] = outer.replacing(nested)
  }
}

extension Value {
  /// A record or an object as a record; `nil` for null.
  fileprivate func nested(_ key: String) throws -> ModelRecord? {
    switch self {
    case .record(let record): return record
    case .object(let object): return ModelRecord(typeName: "", modelVersion: nil, object: object)
    case .null: return nil
    default: throw ArchiveError(.typeMismatch, "found \(kind) where a record is expected", path: [.key(key)])
    }
  }

  /// The nested record in the form that this value has.
  fileprivate func replacing(_ nested: ModelRecord) -> Value {
    if case .object = self { return .object(nested.object) }
    return .record(nested)
  }
}
