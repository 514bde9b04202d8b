/// A type-erased transformer that converts between the JSON value of a field and the field's value.
package struct FieldTransform: Sendable {
  /// The output type of the transformer, which must match the type of the field.
  package let output: Any.Type
  /// Whether the transformer also receives null from JSON, and nil from the field when converting back.
  package let takesNull: Bool
  /// Whether the transformer returns an untyped ``ArchiveValue``, which must still be decoded as the field's type.
  let isUntyped: Bool
  /// The reason why no field can use the transformer; `nil` if fields can use it.
  package let problem: String?
  package let read: @Sendable (ArchiveValue, DecodingContext) throws -> ArchiveValue
  package let write: (@Sendable (ArchiveValue) throws -> ArchiveValue)?

  package init<Input: SendableMetatype, Output: SendableMetatype>(
    _ transformer: ReversibleTransformer<Input, Output>
  ) {
    self.init(transformer.forward, transformer.backward, problem: transformer.problem)
  }

  package init<Input: SendableMetatype, Output: SendableMetatype>(_ transformer: Transformer<Input, Output>) {
    self.init(transformer, nil, problem: nil)
  }

  private init<Input: SendableMetatype, Output: SendableMetatype>(
    _ forward: Transformer<Input, Output>, _ backward: Transformer<Output, Input>?, problem: String?
  ) {
    let input = Side<Input>(), output = Side<Output>()
    self.output = Output.self
    takesNull = input.isPaths || TypeShape(of: Input.self).isOptional
    isUntyped = Output.self is ArchiveValue.Type
    self.problem = problem ?? input.problem(isWritten: backward != nil)
    let forward = TypeShape.archivable(Output.self) == nil ? forward : forward.unfinished
    read = { value, context in try output.value(Self.apply(forward, to: input.decode(value, in: context))) }
    guard let backward else {
      write = nil
      return
    }
    write = { value in
      // The backward transformer splits the field into one value per path. A nil field cannot be split, so null is returned without calling
      // the transformer, unless the transformer accepts nil.
      if input.isPaths, value.isNull, !(TypeShape(of: Output.self).isOptional) { return .null }
      // The decoded value is only passed to the backward transformer, so the hooks and validation rules of models are not run.
      let made = try output.decode(value, in: DecodingContext(includesExcluded: true, finishing: .never))
      return try input.value(Self.apply(backward, to: made))
    }
  }

  private static func apply<Input, Output>(
    _ transformer: Transformer<Input, Output>, to input: Input
  ) throws -> Output {
    do throws(TransformError) { return try transformer.transform(input) } catch {
      throw ArchiveError(
        .rejected, error.reason, path: error.path, underlying: error,
        input: error.input)
    }
  }
}

/// Converts between archive values and the input or output type of a transformer.
private struct Side<T: SendableMetatype>: Sendable {
  /// Whether `T` is a dictionary with one value per path. Such a dictionary is represented as an archive object whose keys are the paths.
  let isPaths = T.self == [ValuePath: ArchiveValue].self
  private let coding: Coding

  /// The conformance used to decode values of type `T`. The conformance is looked up once per transformer instead of once per value.
  private enum Coding {
    case archivable(any (Archivable & SendableMetatype).Type)
    case decodable(any (Decodable & SendableMetatype).Type)
    /// No conformance can be stored, because the type has none or its conformance is isolated to an actor. The conformance is looked up
    /// again for each value.
    case other
  }

  init() {
    if let type = TypeShape.sharedArchivable(T.self) {
      coding = .archivable(type)
    } else if TypeShape.archivable(T.self) == nil, let type = T.self as? any (Decodable & SendableMetatype).Type {
      coding = .decodable(type)
    } else {
      coding = .other
    }
  }

  /// Returns the reason why values of type `T` cannot be decoded or, if `isWritten` is true, encoded; `nil` if they can.
  ///
  /// - Parameter isWritten: whether the transformer also writes values of type `T`.
  func problem(isWritten: Bool) -> String? {
    if isPaths || TypeShape.archivable(T.self) != nil { return nil }
    if T.self is any Decodable.Type, !isWritten || T.self is any Encodable.Type { return nil }
    return Self.unknownType
  }

  private static var unknownType: String {
    "a transformer uses the type \(T.self), which is neither Archivable nor Codable; make the type Codable"
  }

  func decode(_ value: ArchiveValue, in context: DecodingContext) throws -> T {
    if isPaths {
      let entries = value.objectValue?.entries ?? []
      let values = Dictionary(
        entries.map { (ValuePath(parsing: $0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
      if let values = values as? T { return values }
    }
    let made: T? =
      switch coding {
      case .archivable(let type): try Self.decode(type, from: value, in: context)
      case .decodable(let type): try ValueCoding.decodeCodable(type, from: value, in: context) as? T
      case .other: try ValueCoding.decode(any: T.self, from: value, in: context).flatMap { $0 as? T }
      }
    guard let made else { throw ArchiveError(.invalidMapping, Self.unknownType) }
    return made
  }

  /// Decodes a value of type `T` with its `Archivable` conformance.
  ///
  /// - Parameter type: `T` itself, as an archivable type.
  private static func decode<A: Archivable>(
    _ type: A.Type, from value: ArchiveValue, in context: DecodingContext
  ) throws -> T? {
    try A.decode(from: value, in: context) as? T
  }

  func value(_ made: T) throws -> ArchiveValue {
    if isPaths, let values = made as? [ValuePath: ArchiveValue] {
      let entries = values.map { ArchiveObject.Entry(key: $0.memberKey, value: $1) }
      return .object(ArchiveObject(entries.sorted { $0.key < $1.key }))
    }
    // Strings and untyped values are converted directly. All other types are encoded to bytes first, which is slower.
    switch made {
    case let made as ArchiveValue: return made
    case let made as String: return .string(made)
    default: break
    }
    if case .archivable(let type) = coding, let value = try Self.value(of: made, as: type) { return value }
    return try ValueCoding.value(of: made)
  }

  /// Converts a value of type `T` to an ``ArchiveValue``. Returns `nil` if the value is not an `A`.
  ///
  /// - Parameter type: `T` itself, as an archivable type.
  private static func value<A: Archivable>(of made: T, as type: A.Type) throws -> ArchiveValue? {
    try (made as? A)?.archivedValue(includingExcluded: true)
  }
}
