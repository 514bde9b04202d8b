/// A hook of a model that runs on each decoded object. The schema stores the hook, so that the model's conformance is
/// looked up only once instead of for each object.
package protocol AnyModelHook: AnyObject, Sendable {}

package final class ModelHook<M>: AnyModelHook {
  private let body: @Sendable (inout M, DecodingContext) throws -> Void

  package init(_ body: @escaping @Sendable (inout M, DecodingContext) throws -> Void) { self.body = body }

  package func run(_ model: inout M, _ context: DecodingContext) throws { try body(&model, context) }
}

extension VersionedModel {
  /// Finishes an object after its fields are set: runs the model's own hook, then the validation rules. Every code path
  /// that creates models calls this function once for each object. Callers check `schema.finishesModels` first, so that
  /// a model without hooks and rules costs only one comparison.
  @inline(never)
  package static func finish(_ model: inout Self, in context: DecodingContext) throws {
    guard context.finishesModels else { return }
    do {
      try schema.libraryField?.prepare(&model, in: context)
      try run(schema.decodingHook, &model, context)
      try schema.libraryField?.complete(&model, in: context)
      guard context.validates, let validation = schema.validationHook else { return }
      do { try run(validation, &model, context) } catch let error as ArchiveError
        where error.code == .invalid && context.collectsFailures
      {
        context.firstFailure = context.firstFailure ?? error
      }
    } catch { throw ArchiveError.wrap(error).inType(schema.name) }
  }

  static func run(_ hook: (any AnyModelHook)?, _ model: inout Self, _ context: DecodingContext) throws {
    guard let hook else { return }
    guard let hook = hook as? ModelHook<Self> else {
      throw ArchiveError(
        .invalidSchema,
        "the schema of \(Self.self) was created for a different type; pass \(Self.self).self to ModelSchema")
    }
    try hook.run(&model, context)
  }
}
