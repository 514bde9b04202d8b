/// Named values with a type name and a model version: one archived object, before it becomes a model.
///
/// Each migration step receives the record that the previous step produced. An absent key returns `nil`; a key that
/// holds an explicit null returns `.null`.
public struct ModelRecord: Sendable {
  package var shape: RecordShape
  package var values: [ArchiveValue]

  package init(shape: RecordShape, values: [ArchiveValue]) {
    self.shape = shape
    self.values = values
  }

  /// Creates a record with the fields in this order. If a key repeats, its last value is kept.
  public init(typeName: String, modelVersion: Int?, fields: [(key: String, value: ArchiveValue)] = []) {
    self.init(
      typeName: typeName, modelVersion: modelVersion,
      object: ArchiveObject(fields.map { ArchiveObject.Entry(key: $0.key, value: $0.value) }))
  }

  /// A record with an object's entries as its fields.
  public init(typeName: String, modelVersion: Int?, object: ArchiveObject) {
    shape = RecordShape(typeName: typeName, modelVersion: modelVersion, keys: object.keys)
    values = object.entries.map(\.value)
  }

  /// The registered name of the type that wrote this record.
  public var typeName: String {
    get { shape.typeName }
    set { shape = shape.named(newValue, version: shape.modelVersion) }
  }

  /// The version of the model that wrote this record; `nil` if none was written.
  public var modelVersion: Int? {
    get { shape.modelVersion }
    set { shape = shape.named(shape.typeName, version: newValue) }
  }

  /// A superclass of an object's class.
  public struct Superclass: Sendable, Hashable {
    /// The registered name of the superclass.
    public var typeName: String
    /// The version that the superclass's fields have.
    public var modelVersion: Int

    /// A superclass and the version of its fields.
    public init(typeName: String, modelVersion: Int) {
      self.typeName = typeName
      self.modelVersion = modelVersion
    }
  }

  /// The superclasses of an object's class that are models too, the nearest first.
  public var superclasses: [Superclass] {
    get { shape.levels }
    set { shape = shape.withSuperclasses(newValue) }
  }

  /// The keys in the order in which they were written.
  public var keys: [String] { shape.keys }

  /// The keys and values in the order in which they were written.
  public var fields: [(key: String, value: ArchiveValue)] { Array(zip(shape.keys, values)) }

  /// The fields as an object without a type.
  public var object: ArchiveObject {
    ArchiveObject(uniqueEntries: zip(shape.keys, values).map { ArchiveObject.Entry(key: $0, value: $1) })
  }

  /// The value under a key; `nil` means absent, and setting `nil` removes the key.
  public subscript(key: String) -> ArchiveValue? {
    get { shape.place(of: key).map { values[$0] } }
    set {
      switch (shape.place(of: key), newValue) {
      case (let place?, let value?): values[place] = value
      case (let place?, nil):
        shape = shape.removing(at: place)
        values.remove(at: place)
      case (nil, let value?):
        shape = shape.adding(key)
        values.append(value)
      case (nil, nil): break
      }
    }
  }

  /// Renames the field `key` to `newKey`, and removes any other field with that name.
  ///
  /// - Returns: whether there was a field `key`.
  @discardableResult
  public mutating func rename(_ key: String, to newKey: String) -> Bool {
    guard shape.place(of: key) != nil else { return false }
    guard !ExactKey.isSame(key, newKey) else { return true }
    self[newKey] = nil
    guard let place = shape.place(of: key) else { return false }
    shape = shape.renaming(at: place, to: newKey)
    return true
  }

  /// Removes a field and returns its value.
  @discardableResult
  public mutating func removeValue(forKey key: String) -> ArchiveValue? {
    let value = self[key]
    self[key] = nil
    return value
  }
}

extension ModelRecord {
  /// Returns the record with each value replaced.
  func mapValues(_ replacement: (ArchiveValue) throws -> ArchiveValue) rethrows -> ModelRecord {
    ModelRecord(shape: shape, values: try values.map(replacement))
  }

  /// Whether two records have the same type name, version and superclasses.
  package func hasSameType(as other: ModelRecord) -> Bool {
    shape === other.shape || shape.hasSameType(as: other.shape)
  }
}

extension ModelRecord: Hashable {
  /// Whether type name, version, superclasses and the values under each key are equal. The order of the keys does not
  /// matter.
  ///
  /// - Complexity: the same as comparing values.
  public static func == (left: ModelRecord, right: ModelRecord) -> Bool { ArchiveValue.record(left) == .record(right) }

  public func hash(into hasher: inout Hasher) { ArchiveValue.record(self).hash(into: &hasher) }
}
