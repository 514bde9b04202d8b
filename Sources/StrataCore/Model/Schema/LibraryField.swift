/// The type of a field that the library keeps for itself in a model: a copy of the model has it, and it takes no part in equality, JSON
/// and merging.
package protocol LibraryField: SendableMetatype {}

/// A field of the library that is brought up to date whenever a model was decoded.
package protocol FinishingLibraryField: LibraryField {
  /// Runs on each model that was decoded and has such a field, before the model's own hook.
  static func prepare<M: VersionedModel>(_ model: inout M, in context: DecodingContext) throws
  /// Runs after the model's own hook.
  static func complete<M: VersionedModel>(_ model: inout M, in context: DecodingContext) throws
}
