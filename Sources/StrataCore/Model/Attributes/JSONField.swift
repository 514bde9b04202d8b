/// How JSON holds one field: where, in which form, and what null and absence mean.
///
/// Text is a path:
///
///     @Field(json: "user.login") var author: String
///     @Field(json: .firstOf("id", "_id")) var id: String
///     @Field(json: .path("homepage", .url(percentEncoding: true))) var page: URL?
///     @Field(json: .path("votes").null(.useDefault).lenient(.numericString)) var votes = 0
///     @Field(json: .none) var cache: [String] = []
///
/// Types are exact unless a field says otherwise: text is no number, 3.9 is no integer, and 1 is not `true`.
public struct JSONField: Sendable, ExpressibleByStringLiteral {
  package enum Source: Sendable, Hashable {
    case automatic
    case absent
    case entireObject
    case path(JSONPath)
    case firstOf([JSONPath])
    case paths([JSONPath])
  }

  package var source: Source
  package var transform: FieldTransform?
  package var nullPolicy = JSONNullPolicy.fail
  package var missing: ArchiveValue?
  package var coercions: Set<JSONCoercion> = []
  package var isRead = true
  package var isWritten = true
  package var nulls: JSONNulls?
  package var skipsInvalid = false

  init(_ source: Source, _ transform: FieldTransform? = nil) {
    self.source = source
    self.transform = transform
  }

  public init(stringLiteral value: String) { self.init(.path(JSONPath(parsing: value))) }

  // MARK: Where

  /// Under the field's own key. What a field without a `json:` argument has.
  public static var automatic: JSONField { JSONField(.automatic) }

  /// Nowhere: JSON neither gives the field nor holds it.
  public static var none: JSONField {
    var field = JSONField(.absent)
    (field.isRead, field.isWritten) = (false, false)
    return field
  }

  /// At a path.
  public static func path(_ path: JSONPath) -> JSONField { JSONField(.path(path)) }

  /// At the first of several paths that is there, a null too; written at the first one.
  public static func firstOf(_ paths: JSONPath...) -> JSONField { JSONField(.firstOf(paths)) }

  /// At several paths: the field holds an object of what is there, under the spellings of the paths. With none of them
  /// there it counts as absent.
  public static func paths(_ paths: JSONPath...) -> JSONField { JSONField(.paths(paths)) }

  /// The whole object that the model is read from. What the field writes becomes part of it.
  public static var entireObject: JSONField { JSONField(.entireObject) }

  // MARK: In which form

  /// At a path, with a transformer between JSON and the field.
  ///
  /// The transformer's input is read as strictly as a field of that type would be. It is not asked about a null, which
  /// stays one, unless its input is an optional; nor about what is absent.
  public static func path<Input: Archivable & SendableMetatype, Output: Archivable & SendableMetatype>(
    _ path: JSONPath, _ transformer: ReversibleTransformer<Input, Output>
  ) -> JSONField {
    JSONField(.path(path), FieldTransform(transformer))
  }

  /// At a path, with a transformer that goes one way: the field is not written.
  public static func path<Input: Archivable & SendableMetatype, Output: Archivable & SendableMetatype>(
    _ path: JSONPath, _ transformer: Transformer<Input, Output>
  ) -> JSONField {
    JSONField(.path(path), FieldTransform(transformer))
  }

  /// At a path, with a transformer to a type that is only `Codable`.
  @_disfavoredOverload
  public static func path<Input: Archivable & SendableMetatype, Output: Codable & SendableMetatype>(
    _ path: JSONPath, _ transformer: ReversibleTransformer<Input, Output>
  ) -> JSONField {
    JSONField(.path(path), FieldTransform(codable: transformer))
  }

  /// At a path, with a transformer that goes one way to a type that is only `Codable`: the field is not written.
  @_disfavoredOverload
  public static func path<Input: Archivable & SendableMetatype, Output: Codable & SendableMetatype>(
    _ path: JSONPath, _ transformer: Transformer<Input, Output>
  ) -> JSONField {
    JSONField(.path(path), FieldTransform(codable: transformer))
  }

  /// At several paths, with a transformer that is given what is there: a key that is absent is not in the dictionary,
  /// and a null is `.null`.
  public static func paths<Output: Archivable & SendableMetatype>(
    _ paths: JSONPath..., by transformer: ReversibleTransformer<[JSONPath: ArchiveValue], Output>
  ) -> JSONField {
    JSONField(.paths(paths), FieldTransform(paths: transformer))
  }

  /// At several paths, with a transformer that goes one way.
  public static func paths<Output: Archivable & SendableMetatype>(
    _ paths: JSONPath..., by transformer: Transformer<[JSONPath: ArchiveValue], Output>
  ) -> JSONField {
    JSONField(.paths(paths), FieldTransform(paths: transformer))
  }

  /// At several paths, with a transformer to a type that is only `Codable`.
  @_disfavoredOverload
  public static func paths<Output: Codable & SendableMetatype>(
    _ paths: JSONPath..., by transformer: ReversibleTransformer<[JSONPath: ArchiveValue], Output>
  ) -> JSONField {
    JSONField(.paths(paths), FieldTransform(codablePaths: transformer))
  }

  /// At several paths, with a transformer that goes one way to a type that is only `Codable`.
  @_disfavoredOverload
  public static func paths<Output: Codable & SendableMetatype>(
    _ paths: JSONPath..., by transformer: Transformer<[JSONPath: ArchiveValue], Output>
  ) -> JSONField {
    JSONField(.paths(paths), FieldTransform(codablePaths: transformer))
  }

  /// The same place, with a transformer between JSON and the field.
  public func transformed<Input: Archivable & SendableMetatype, Output: Archivable & SendableMetatype>(
    by transformer: ReversibleTransformer<Input, Output>
  ) -> JSONField {
    with { $0.transform = FieldTransform(transformer) }
  }

  /// The same place, with a transformer that goes one way.
  public func transformed<Input: Archivable & SendableMetatype, Output: Archivable & SendableMetatype>(
    by transformer: Transformer<Input, Output>
  ) -> JSONField {
    with { $0.transform = FieldTransform(transformer) }
  }

  /// The same place, with a transformer between JSON and a field whose type is only `Codable`.
  @_disfavoredOverload
  public func transformed<Input: Archivable & SendableMetatype, Output: Codable & SendableMetatype>(
    by transformer: ReversibleTransformer<Input, Output>
  ) -> JSONField {
    with { $0.transform = FieldTransform(codable: transformer) }
  }

  /// The same place, with a transformer that goes one way to a type that is only `Codable`.
  @_disfavoredOverload
  public func transformed<Input: Archivable & SendableMetatype, Output: Codable & SendableMetatype>(
    by transformer: Transformer<Input, Output>
  ) -> JSONField {
    with { $0.transform = FieldTransform(codable: transformer) }
  }

  // MARK: Which way

  /// Read and never written: what only the server sets.
  public static func readOnly(_ field: JSONField) -> JSONField { field.with { $0.isWritten = false } }

  /// Written and never read.
  public static func writeOnly(_ field: JSONField) -> JSONField { field.with { $0.isRead = false } }

  // MARK: Null, absence, leniency

  /// What null means where the field is no optional.
  public func null(_ policy: JSONNullPolicy) -> JSONField { with { $0.nullPolicy = policy } }

  /// What stands for an absent path, instead of the field's default. It is a value as the field would read it in JSON.
  public func missing(_ value: ArchiveValue) -> JSONField { with { $0.missing = value } }

  /// Forms that are accepted besides the exact one.
  public func lenient(_ forms: JSONCoercion...) -> JSONField { with { $0.coercions.formUnion(forms) } }

  /// Leaves out elements of an array that are invalid, instead of failing: those that are not what it holds, that a hook
  /// refuses, or that break a rule, unless reading does not validate.
  ///
  /// A merge, and a transformer that makes models, try the hooks and rules of an element on a copy of it first. A limit
  /// that is reached stays an error, and so does a model that is declared wrongly.
  public var skippingInvalid: JSONField { with { $0.skipsInvalid = true } }

  /// Whether a null is written, whatever the adapter says.
  public func writing(nulls: JSONNulls) -> JSONField { with { $0.nulls = nulls } }

  private func with(_ change: (inout JSONField) -> Void) -> JSONField {
    var field = self
    change(&field)
    return field
  }

  func keys(of key: String) -> ValuePath {
    let first: JSONPath? =
      switch source {
      case .automatic, .absent, .entireObject: nil
      case .path(let path): path
      case .firstOf(let paths), .paths(let paths): paths.first
      }
    let keys = first?.components.prefix { if case .key = $0 { true } else { false } }.map { component in
      if case .key(let key) = component { key } else { "" }
    }
    guard let keys, !keys.isEmpty else { return ValuePath(key: key) }
    return ValuePath(keys: keys)
  }
}

/// What null means for a field that is no optional.
public enum JSONNullPolicy: Sendable, Hashable {
  /// An error with the code `typeMismatch`.
  case fail
  /// The default of the field.
  case useDefault
  /// This value, as the field would read it in JSON.
  case value(ArchiveValue)
}

/// What is written for a nil.
public enum JSONNulls: String, Sendable, Hashable {
  /// An explicit null.
  case null
  /// Nothing, and no container that would be empty.
  case omit
}
