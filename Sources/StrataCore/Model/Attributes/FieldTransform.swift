/// A type-erased transformer between JSON and a field.
package struct FieldTransform: Sendable {
  /// The output type of the transformer, which must be the type of the field.
  package let output: Any.Type
  /// Whether the transformer also accepts null, and nil in the reverse direction.
  package let takesNull: Bool
  /// Whether the transformer converts between two forms of JSON, so that the field reads the output as JSON.
  let isUntyped: Bool
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
    self.problem = problem
    let forward = TypeShape.archivable(Output.self) == nil ? forward : forward.unfinished
    read = { value, context in try output.value(Self.apply(forward, to: input.make(value, context))) }
    guard let backward else {
      write = nil
      return
    }
    write = { value in
      // A nil has no values at any of the paths.
      if input.isPaths, value.isNull, !(TypeShape(of: Output.self).isOptional) { return .null }
      // The value to write is created without running hooks or rules of its models.
      let made = try output.make(value, DecodingContext(includesExcluded: true, finishing: .never))
      return try input.value(Self.apply(backward, to: made))
    }
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
}

/// The conversion between values and the input or output of a transformer.
private struct Side<T: SendableMetatype>: Sendable {
  /// Whether the values are those at several paths. Their value is an object whose keys are the spellings of the paths.
  let isPaths = T.self == [ValuePath: ArchiveValue].self

  func make(_ value: ArchiveValue, _ context: DecodingContext) throws -> T {
    if isPaths {
      let entries = value.objectValue?.entries ?? []
      let values = Dictionary(
        entries.map { (ValuePath(parsing: $0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
      if let values = values as? T { return values }
    }
    // In two steps, because nil would be any optional.
    guard let any = try ValueCoding.make(any: T.self, from: value, in: context), let made = any as? T else {
      throw ArchiveError(.invalidMapping, "the type \(T.self) of a transformer is neither Archivable nor Codable")
    }
    return made
  }

  func value(_ made: T) throws -> ArchiveValue {
    if isPaths, let values = made as? [ValuePath: ArchiveValue] {
      let entries = values.map { ArchiveObject.Entry(key: $0.memberKey, value: $1) }
      return .object(ArchiveObject(entries.sorted { $0.key < $1.key }))
    }
    // Plain types need no buffer.
    return switch made {
    case let made as ArchiveValue: made
    case let made as String: .string(made)
    default: try ValueCoding.value(of: made)
    }
  }
}
