/// A model that describes itself with one line per field.
///
///     extension Point: DescribedModel {
///       static let fields = Fields(
///         Point.self, version: 1,
///         Field("x", \.x),
///         Field("y", \.y, default: 0),
///         make: { Point(x: $0, y: $1) })
///     }
public protocol DescribedModel: VersionedModel {
  /// The type of the description: ``Fields``, which the compiler infers.
  associatedtype Description: FieldDescription where Description.Root == Self

  /// The name, the version, the fields and a function that creates the object from them.
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

/// The interface of ``Fields`` for ``DescribedModel``.
public protocol FieldDescription<Root>: Sendable {
  /// The model.
  associatedtype Root
  /// Name, version and fields of the model.
  var schema: ModelSchema { get }
  /// Creates the object from its fields.
  func read(from reader: inout ArchiveReader) throws -> Root
  /// Writes the fields of an object, in their order.
  func write(_ root: Root, to writer: inout ArchiveWriter) throws
  /// Sets the fields of an object to those of another.
  func adopt(_ other: Root, into root: inout Root) throws
  /// Decodes one field of an object again and sets it. Objects in a reference cycle need it.
  func readField(_ place: Int, of root: Root, from reader: inout ArchiveReader) throws
  /// The key of the field of a property; `nil` if the property is not a field.
  func key(of property: PartialKeyPath<Root>) -> String?
}

extension FieldDescription {
  public func readField(_ place: Int, of root: Root, from reader: inout ArchiveReader) throws {
    throw reader.constantInCycle(place)
  }

  public func key(of property: PartialKeyPath<Root>) -> String? { nil }
}

/// A field of a ``DescribedModel``: of any type that archives can hold, or that is `Codable`.
public struct Field<Root, Value>: Sendable {
  let info: FieldInfo
  let path: any KeyPath<Root, Value> & Sendable
  private let coding: FieldCoding<Value>

  /// A required field, or an optional.
  public init(
    _ key: String, _ path: any KeyPath<Root, Value> & Sendable, formerly: [String] = [],
    archive: ArchiveBehavior = .always, storage: StorageBehavior = .permanent, merge: MergePolicy = .automatic,
    json: JSONField = .automatic
  ) where Value: Archivable & SendableMetatype {
    self.init(key, path, FieldCoding(archive), formerly, archive, storage, merge, json)
  }

  /// A field that takes a default if its key is absent.
  public init(
    _ key: String, _ path: any KeyPath<Root, Value> & Sendable, formerly: [String] = [],
    archive: ArchiveBehavior = .always, storage: StorageBehavior = .permanent, merge: MergePolicy = .automatic,
    json: JSONField = .automatic,
    unknown: UnknownCasePolicy = .fail, default makeDefault: @escaping @Sendable @autoclosure () -> Value
  ) where Value: Archivable & SendableMetatype {
    let coding = FieldCoding<Value>(archive, unknown: unknown, makeDefault)
    self.init(key, path, coding, formerly, archive, storage, merge, json, unknown, makeDefault)
  }

  /// A field whose type is only `Codable`. It is required, or an optional.
  @_disfavoredOverload
  public init(
    _ key: String, _ path: any KeyPath<Root, Value> & Sendable, formerly: [String] = [],
    archive: ArchiveBehavior = .always, storage: StorageBehavior = .permanent, merge: MergePolicy = .automatic,
    json: JSONField = .automatic
  ) where Value: Codable & SendableMetatype {
    self.init(key, path, FieldCoding(codable: archive), formerly, archive, storage, merge, json)
  }

  /// A field whose type is only `Codable` and that takes a default if its key is absent.
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

  func read(_ place: inout Int, _ reader: inout ArchiveReader) throws -> Value {
    defer { place += 1 }
    return try coding.read(place, &reader)
  }

  func write(_ root: Root, _ place: inout Int, _ writer: inout ArchiveWriter) throws {
    defer { place += 1 }
    try coding.write(place, root[keyPath: path], &writer)
  }

  /// Decodes the field again and sets it, if it has the wanted index.
  func readAgain(_ place: inout Int, _ wanted: Int, _ reader: inout ArchiveReader, _ root: Root) throws {
    guard place == wanted else {
      place += 1
      return
    }
    guard let path = path as? ReferenceWritableKeyPath<Root, Value> else { throw reader.constantInCycle(place) }
    root[keyPath: path] = try read(&place, &reader)
  }

  func adopt(_ other: Root, _ root: Root) {
    guard let path = path as? ReferenceWritableKeyPath<Root, Value> else { return }
    root[keyPath: path] = other[keyPath: path]
  }
}

/// The fields of a ``DescribedModel``, in the order in which `make` takes them.
public struct Fields<Root, each V>: FieldDescription {
  /// Name, version and fields of the model.
  public let schema: ModelSchema
  private let fields: (repeat Field<Root, each V>)
  private let make: @Sendable (repeat each V) throws -> Root

  /// Describes a model.
  ///
  /// - Parameters:
  ///   - type: the model.
  ///   - name: the registered name; by default the name of the type. It must stay when the type is renamed.
  ///   - formerNames: earlier names of the type. Archives with these names can be read.
  ///   - version: the current version, which new archives are stamped with; 0 or more.
  ///   - fields: the fields, in the order in which `make` takes them.
  ///   - make: creates the object from the values of the fields, in their order.
  public init(
    _ type: Root.Type, name: String? = nil, formerNames: [String] = [], version: Int,
    _ fields: repeat Field<Root, each V>, make: @escaping @Sendable (repeat each V) throws -> Root
  ) {
    var infos: [FieldInfo] = []
    for field in repeat each fields { infos.append(field.info) }
    schema = ModelSchema(
      type, name: name ?? String(describing: type), formerNames: formerNames, version: version, fields: infos)
    self.fields = (repeat each fields)
    self.make = make
  }

  /// Creates the object from its fields, with `make`.
  ///
  /// - Throws: the errors of reading a field and of `make`.
  public func read(from reader: inout ArchiveReader) throws -> Root {
    var place = 0
    return try make(repeat try (each fields).read(&place, &reader))
  }

  /// Writes the fields of an object, in their order.
  public func write(_ root: Root, to writer: inout ArchiveWriter) throws {
    var place = 0
    for field in repeat each fields { try field.write(root, &place, &writer) }
  }

  public func key(of property: PartialKeyPath<Root>) -> String? {
    var key: String?
    for field in repeat each fields {
      if field.path as PartialKeyPath<Root> == property { key = field.info.key }
    }
    return key
  }

  public func readField(_ place: Int, of root: Root, from reader: inout ArchiveReader) throws {
    var current = 0
    for field in repeat each fields { try field.readAgain(&current, place, &reader, root) }
  }

  /// Sets the fields of an object to those of another. Only variables of a class are set.
  public func adopt(_ other: Root, into root: inout Root) throws {
    guard Root.self is AnyClass else {
      root = other
      return
    }
    for field in repeat each fields { field.adopt(other, root) }
  }
}
