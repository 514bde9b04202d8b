/// A transformer between the JSON value and the value of a field, without the generic input and output types.
package struct FieldTransform: Sendable {
  /// The output type of the transformer, which must match the type of the field.
  package let output: Any.Type
  /// Whether the transformer also receives null from JSON, and nil from the field when converting back.
  package let takesNull: Bool
  /// Whether the transformer's output is an untyped value that the field still has to decode.
  let isUntyped: Bool
  /// The reason why the transformer cannot be used for any field; otherwise `nil`.
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
      // The input of the transformer has one value for each path. A nil field has no such values, so null is returned
      // without calling the transformer, unless the transformer accepts nil.
      if input.isPaths, value.isNull, !(TypeShape(of: Output.self).isOptional) { return .null }
      // This value only serves as the input of the backward transformer. The hooks and rules of the models in it
      // therefore do not run.
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
  /// Whether the type is a dictionary of values by path. The archive value of such a dictionary is an object with the
  /// paths as keys.
  let isPaths = T.self == [ValuePath: ArchiveValue].self
  private let coding: Coding

  /// The conformance with which values of the type are decoded. It is looked up once for each transformer instead of
  /// once for each value.
  private enum Coding {
    case archivable(any (Archivable & SendableMetatype).Type)
    case decodable(any (Decodable & SendableMetatype).Type)
    /// The type has no conformance that can be stored. The conformance is looked up for each value, because it may be
    /// isolated to an actor, or the type may have none.
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

  /// Returns the reason why values of the type cannot be decoded or written; otherwise `nil`.
  ///
  /// - Parameter isWritten: whether the transformer also writes values of the type.
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

  /// Decodes a value of the type `T` with its `Archivable` conformance.
  ///
  /// - Parameter type: the type `T`, known to be archivable.
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

  /// Returns the archived form of a value of the type `T`; `nil` if the value is not an `A`.
  ///
  /// - Parameter type: the type `T`, known to be archivable.
  private static func value<A: Archivable>(of made: T, as type: A.Type) throws -> ArchiveValue? {
    try (made as? A)?.archivedValue(includingExcluded: true)
  }
}
