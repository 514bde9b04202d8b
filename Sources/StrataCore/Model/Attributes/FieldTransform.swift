/// A transformer between JSON and a field, without its types.
package struct FieldTransform: Sendable {
  /// What the transformer yields, which must be what the field holds.
  package let output: Any.Type
  /// Whether the transformer also takes a null, and a nil on the way back.
  package let takesNull: Bool
  /// Whether it is between two forms of JSON, so that the field reads what it yields as JSON.
  let isUntyped: Bool
  package let problem: String?
  package let read: @Sendable (ArchiveValue, DecodingContext) throws -> ArchiveValue
  package let write: (@Sendable (ArchiveValue) throws -> ArchiveValue)?

  package init<Input: Archivable & SendableMetatype, Output: Archivable & SendableMetatype>(
    _ transformer: ReversibleTransformer<Input, Output>
  ) {
    let backward = transformer.backward
    self.init(
      Output.self, takesNull: Input.self is any OptionalType.Type, problem: transformer.problem,
      read: Self.reading(transformer.forward), write: { try Self.archived(Self.apply(backward, to: Self.made($0))) })
  }

  package init<Input: Archivable & SendableMetatype, Output: Archivable & SendableMetatype>(
    _ transformer: Transformer<Input, Output>
  ) {
    self.init(
      Output.self, takesNull: Input.self is any OptionalType.Type, problem: nil, read: Self.reading(transformer),
      write: nil)
  }

  /// A transformer to what is only `Codable`.
  package init<Input: Archivable & SendableMetatype, Output: Codable & SendableMetatype>(
    codable transformer: ReversibleTransformer<Input, Output>
  ) {
    let backward = transformer.backward
    self.init(
      Output.self, takesNull: Input.self is any OptionalType.Type, problem: transformer.problem,
      read: Self.reading(codable: transformer.forward),
      write: { try Self.archived(Self.apply(backward, to: Self.madeCodable($0))) })
  }

  package init<Input: Archivable & SendableMetatype, Output: Codable & SendableMetatype>(
    codable transformer: Transformer<Input, Output>
  ) {
    self.init(
      Output.self, takesNull: Input.self is any OptionalType.Type, problem: nil,
      read: Self.reading(codable: transformer), write: nil)
  }

  init<Output: Archivable & SendableMetatype>(
    paths transformer: ReversibleTransformer<[JSONPath: ArchiveValue], Output>
  ) {
    let backward = transformer.backward
    self.init(
      Output.self, takesNull: true, problem: transformer.problem, read: Self.reading(paths: transformer.forward),
      write: { value in
        // A nil has no values at any of the paths.
        if value.isNull, !(Output.self is any OptionalType.Type) { return .null }
        let values = try Self.apply(backward, to: Self.made(value) as Output)
        let entries = values.map { ArchiveObject.Entry(key: $0.description, value: $1) }
        return .object(ArchiveObject(entries.sorted { $0.key < $1.key }))
      })
  }

  init<Output: Archivable & SendableMetatype>(paths transformer: Transformer<[JSONPath: ArchiveValue], Output>) {
    self.init(Output.self, takesNull: true, problem: nil, read: Self.reading(paths: transformer), write: nil)
  }

  private init<Output>(
    _ output: Output.Type, takesNull: Bool, problem: String?,
    read: @escaping @Sendable (ArchiveValue, DecodingContext) throws -> ArchiveValue,
    write: (@Sendable (ArchiveValue) throws -> ArchiveValue)?
  ) {
    self.output = output
    self.takesNull = takesNull
    isUntyped = output is ArchiveValue.Type
    self.problem = problem
    self.read = read
    self.write = write
  }

  private static func reading<Input: Archivable & SendableMetatype, Output: Archivable & SendableMetatype>(
    _ transformer: Transformer<Input, Output>
  ) -> @Sendable (ArchiveValue, DecodingContext) throws -> ArchiveValue {
    let transformer = transformer.unfinished
    return { value, context in try archived(apply(transformer, to: Input.make(from: value, in: context))) }
  }

  private static func reading<Input: Archivable & SendableMetatype, Output: Codable & SendableMetatype>(
    codable transformer: Transformer<Input, Output>
  ) -> @Sendable (ArchiveValue, DecodingContext) throws -> ArchiveValue {
    { value, context in try ValueCoding.value(of: apply(transformer, to: Input.make(from: value, in: context))) }
  }

  private static func madeCodable<T: Codable>(_ value: ArchiveValue) throws -> T {
    try ValueCoding.make(T.self, from: value, in: DecodingContext(includesExcluded: true, finishing: .never))
  }

  private static func reading<Output: Archivable & SendableMetatype>(
    paths transformer: Transformer<[JSONPath: ArchiveValue], Output>
  ) -> @Sendable (ArchiveValue, DecodingContext) throws -> ArchiveValue {
    let transformer = transformer.unfinished
    return { value, _ in
      let entries = value.objectValue?.entries ?? []
      let values = Dictionary(
        entries.map { (JSONPath(parsing: $0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
      return try archived(apply(transformer, to: values))
    }
  }

  /// What is to be written, as it is: nothing runs on its models.
  private static func made<T: Archivable>(_ value: ArchiveValue) throws -> T {
    try T.make(from: value, in: DecodingContext(includesExcluded: true, finishing: .never))
  }

  private static func apply<Input, Output>(
    _ transformer: Transformer<Input, Output>, to input: Input
  ) throws -> Output {
    do throws(TransformError) { return try transformer.transform(input) } catch {
      throw ArchiveError(
        .rejected, error.reason, path: error.path, underlying: error,
        extra: .init(input: error.input))
    }
  }

  /// The value of a transformed one; the plain types do without a buffer.
  private static func archived<T: Archivable>(_ value: T) throws -> ArchiveValue {
    switch value {
    case let value as ArchiveValue: value
    case let value as String: .string(value)
    default: try value.archivedValue(includingExcluded: true)
    }
  }
}
