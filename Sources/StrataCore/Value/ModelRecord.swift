/// An archived object before it is decoded as a model: named values, a type name and a model version.
///
/// Each migration step receives the record that the previous step produced. The subscript returns `nil` for an absent
/// key and `.null` for an explicit null.
public struct ModelRecord: Sendable {
  package var shape: RecordShape
  package var values: [ArchiveValue]

  package init(shape: RecordShape, values: [ArchiveValue]) {
    self.shape = shape
    self.values = values
  }

  /// Creates a record with the fields in the given order. If a key occurs more than once, its last value is kept.
  public init(typeName: String, modelVersion: Int?, fields: [(key: String, value: ArchiveValue)] = []) {
    self.init(
      typeName: typeName, modelVersion: modelVersion,
      object: ArchiveObject(fields.map { ArchiveObject.Entry(key: $0.key, value: $0.value) }))
  }

  /// Creates a record with the entries of an object as its fields.
  public init(typeName: String, modelVersion: Int?, object: ArchiveObject) {
    shape = RecordShape(typeName: typeName, modelVersion: modelVersion, keys: object.keys)
    values = object.entries.map(\.value)
  }

  /// The registered name of the type that wrote this record.
  public var typeName: String {
    get { shape.typeName }
    set { shape = shape.named(newValue, version: shape.modelVersion) }
  }

  /// The version of the model that wrote this record; `nil` if the record has no version.
  public var modelVersion: Int? {
    get { shape.modelVersion }
    set { shape = shape.named(shape.typeName, version: newValue) }
  }

  /// A superclass of an object's class, with the version of the superclass's fields.
  public struct Superclass: Sendable, Hashable {
    /// The registered name of the superclass.
    public var typeName: String
    /// The model version of the superclass's fields.
    public var modelVersion: Int

    /// Creates a superclass from its name and the version of its fields.
    public init(typeName: String, modelVersion: Int) {
      self.typeName = typeName
      self.modelVersion = modelVersion
    }
  }

  /// The superclasses of an object's class that are also models, nearest first.
  public var superclasses: [Superclass] {
    get { shape.levels }
    set { shape = shape.withSuperclasses(newValue) }
  }

  /// The keys in the order in which they were written.
  public var keys: [String] { shape.keys }

  /// The keys and values in the order in which they were written.
  public var fields: [(key: String, value: ArchiveValue)] { Array(zip(shape.keys, values)) }

  /// The fields as an object without a type name and a version.
  public var object: ArchiveObject {
    ArchiveObject(uniqueEntries: zip(shape.keys, values).map { ArchiveObject.Entry(key: $0, value: $1) })
  }

  /// The value under a key; `nil` if the key is absent. Setting `nil` removes the key.
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

  /// Renames the field `key` to `newKey`. An existing field `newKey` is removed.
  ///
  /// - Returns: whether the record had a field `key`.
  @discardableResult
  public mutating func rename(_ key: String, to newKey: String) -> Bool {
    guard shape.place(of: key) != nil else { return false }
    guard !ExactKey.isSame(key, newKey) else { return true }
    self[newKey] = nil
    guard let place = shape.place(of: key) else { return false }
    shape = shape.renaming(at: place, to: newKey)
    return true
  }

  /// Removes a field and returns its value; `nil` if the field was absent.
  @discardableResult
  public mutating func removeValue(forKey key: String) -> ArchiveValue? {
    let value = self[key]
    self[key] = nil
    return value
  }
}

extension ModelRecord {
  /// Returns a copy of the record in which each value is replaced with the result of `replacement`.
  func mapValues(_ replacement: (ArchiveValue) throws -> ArchiveValue) rethrows -> ModelRecord {
    ModelRecord(shape: shape, values: try values.map(replacement))
  }

  /// Returns whether two records have the same type name, version and superclasses.
  package func hasSameType(as other: ModelRecord) -> Bool {
    shape === other.shape || shape.hasSameType(as: other.shape)
  }
}

extension ModelRecord: Hashable {
  /// Whether two records have the same type name, version and superclasses, and equal values under the same keys. The
  /// order of the keys does not matter.
  ///
  /// - Complexity: the same as for comparing two ``ArchiveValue``s.
  public static func == (left: ModelRecord, right: ModelRecord) -> Bool { ArchiveValue.record(left) == .record(right) }

  public func hash(into hasher: inout Hasher) { ArchiveValue.record(self).hash(into: &hasher) }
}
