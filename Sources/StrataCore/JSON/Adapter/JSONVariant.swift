/// One of the types that a ``JSONCluster`` reads and writes.
public struct JSONVariant<Result>: Sendable {
  let tag: String
  /// Whether the variant reads the whole document instead of only its content.
  var readsDocument = false
  /// Reads a document. The second argument lists the outer clusters that have passed the document on to this variant. They are used to
  /// detect cycles.
  let decode: @Sendable (ArchiveValue, [ObjectIdentifier]) throws -> JSONCluster<Result>.Decoded
  /// Writes an object. Returns `nil` if the object belongs to a different variant. The second argument has the same meaning as in `decode`.
  let encode: @Sendable (Result, [ObjectIdentifier]) throws -> ArchiveValue?

  /// Returns a variant that reads and writes a model under a tag. Use this method if the result type is a protocol or a superclass of the
  /// model.
  ///
  ///     .model("circle", JSONAdapter<Circle>()) { $0 }
  ///
  /// - Parameters:
  ///   - tag: the tag of the variant.
  ///   - adapter: reads and writes the model.
  ///   - wrap: converts the model to the result type. `{ $0 }` is enough, because the compiler checks the conversion.
  public static func model<M: SendableMetatype>(
    _ tag: String, _ adapter: JSONAdapter<M>, wrap: @escaping @Sendable (M) -> Result
  ) -> JSONVariant {
    model(tag, adapter, wrap: wrap) { result in
      // Instances of subclasses are left to other variants.
      guard let model = result as? M, type(of: model as Any) == M.self else { return nil }
      return model
    }
  }

  /// Returns a variant that reads and writes a model under a tag. Use this method for any other result type, such as an enum.
  ///
  /// - Parameters:
  ///   - tag: the tag of the variant.
  ///   - adapter: reads and writes the model.
  ///   - wrap: creates the result from the model.
  ///   - unwrap: returns the model of a result, or `nil` if the result belongs to a different variant.
  public static func model<M: SendableMetatype>(
    _ tag: String, _ adapter: JSONAdapter<M>, wrap: @escaping @Sendable (M) -> Result,
    unwrap: @escaping @Sendable (Result) -> M?
  ) -> JSONVariant {
    JSONVariant(
      tag: tag, decode: { json, _ in .success(wrap(try adapter.decode(json))) },
      encode: { result, _ in try unwrap(result).map { try adapter.encodeValue($0) } })
  }

  /// Returns a variant that passes documents with the given tag on to another cluster. The other cluster reads and writes the whole
  /// document.
  public static func cluster(
    _ tag: String, _ cluster: @autoclosure @escaping @Sendable () throws -> JSONCluster<Result>
  )
    -> JSONVariant
  {
    JSONVariant(
      tag: tag, readsDocument: true, decode: { try cluster().decode($0, $1) }, encode: { try cluster().encoded($0, $1) }
    )
  }
}
