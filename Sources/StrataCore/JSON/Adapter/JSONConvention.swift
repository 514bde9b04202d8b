/// A rule for the JSON keys and transformers of a model's fields, and of all models inside it.
///
/// A field that declares a path or a transformer keeps it. The convention supplies the other.
///
///     let convention = JSONConvention.snakeCase.transforming(by: ReversibleTransformer.secondsSince1970)
///     let adapter = try JSONAdapter<Issue>(convention: convention)
///
/// The associated values of an enum keep their labels.
public struct JSONConvention: Sendable {
  private let key: @Sendable (String) -> String
  private var transforms: [(isFor: @Sendable (FieldInfo) -> Bool, transform: FieldTransform)] = []

  /// Maps every field to a key that is computed from its own key.
  public init(keys convert: @escaping @Sendable (String) -> String) { key = convert }

  /// Every field under its key in snake case: `createdAt` under `created_at`, `htmlURL` under `html_url`.
  public static let snakeCase = JSONConvention(keys: SnakeCase.key)

  /// Every field under its own key.
  public static let identity = JSONConvention { $0 }

  /// This convention with a transformer for every field of a type, or of an optional of it. If two are for one type, the last one is used.
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
    // The input of a transformer is not the value at one path.
    case .absent, .entireObject, .paths: return json
    }
    if json.transform == nil { json.transform = transforms.first { $0.isFor(field) }?.transform }
    return json
  }
}
