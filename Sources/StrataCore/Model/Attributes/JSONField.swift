/// How a field is represented in JSON: its path, its format, and how null and absent values are read.
///
/// A string literal is a path:
///
///     @Field(json: "user.login") var author: String
///     @Field(json: .firstOf("id", "_id")) var id: String
///     @Field(json: .path("homepage", .url(percentEncoding: true))) var page: URL?
///     @Field(json: .path("votes").null(.useDefault).lenient(.numericString)) var votes = 0
///     @Field(json: .none) var cache: [String] = []
///
/// JSON types must match exactly unless a field declares otherwise: a string is not a number, 3.9 is not an integer, and 1 is not `true`.
public struct JSONField: Sendable, ExpressibleByStringLiteral {
  package enum Source: Sendable, Hashable {
    case automatic
    case absent
    case entireObject
    case path(ValuePath)
    case firstOf([ValuePath])
    case paths([ValuePath])
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

  public init(stringLiteral value: String) { self.init(.path(ValuePath(parsing: value))) }

  // MARK: Paths

  /// The field is stored under its own key. This is the default for fields without a `json:` argument.
  public static var automatic: JSONField { JSONField(.automatic) }

  /// The field is neither read from JSON nor written to it.
  public static var none: JSONField {
    var field = JSONField(.absent)
    (field.isRead, field.isWritten) = (false, false)
    return field
  }

  /// The field is stored at the given path in the model's JSON object.
  public static func path(_ path: ValuePath) -> JSONField { JSONField(.path(path)) }

  /// The field is read from the first path in the list that exists in the JSON, even if the value at this path is null. The field is always
  /// written to the first path in the list.
  public static func firstOf(_ paths: ValuePath...) -> JSONField { JSONField(.firstOf(paths)) }

  /// The field combines the values at several paths into an object whose keys are the paths. If none of the paths exists in the JSON, the
  /// field is treated as absent.
  public static func paths(_ paths: ValuePath...) -> JSONField { JSONField(.paths(paths)) }

  /// The field holds the whole JSON object that the model is read from. When the field is written, the members of its object are added to
  /// the model's JSON object.
  public static var entireObject: JSONField { JSONField(.entireObject) }

  // MARK: Transformers

  /// The field is stored at a path, and a transformer converts between the JSON value and the field.
  ///
  /// The JSON value is decoded as the transformer's input type, with the same strictness as a field of that type. Null is passed to the
  /// transformer only if the input type is optional. Otherwise null is read as ``null(_:)`` specifies. If the path is absent, the
  /// transformer is not called. Both types must be archivable or `Codable`.
  public static func path<Input: SendableMetatype, Output: SendableMetatype>(
    _ path: ValuePath, _ transformer: ReversibleTransformer<Input, Output>
  ) -> JSONField {
    JSONField(.path(path), FieldTransform(transformer))
  }

  /// The field is read from a path with a one-way transformer and is never written to JSON.
  public static func path<Input: SendableMetatype, Output: SendableMetatype>(
    _ path: ValuePath, _ transformer: Transformer<Input, Output>
  ) -> JSONField {
    JSONField(.path(path), FieldTransform(transformer))
  }

  /// The field combines the values at several paths with a transformer. The transformer receives a dictionary of the
  /// values, without entries for absent paths. A null is passed as `.null`.
  public static func paths<Output: SendableMetatype>(
    _ paths: ValuePath..., by transformer: ReversibleTransformer<[ValuePath: ArchiveValue], Output>
  ) -> JSONField {
    JSONField(.paths(paths), FieldTransform(transformer))
  }

  /// The field combines the values at several paths with a one-way transformer and is never written to JSON.
  public static func paths<Output: SendableMetatype>(
    _ paths: ValuePath..., by transformer: Transformer<[ValuePath: ArchiveValue], Output>
  ) -> JSONField {
    JSONField(.paths(paths), FieldTransform(transformer))
  }

  /// Returns a copy with the same paths and a transformer that converts between the JSON value and the field.
  public func transformed<Input: SendableMetatype, Output: SendableMetatype>(
    by transformer: ReversibleTransformer<Input, Output>
  ) -> JSONField {
    with { $0.transform = FieldTransform(transformer) }
  }

  /// Returns a copy with the same paths and a one-way transformer. The field is then never written to JSON.
  public func transformed<Input: SendableMetatype, Output: SendableMetatype>(
    by transformer: Transformer<Input, Output>
  ) -> JSONField {
    with { $0.transform = FieldTransform(transformer) }
  }

  // MARK: Direction

  /// The field is read from JSON but never written to it. Use this form for fields that only the server sets.
  public static func readOnly(_ field: JSONField) -> JSONField { field.with { $0.isWritten = false } }

  /// The field is written to JSON but never read from it.
  public static func writeOnly(_ field: JSONField) -> JSONField { field.with { $0.isRead = false } }

  // MARK: Null, absent and invalid values

  /// Sets how the field reads null. By default, null is an error unless the type of the field accepts it.
  public func null(_ policy: JSONNullPolicy) -> JSONField { with { $0.nullPolicy = policy } }

  /// Sets the value that the field gets if the path is absent from the JSON object, instead of the field's default. The value is decoded as
  /// if it were JSON.
  public func missing(_ value: ArchiveValue) -> JSONField { with { $0.missing = value } }

  /// Also accepts JSON values of other types, if one of the given coercions can convert them to the field's JSON type.
  public func lenient(_ forms: JSONCoercion...) -> JSONField { with { $0.coercions.formUnion(forms) } }

  /// Skips invalid elements of an array instead of failing. An element is invalid if it has the wrong type, if a hook rejects it, or,
  /// unless validation is turned off, if it breaks a rule.
  ///
  /// In a merge, or if a transformer creates the field's value, each element is first decoded into a temporary copy, and its hooks and
  /// rules run on that copy. If a limit is exceeded or a model's declaration has a mistake, an error is still thrown.
  public var skippingInvalid: JSONField { with { $0.skipsInvalid = true } }

  /// Sets whether nil is written as null, overriding the adapter's setting.
  public func writing(nulls: JSONNulls) -> JSONField { with { $0.nulls = nulls } }

  private func with(_ change: (inout JSONField) -> Void) -> JSONField {
    var field = self
    change(&field)
    return field
  }

  func keys(of key: String) -> ValuePath {
    let first: ValuePath? =
      switch source {
      case .automatic, .absent, .entireObject: nil
      case .path(let path): path
      case .firstOf(let paths), .paths(let paths): paths.first
      }
    let keys = first?.components.prefix(while: \.isKey) ?? []
    return keys.isEmpty ? ValuePath(key: key) : ValuePath(Array(keys))
  }
}

/// How a field reads null from JSON.
public enum JSONNullPolicy: Sendable, Hashable {
  /// Throws an error with the code `typeMismatch`, unless the type of the field accepts null.
  case fail
  /// Uses the field's default. An optional field without a default becomes nil.
  case useDefault
  /// Uses the associated value instead of null, decoded as if it were JSON.
  case value(ArchiveValue)
}

/// How nil is written to JSON.
public enum JSONNulls: String, Sendable, Hashable {
  /// Writes an explicit null.
  case null
  /// Omits the key. Objects and arrays along the field's path are also omitted if they would be empty.
  case omit
}
