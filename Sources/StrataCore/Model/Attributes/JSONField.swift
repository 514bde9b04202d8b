/// The JSON form of one field: its path, its format, and the meaning of null and absence.
///
/// Text is a path:
///
///     @Field(json: "user.login") var author: String
///     @Field(json: .firstOf("id", "_id")) var id: String
///     @Field(json: .path("homepage", .url(percentEncoding: true))) var page: URL?
///     @Field(json: .path("votes").null(.useDefault).lenient(.numericString)) var votes = 0
///     @Field(json: .none) var cache: [String] = []
///
/// Types are exact unless a field declares otherwise: text is not a number, 3.9 is not an integer, and 1 is not `true`.
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

  // MARK: Where

  /// Under the field's own key. The default for a field without a `json:` argument.
  public static var automatic: JSONField { JSONField(.automatic) }

  /// The field is neither read from JSON nor written to it.
  public static var none: JSONField {
    var field = JSONField(.absent)
    (field.isRead, field.isWritten) = (false, false)
    return field
  }

  /// At a path.
  public static func path(_ path: ValuePath) -> JSONField { JSONField(.path(path)) }

  /// At the first of several paths that exists, even if its value is null. Written at the first path.
  public static func firstOf(_ paths: ValuePath...) -> JSONField { JSONField(.firstOf(paths)) }

  /// At several paths: the field holds an object of the values there, with the paths as keys. If none of the paths
  /// exists, the field counts as absent.
  public static func paths(_ paths: ValuePath...) -> JSONField { JSONField(.paths(paths)) }

  /// The whole object that the model is read from. The members that the field writes become part of that object.
  public static var entireObject: JSONField { JSONField(.entireObject) }

  // MARK: In which form

  /// At a path, with a transformer between JSON and the field.
  ///
  /// The transformer's input is read as strictly as a field of that type. Null stays null and is not passed to the
  /// transformer, unless its input is an optional. An absent value is never passed. Both types must be archivable or
  /// `Codable`.
  public static func path<Input: SendableMetatype, Output: SendableMetatype>(
    _ path: ValuePath, _ transformer: ReversibleTransformer<Input, Output>
  ) -> JSONField {
    JSONField(.path(path), FieldTransform(transformer))
  }

  /// At a path, with a one-way transformer: the field is not written.
  public static func path<Input: SendableMetatype, Output: SendableMetatype>(
    _ path: ValuePath, _ transformer: Transformer<Input, Output>
  ) -> JSONField {
    JSONField(.path(path), FieldTransform(transformer))
  }

  /// At several paths, with a transformer that receives the values there. The dictionary has no entry for an absent
  /// path, and `.null` for a null.
  public static func paths<Output: SendableMetatype>(
    _ paths: ValuePath..., by transformer: ReversibleTransformer<[ValuePath: ArchiveValue], Output>
  ) -> JSONField {
    JSONField(.paths(paths), FieldTransform(transformer))
  }

  /// At several paths, with a one-way transformer.
  public static func paths<Output: SendableMetatype>(
    _ paths: ValuePath..., by transformer: Transformer<[ValuePath: ArchiveValue], Output>
  ) -> JSONField {
    JSONField(.paths(paths), FieldTransform(transformer))
  }

  /// The same path, with a transformer between JSON and the field.
  public func transformed<Input: SendableMetatype, Output: SendableMetatype>(
    by transformer: ReversibleTransformer<Input, Output>
  ) -> JSONField {
    with { $0.transform = FieldTransform(transformer) }
  }

  /// The same path, with a one-way transformer.
  public func transformed<Input: SendableMetatype, Output: SendableMetatype>(
    by transformer: Transformer<Input, Output>
  ) -> JSONField {
    with { $0.transform = FieldTransform(transformer) }
  }

  // MARK: Which way

  /// Read and never written, for fields that only the server sets.
  public static func readOnly(_ field: JSONField) -> JSONField { field.with { $0.isWritten = false } }

  /// Written and never read.
  public static func writeOnly(_ field: JSONField) -> JSONField { field.with { $0.isRead = false } }

  // MARK: Null, absence, leniency

  /// The meaning of null if the field is not optional.
  public func null(_ policy: JSONNullPolicy) -> JSONField { with { $0.nullPolicy = policy } }

  /// The substitute for an absent path, instead of the field's default. It is a value that the field could read from JSON.
  public func missing(_ value: ArchiveValue) -> JSONField { with { $0.missing = value } }

  /// Accepts further forms in addition to the exact one.
  public func lenient(_ forms: JSONCoercion...) -> JSONField { with { $0.coercions.formUnion(forms) } }

  /// Skips invalid elements of an array instead of failing: elements of the wrong type, elements that a hook rejects,
  /// and elements that break a rule, unless reading does not validate.
  ///
  /// A merge, and a transformer that creates models, first try the hooks and rules of an element on a copy. An exceeded
  /// limit and a mistake in a model's declaration remain errors.
  public var skippingInvalid: JSONField { with { $0.skipsInvalid = true } }

  /// Whether a null is written, overriding the adapter.
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

/// The meaning of null for a field that is not optional.
public enum JSONNullPolicy: Sendable, Hashable {
  /// An error with the code `typeMismatch`.
  case fail
  /// The default of the field.
  case useDefault
  /// This value, in the form that the field reads from JSON.
  case value(ArchiveValue)
}

/// The JSON that is written for nil.
public enum JSONNulls: String, Sendable, Hashable {
  /// An explicit null.
  case null
  /// Nothing. Containers that would be empty are omitted, too.
  case omit
}
