/// The type of a field in which the library keeps its own data in a model. Copies of the model include it. Equality,
/// JSON and merging ignore it.
package protocol LibraryField: SendableMetatype {}

/// A field of the library that is updated whenever a model has been decoded.
package protocol FinishingLibraryField: LibraryField {
  /// Runs on each decoded model that has such a field, before the model's own hook.
  static func prepare<M: VersionedModel>(_ model: inout M, in context: DecodingContext) throws
  /// Runs after the model's own hook.
  static func complete<M: VersionedModel>(_ model: inout M, in context: DecodingContext) throws
}
