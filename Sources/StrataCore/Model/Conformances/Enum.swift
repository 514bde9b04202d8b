/// An enum with associated values and hand-written archiving code. To generate the code, declare the enum with `@Model(version:)` instead.
///
/// A value is archived as a record with a single key, which is the name of the case. The key's value contains the associated values. The
/// order of the cases does not matter, because they are archived by name. A migration step can rename a case like any other key.
public protocol EnumModel: VersionedModel {
  /// Writes the case with ``ArchiveWriter/beginCase(_:_:count:)``, then its associated values.
  func encodeCase(to writer: inout ArchiveWriter) throws
}

extension EnumModel {
  public init(fields reader: inout ArchiveReader) throws { throw reader.enumHasNoFields() }
  public func encodeFields(to writer: inout ArchiveWriter) throws { try encodeCase(to: &writer) }
}

/// The associated values of an archived case.
public struct CasePayload {
  package let values: ArchiveObject
  package let context: DecodingContext
  /// Whether the JSON document contains a single unlabeled associated value directly, instead of an object with all
  /// associated values.
  var isWhole = false

  /// Returns the associated value with this label. Values without a label have the labels `_0`, `_1` and so on by
  /// index.
  ///
  /// - Throws: ``ArchiveError`` if the value is absent or has a different type.
  public func value<T: Archivable>(_ label: String, _ type: T.Type = T.self) throws -> T {
    try value(label) { try T.decode(from: $0, in: context) }
  }

  /// Returns the associated value with this label, for a type that is `Codable` but not archivable.
  @_disfavoredOverload
  public func value<T: Decodable>(_ label: String, _ type: T.Type = T.self) throws -> T {
    try value(label) { try ValueCoding.decode(T.self, from: $0, in: context) }
  }

  /// Produces a compile-time error with a suggested fix for an associated value whose type cannot be archived.
  @available(
    *, unavailable,
    message:
      "archives cannot store values of this type; declare the type with @Model, make it Codable, or wrap the value in a type of your own"
  )
  @_disfavoredOverload
  public func value<T>(_ label: String, _ type: T.Type = T.self) throws -> T { try ArchiveReader.absent() }

  private func value<T>(_ label: String, _ make: (ArchiveValue) throws -> T) throws -> T {
    do {
      guard let value = values[label] else { return try ArchiveReader.absent() }
      return try make(value)
    } catch {
      throw ArchiveError.wrap(error).prefixed(by: .key(label), json: isWhole && label == "_0" ? [] : [.key(label)])
    }
  }
}

extension VersionedModel {
  public static func make(case name: String, payload: CasePayload) throws -> Self? { nil }

  static func makes(case name: String, _ payload: CasePayload) throws -> Bool {
    try make(case: name, payload: payload) != nil
  }

  /// Creates an enum value from the record of a case.
  package static func makeCase(of value: ArchiveValue, in context: DecodingContext) throws -> Self {
    try schema.check()
    let objects = context.objects
    try objects?.enterRecord(in: context)
    defer { objects?.leaveRecord() }
    var record: ModelRecord
    var age = RecordAge.newer
    // The path of the associated values in the JSON document, for error paths; `nil` if the source is not JSON.
    var place: (path: [ArchiveError.PathComponent], isWhole: Bool)?
    switch value {
    case .record(let found):
      record = try schema.upgraded(found, in: context)
      age = RecordAge(found, of: schema)
    case .object(let object) where context.source == .json:
      let found = try schema.jsonCase(in: object)
      (record, place) = (found.record, (found.path, found.isWhole))
    case .object(let object) where context.takesPlainObjects:
      record = ModelRecord(typeName: schema.name, modelVersion: schema.modelVersion, object: object)
    default: throw ArchiveError.mismatch(expected: "a record of \(schema.name)", found: value.kind).inType(schema.name)
    }
    guard record.keys.count == 1, let key = record.keys.first, case .object(let payload)? = record[key] else {
      throw ArchiveError(.damaged, "an enum record must have exactly one case", typeName: schema.name)
    }
    if let name = schema.caseName(key) {
      do {
        let values = CasePayload(values: payload, context: context, isWhole: place?.isWhole ?? false)
        if let made = try make(case: name, payload: values) {
          if !payload.isEmpty, let info = schema.cases.first(where: { $0.name == name }) {
            context.reportLabels(of: payload, info, schema, age: age)
          }
          return made
        }
      } catch {
        throw ArchiveError.wrap(error).prefixed(by: .key(key), json: place?.path ?? [.key(key)]).inType(schema.name)
      }
    }
    context.report.addUnknownCase(of: schema.name)
    if let type = Self.self as? any UnknownCaseRepresentable.Type, let value = type.unknownCase as? Self {
      return value
    }
    throw ArchiveError(
      .unknownCase,
      "the enum \(schema.name) has no case \(key); add the case, list the name as a former name of a case, "
        + "or declare an unknownCase",
      typeName: schema.name)
  }
}

extension ArchiveReader {
  /// Returns the error for an enum's `init(fields:)`, which is never called because
  /// ``VersionedModel/make(case:payload:)`` creates enum values.
  public func enumHasNoFields() -> ArchiveError {
    ArchiveError(.invalidSchema, "the schema of an enum must declare cases instead of fields")
  }
}

extension ArchiveWriter {
  /// Starts a case. The caller must then write exactly `count` associated values with the `payload` methods, and call
  /// ``endCase()``.
  public mutating func beginCase(_ schema: ModelSchema, _ name: String, count: Int) throws {
    try schema.check()
    guard let shape = schema.caseShapes[name] else {
      throw ArchiveError(
        .invalidSchema, "the schema does not declare the case \(name); add it to the cases of the schema",
        typeName: schema.name)
    }
    try beginRecord(shape)
    try enter()
    beginMap(count: count)
  }

  /// Writes an associated value.
  public mutating func payload<T: Archivable>(_ label: String, _ value: T) throws {
    write(label)
    do { try value.write(to: &self) } catch { throw ArchiveError.at(.key(label), error) }
  }

  /// Writes an associated value of a `Codable` type.
  @_disfavoredOverload
  public mutating func payload<T: Encodable>(_ label: String, _ value: T) throws {
    write(label)
    do { try write(codable: value) } catch { throw ArchiveError.at(.key(label), error) }
  }

  /// Produces a compile-time error with a suggested fix for an associated value whose type cannot be archived.
  @available(
    *, unavailable,
    message:
      "archives cannot store values of this type; declare the type with @Model, make it Codable, or wrap the value in a type of your own"
  )
  @_disfavoredOverload
  public mutating func payload<T>(_ label: String, _ value: T) throws {}

  /// Ends a case that was started with ``beginCase(_:_:count:)``.
  public mutating func endCase() {
    leave()
    leave()
  }
}
