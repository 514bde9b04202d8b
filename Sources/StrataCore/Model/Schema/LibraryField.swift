/// The type of a field that the library keeps for itself in a model: it is archived, a copy of the model has it, and it takes no
/// part in equality, JSON and merging.
package protocol LibraryField: SendableMetatype {
  /// Runs on each model that was decoded and has such a field, before the model's own hook.
  static func prepare<M: VersionedModel>(_ model: inout M, in context: DecodingContext) throws
  /// Runs after the model's own hook.
  static func complete<M: VersionedModel>(_ model: inout M, in context: DecodingContext) throws
}
