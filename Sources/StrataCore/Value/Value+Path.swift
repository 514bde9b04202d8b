extension Value {
  /// The value at a path through nested records and objects; `nil` where a key is absent, or something on the way has no
  /// keys.
  public subscript(path: ValuePath) -> Value? {
    get {
      var value = self
      for key in path.keys {
        guard let next = value[key] else { return nil }
        value = next
      }
      return value
    }
    set {
      do { try set(newValue, at: path) } catch { preconditionFailure("\(error)") }
    }
  }

  /// Puts a value at a path, or with `nil` takes away what is there.
  ///
  /// Where null or nothing is on the way, objects are made of it. To take away what is not there changes nothing.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` where something on the way is neither an object, a record nor
  ///   null; the value is then as it was. The setter of `value[path]` ends the program there: use it where the shape is known.
  /// - Complexity: linear in the entries of the objects on the way.
  public mutating func set(_ newValue: Value?, at path: ValuePath) throws {
    try set(newValue, at: path.keys[...]) { _ in .object(Object()) }
  }

  /// - Parameter make: what is put where null or nothing is on the way; `nil` for an error of its own.
  package mutating func set(
    _ newValue: Value?, at keys: ArraySlice<String>, making make: (String) throws -> Value
  ) throws {
    guard let key = keys.first else { return }
    var outer = self
    switch outer {
    case .object, .record: break
    case .null:
      guard newValue != nil else { return }
      outer = try make(key)
    default: throw ArchiveError(.typeMismatch, "found \(kind) where an object or a record is expected")
    }
    let rest = keys.dropFirst()
    var inner = rest.isEmpty ? newValue : outer[key]
    if !rest.isEmpty {
      guard newValue != nil || inner != nil else { return }
      var next = inner ?? .null
      do { try next.set(newValue, at: rest, making: make) } catch { throw ArchiveError.at(.key(key), error) }
      inner = inner == nil && newValue == nil ? nil : next
    }
    outer.setEntry(key, inner)
    self = outer
  }

  /// - Precondition: this is an object or a record.
  private mutating func setEntry(_ key: String, _ value: Value?) {
    switch self {
    case .object(var object):
      self = .null
      object[key] = value
      self = .object(object)
    case .record(var record):
      self = .null
      record[key] = value
      self = .record(record)
    default: preconditionFailure("only called for what `set` found to have keys, and this is a \(kind)")
    }
  }
}

extension ModelRecord {
  /// The value at a path through nested records and objects, as that of ``Value``.
  public subscript(path: ValuePath) -> Value? {
    get { Value.record(self)[path] }
    set { do { try set(newValue, at: path) } catch { preconditionFailure("\(error)") } }
  }

  /// Puts a value at a path, or takes away what is there, as ``Value/set(_:at:)``.
  ///
  /// - Throws: as that.
  public mutating func set(_ newValue: Value?, at path: ValuePath) throws {
    var value = Value.record(self)
    try value.set(newValue, at: path)
    if case .record(let record) = value { self = record }
  }
}
