/// A model with a hand-written description of its fields, one line per field.
///
///     extension Point: DescribedModel {
///       static let fields = Fields(
///         Point.self, version: 1,
///         Field("x", \.x),
///         Field("y", \.y, default: 0),
///         make: { Point(x: $0, y: $1) })
///     }
public protocol DescribedModel: VersionedModel {
  /// The type of the description, which is ``Fields``. The compiler infers the type.
  associatedtype Description: FieldDescription where Description.Root == Self

  /// The name, version and fields of the model, and a closure that creates the model from the fields.
  static var fields: Description { get }
}

extension DescribedModel {
  public static var schema: ModelSchema { fields.schema }
  public init(fields reader: inout ArchiveReader) throws { self = try Self.fields.read(from: &reader) }
  public func encodeFields(to writer: inout ArchiveWriter) throws { try Self.fields.write(self, to: &writer) }
  public mutating func adoptFields(of other: Self) throws { try Self.fields.adopt(other, into: &self) }
  public mutating func readField(_ place: Int, from reader: inout ArchiveReader) throws {
    try Self.fields.readField(place, of: self, from: &reader)
  }
}

/// The interface of ``Fields`` that ``DescribedModel`` uses.
public protocol FieldDescription<Root>: Sendable {
  /// The type of the described model.
  associatedtype Root
  /// The schema, with the name, version and fields of the model.
  var schema: ModelSchema { get }
  /// Creates an object by reading its fields.
  func read(from reader: inout ArchiveReader) throws -> Root
  /// Writes the fields of an object in the order of the schema.
  func write(_ root: Root, to writer: inout ArchiveWriter) throws
  /// Copies the fields of `other` into the object `root`.
  func adopt(_ other: Root, into root: inout Root) throws
  /// Decodes one field of an existing object again and sets it. Used for objects in a reference cycle, whose fields
  /// cannot all be decoded when they are created.
  func readField(_ place: Int, of root: Root, from reader: inout ArchiveReader) throws
  /// Returns the key of the field that a property represents; `nil` if the property is not a field.
  func key(of property: PartialKeyPath<Root>) -> String?
}

extension FieldDescription {
  public func readField(_ place: Int, of root: Root, from reader: inout ArchiveReader) throws {
    throw reader.constantInCycle(place)
  }

  public func key(of property: PartialKeyPath<Root>) -> String? { nil }
}

/// A field of a ``DescribedModel``. The field's type must be archivable or `Codable`.
public struct Field<Root, Value>: Sendable {
  let info: FieldInfo
  let path: any KeyPath<Root, Value> & Sendable
  fileprivate let coding: FieldCoding<Value>

  /// Creates a field without a default. The key is required unless the type is optional.
  public init(
    _ key: String, _ path: any KeyPath<Root, Value> & Sendable, formerly: [String] = [],
    archive: ArchiveBehavior = .always, storage: StorageBehavior = .permanent, merge: MergePolicy = .automatic,
    json: JSONField = .automatic
  ) where Value: Archivable & SendableMetatype {
    self.init(key, path, FieldCoding(archive), formerly, archive, storage, merge, json)
  }

  /// Creates a field with a default, which is used if the key is absent.
  public init(
    _ key: String, _ path: any KeyPath<Root, Value> & Sendable, formerly: [String] = [],
    archive: ArchiveBehavior = .always, storage: StorageBehavior = .permanent, merge: MergePolicy = .automatic,
    json: JSONField = .automatic,
    unknown: UnknownCasePolicy = .fail, default makeDefault: @escaping @Sendable @autoclosure () -> Value
  ) where Value: Archivable & SendableMetatype {
    let coding = FieldCoding<Value>(archive, unknown: unknown, makeDefault)
    self.init(key, path, coding, formerly, archive, storage, merge, json, unknown, makeDefault)
  }

  /// Creates a field of a `Codable` type without a default. The key is required unless the type is optional.
  @_disfavoredOverload
  public init(
    _ key: String, _ path: any KeyPath<Root, Value> & Sendable, formerly: [String] = [],
    archive: ArchiveBehavior = .always, storage: StorageBehavior = .permanent, merge: MergePolicy = .automatic,
    json: JSONField = .automatic
  ) where Value: Codable & SendableMetatype {
    self.init(key, path, FieldCoding(codable: archive), formerly, archive, storage, merge, json)
  }

  /// Creates a field of a `Codable` type with a default, which is used if the key is absent.
  @_disfavoredOverload
  public init(
    _ key: String, _ path: any KeyPath<Root, Value> & Sendable, formerly: [String] = [],
    archive: ArchiveBehavior = .always, storage: StorageBehavior = .permanent, merge: MergePolicy = .automatic,
    json: JSONField = .automatic,
    unknown: UnknownCasePolicy = .fail, default makeDefault: @escaping @Sendable @autoclosure () -> Value
  ) where Value: Codable & SendableMetatype {
    let coding = FieldCoding<Value>(codable: archive, unknown: unknown, makeDefault)
    self.init(key, path, coding, formerly, archive, storage, merge, json, unknown, makeDefault)
  }

  private init(
    _ key: String, _ path: any KeyPath<Root, Value> & Sendable, _ coding: FieldCoding<Value>, _ formerly: [String],
    _ archive: ArchiveBehavior, _ storage: StorageBehavior, _ merge: MergePolicy, _ json: JSONField,
    _ unknown: UnknownCasePolicy = .fail, _ makeDefault: (@Sendable () -> Value)? = nil
  ) {
    let isConstant = Root.self is AnyClass && !(path is ReferenceWritableKeyPath<Root, Value>)
    info = FieldInfo(
      key, Value.self, formerly: formerly, archive: archive, storage: storage, merge: merge, json: json,
      unknown: unknown, isConstant: isConstant, default: makeDefault)
    self.path = path
    self.coding = coding
  }
}

/// A reference type that stores one field of ``Fields``. A reference is copied in one instruction, whereas copying the
/// field itself would require its generic metadata at run time.
private final class FieldBox<Root, Value>: Sendable {
  let field: Field<Root, Value>

  init(_ field: Field<Root, Value>) { self.field = field }

  func read(_ place: Int, _ reader: inout ArchiveReader) throws -> Value { try field.coding.read(place, &reader) }

  func write(_ root: Root, _ place: Int, _ writer: inout ArchiveWriter) throws {
    try field.coding.write(place, root[keyPath: field.path], &writer)
  }

  /// Decodes the field again and sets it in an existing object. Objects in a reference cycle require this second step.
  func readAgain(_ place: Int, _ reader: inout ArchiveReader, _ root: Root) throws {
    guard let path = field.path as? ReferenceWritableKeyPath<Root, Value> else { throw reader.constantInCycle(place) }
    root[keyPath: path] = try read(place, &reader)
  }

  func adopt(_ other: Root, _ root: Root) {
    guard let path = field.path as? ReferenceWritableKeyPath<Root, Value> else { return }
    root[keyPath: path] = other[keyPath: path]
  }
}

/// The fields of a ``DescribedModel``, in the order of the parameters of `make`.
public struct Fields<Root, each V>: FieldDescription {
  /// The schema, with the name, version and fields of the model.
  public let schema: ModelSchema
  /// A ``FieldBox`` for each type of the pack, in order. Stored as an array, because a tuple's layout would be computed
  /// again for each read.
  private let boxes: [any AnyObject & Sendable]
  private let make: @Sendable (repeat each V) throws -> Root

  /// Creates the description of a model.
  ///
  /// - Parameters:
  ///   - type: the type of the model.
  ///   - name: the registered name; by default the name of the type. The name must not change when the type is renamed.
  ///   - formerNames: earlier names of the type. Archives with these names can be read.
  ///   - version: the current version, 0 or greater, which is written to new archives.
  ///   - fields: the fields, in the order of the parameters of `make`.
  ///   - make: creates the object from the values of the fields.
  public init(
    _ type: Root.Type, name: String? = nil, formerNames: [String] = [], version: Int,
    _ fields: repeat Field<Root, each V>, make: @escaping @Sendable (repeat each V) throws -> Root
  ) {
    var infos: [FieldInfo] = []
    var boxes: [any AnyObject & Sendable] = []
    for field in repeat each fields {
      infos.append(field.info)
      boxes.append(FieldBox(field))
    }
    schema = ModelSchema(
      type, name: name ?? String(describing: type), formerNames: formerNames, version: version, fields: infos)
    self.boxes = boxes
    self.make = make
  }

  @inline(__always)
  private func box<Value>(_ place: Int, _ type: Value.Type) -> FieldBox<Root, Value> {
    unsafeDowncast(boxes[place], to: FieldBox<Root, Value>.self)
  }

  @inline(__always)
  private func readNext<Value>(_ type: Value.Type, _ place: inout Int, _ reader: inout ArchiveReader) throws -> Value {
    defer { place += 1 }
    return try box(place, type).read(place, &reader)
  }

  /// Reads the fields and creates the object with `make`.
  ///
  /// - Throws: any error that reading a field or calling `make` throws.
  public func read(from reader: inout ArchiveReader) throws -> Root {
    var place = 0
    return try make(repeat try readNext((each V).self, &place, &reader))
  }

  /// Writes the fields of an object in the order of the schema.
  public func write(_ root: Root, to writer: inout ArchiveWriter) throws {
    var place = 0
    for type in repeat (each V).self {
      try box(place, type).write(root, place, &writer)
      place += 1
    }
  }

  public func key(of property: PartialKeyPath<Root>) -> String? {
    var key: String?
    var place = 0
    for type in repeat (each V).self {
      let field = box(place, type).field
      if field.path as PartialKeyPath<Root> == property { key = field.info.key }
      place += 1
    }
    return key
  }

  public func readField(_ place: Int, of root: Root, from reader: inout ArchiveReader) throws {
    var current = 0
    for type in repeat (each V).self {
      if current == place { try box(place, type).readAgain(place, &reader, root) }
      current += 1
    }
  }

  /// Copies the fields of `other` into the object `root`. In a class, constant properties are not copied.
  public func adopt(_ other: Root, into root: inout Root) throws {
    guard Root.self is AnyClass else {
      root = other
      return
    }
    var place = 0
    for type in repeat (each V).self {
      box(place, type).adopt(other, root)
      place += 1
    }
  }
}
