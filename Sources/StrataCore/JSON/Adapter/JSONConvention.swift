/// A rule that gives JSON keys and transformers to the fields of a model and of all nested models.
///
/// A field keeps a path or a transformer that it declares itself. If it declares only a path, the convention supplies the transformer, and
/// vice versa.
///
///     let convention = JSONConvention.snakeCase.transforming(by: ReversibleTransformer.secondsSince1970)
///     let adapter = try JSONAdapter<Issue>(convention: convention)
///
/// The associated values of an enum keep their labels.
public struct JSONConvention: Sendable {
  private let key: @Sendable (String) -> String
  private var transforms: [(isFor: @Sendable (FieldInfo) -> Bool, transform: FieldTransform)] = []

  /// Creates a convention that maps every field to a key computed from the field's own key.
  public init(keys convert: @escaping @Sendable (String) -> String) { key = convert }

  /// Maps every field to its key in snake case: `createdAt` to `created_at`, `htmlURL` to `html_url`.
  public static let snakeCase = JSONConvention(keys: SnakeCase.key)

  /// Maps every field to its own key.
  public static let identity = JSONConvention { $0 }

  /// Returns a copy of this convention that applies a transformer to every field whose type is the transformer's output type or an optional
  /// of it. If several transformers have the same output type, the last one added is used.
  public func transforming<Input: Archivable & SendableMetatype, Output: Archivable & SendableMetatype>(
    by transformer: ReversibleTransformer<Input, Output>
  ) -> JSONConvention {
    var result = self
    result.transforms.insert(({ $0.holds(Output.self) }, FieldTransform(transformer)), at: 0)
    return result
  }

  func json(of field: FieldInfo) -> JSONField {
    var json = field.json
    switch json.source {
    case .automatic: json.source = .path(ValuePath(key: key(field.key)))
    case .path, .firstOf: break
    // The values of these fields are not read from a single path, so there is no single value that a transformer could convert.
    case .absent, .entireObject, .paths: return json
    }
    if json.transform == nil { json.transform = transforms.first { $0.isFor(field) }?.transform }
    return json
  }
}
