/// One of the types that a ``JSONCluster`` reads and writes.
public struct JSONVariant<Result>: Sendable {
  let tag: String
  let body: Body

  enum Body: Sendable {
    /// `encode` returns `nil` where the object is of another variant.
    case model(decode: @Sendable (ArchiveValue) throws -> Result, encode: @Sendable (Result) throws -> ArchiveValue?)
    case cluster(@Sendable () throws -> JSONCluster<Result>)
  }

  /// A model under a tag, for a protocol or a superclass as the result.
  ///
  ///     .model("circle", JSONAdapter<Circle>()) { $0 }
  ///
  /// - Parameters:
  ///   - tag: what the discriminator returns for it.
  ///   - adapter: reads and writes the model.
  ///   - wrap: makes the result of the model: `{ $0 }`, which the compiler checks.
  public static func model<M: SendableMetatype>(
    _ tag: String, _ adapter: JSONAdapter<M>, wrap: @escaping @Sendable (M) -> Result
  ) -> JSONVariant {
    model(tag, adapter, wrap: wrap) { result in
      // An object of a subclass is one of another variant.
      guard let model = result as? M, type(of: model as Any) == M.self else { return nil }
      return model
    }
  }

  /// A model under a tag, for any result: a case of an enum, say.
  ///
  /// - Parameters:
  ///   - tag: what the discriminator returns for it.
  ///   - adapter: reads and writes the model.
  ///   - wrap: makes the result of the model.
  ///   - unwrap: the model of a result, or `nil` where it is of another variant.
  public static func model<M: SendableMetatype>(
    _ tag: String, _ adapter: JSONAdapter<M>, wrap: @escaping @Sendable (M) -> Result,
    unwrap: @escaping @Sendable (Result) -> M?
  ) -> JSONVariant {
    JSONVariant(
      tag: tag,
      body: .model(
        decode: { wrap(try adapter.decode($0)) }, encode: { try unwrap($0).map { try adapter.encodeValue($0) } }))
  }

  /// Variants of a variant: the document is asked again, by another cluster.
  public static func cluster(
    _ tag: String, _ cluster: @autoclosure @escaping @Sendable () throws -> JSONCluster<Result>
  )
    -> JSONVariant
  {
    JSONVariant(tag: tag, body: .cluster(cluster))
  }
}
