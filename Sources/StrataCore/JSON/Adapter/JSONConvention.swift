/// How JSON holds the fields of a model and of all models inside it, unless a field declares `json:` itself.
///
///     let convention = JSONConvention.snakeCase.transforming(by: ReversibleTransformer.secondsSince1970)
///     let adapter = try JSONAdapter<Issue>(convention: convention)
///
/// The associated values of an enum keep their labels.
public struct JSONConvention: Sendable {
  private let key: @Sendable (String) -> String
  private var transforms: [(isFor: @Sendable (FieldInfo) -> Bool, transform: FieldTransform)] = []

  /// Every field under a key that is made of its own.
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
    guard json.source == .automatic else { return json }
    json.source = .path(JSONPath(key: key(field.key)))
    if json.transform == nil { json.transform = transforms.first { $0.isFor(field) }?.transform }
    return json
  }
}
