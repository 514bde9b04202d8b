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

  package init<Input: Archivable & SendableMetatype, Output: Archivable & SendableMetatype>(
    _ transformer: ReversibleTransformer<Input, Output>
  ) {
    self.init(transformer, Side<Input>(), Side<Output>())
  }

  package init<Input: Archivable & SendableMetatype, Output: Archivable & SendableMetatype>(
    _ transformer: Transformer<Input, Output>
  ) {
    self.init(transformer, nil, Side<Input>(), Side<Output>())
  }

  /// A transformer to a type that is only `Codable`.
  package init<Input: Archivable & SendableMetatype, Output: Codable & SendableMetatype>(
    codable transformer: ReversibleTransformer<Input, Output>
  ) {
    self.init(transformer, Side<Input>(), Side<Output>(codable: ()))
  }

  package init<Input: Archivable & SendableMetatype, Output: Codable & SendableMetatype>(
    codable transformer: Transformer<Input, Output>
  ) {
    self.init(transformer, nil, Side<Input>(), Side<Output>(codable: ()))
  }

  init<Output: Archivable & SendableMetatype>(
    paths transformer: ReversibleTransformer<[ValuePath: ArchiveValue], Output>
  ) {
    self.init(transformer, Side.paths, Side<Output>())
  }

  init<Output: Archivable & SendableMetatype>(paths transformer: Transformer<[ValuePath: ArchiveValue], Output>) {
    self.init(transformer, nil, Side.paths, Side<Output>())
  }

  init<Output: Codable & SendableMetatype>(
    codablePaths transformer: ReversibleTransformer<[ValuePath: ArchiveValue], Output>
  ) {
    self.init(transformer, Side.paths, Side<Output>(codable: ()))
  }

  init<Output: Codable & SendableMetatype>(codablePaths transformer: Transformer<[ValuePath: ArchiveValue], Output>) {
    self.init(transformer, nil, Side.paths, Side<Output>(codable: ()))
  }

  private init<Input, Output>(
    _ transformer: ReversibleTransformer<Input, Output>, _ input: Side<Input>, _ output: Side<Output>
  ) {
    self.init(transformer.forward, transformer.backward, input, output, problem: transformer.problem)
  }

  private init<Input, Output>(
    _ forward: Transformer<Input, Output>, _ backward: Transformer<Output, Input>?, _ input: Side<Input>,
    _ output: Side<Output>, problem: String? = nil
  ) {
    self.output = Output.self
    takesNull = input.takesNull
    isUntyped = Output.self is ArchiveValue.Type
    self.problem = problem
    let forward = output.isCodable ? forward : forward.unfinished
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
private struct Side<T>: Sendable {
  let make: @Sendable (ArchiveValue, DecodingContext) throws -> T
  let value: @Sendable (T) throws -> ArchiveValue
  var takesNull = TypeShape(of: T.self).isOptional
  var isCodable = false
  var isPaths = false

  init(
    make: @escaping @Sendable (ArchiveValue, DecodingContext) throws -> T,
    value: @escaping @Sendable (T) throws -> ArchiveValue
  ) {
    (self.make, self.value) = (make, value)
  }
}

extension Side where T: Archivable & SendableMetatype {
  init() {
    self.init(make: { try T.make(from: $0, in: $1) }) { value in
      // Plain types need no buffer.
      switch value {
      case let value as ArchiveValue: value
      case let value as String: .string(value)
      default: try value.archivedValue(includingExcluded: true)
      }
    }
  }
}

extension Side where T: Codable & SendableMetatype {
  init(codable: Void) {
    self.init(
      make: { try ValueCoding.make(T.self, from: $0, in: $1) }, value: { try ValueCoding.value(of: $0) })
    isCodable = true
  }
}

extension Side where T == [ValuePath: ArchiveValue] {
  /// The values at several paths. Their value is an object whose keys are the spellings of the paths.
  static var paths: Side {
    var side = Side { value, _ in
      let entries = value.objectValue?.entries ?? []
      return Dictionary(
        entries.map { (ValuePath(parsing: $0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
    } value: { values in
      let entries = values.map { ArchiveObject.Entry(key: $0.memberKey, value: $1) }
      return .object(ArchiveObject(entries.sorted { $0.key < $1.key }))
    }
    (side.takesNull, side.isPaths) = (true, true)
    return side
  }
}
