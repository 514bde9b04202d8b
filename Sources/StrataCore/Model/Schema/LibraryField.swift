/// The type of a field in which the library stores its own data about a model. Copying a model copies the field.
/// Equality, JSON and merging ignore the field.
package protocol LibraryField: SendableMetatype {}

/// A library field that is updated each time a model has been decoded.
package protocol FinishingLibraryField: LibraryField {
  /// Called for each decoded model that has this field, before the model's own hook.
  static func prepare<M: VersionedModel>(_ model: inout M, in context: DecodingContext) throws
  /// Called for each decoded model that has this field, after the model's own hook.
  static func complete<M: VersionedModel>(_ model: inout M, in context: DecodingContext) throws
}
