public import Foundation

/// What is merged into a model. In whatever form it comes in, it becomes a tree in which anything may be absent:
/// absent never touches, null clears, a value sets, at every depth.
public struct MergeSource {
  enum Form {
    case model(any VersionedModel)
    /// A whole list of models.
    case list(any Archivable)
    case text(Data)
    case json(ArchiveValue)
    case mergePatch(Data)
    case patch(JSONPatch)
    case archive(Data)
    case record(ModelRecord)
  }

  let form: Form

  /// An object of this model, or of another one: then the keys that both declare are merged, by the policies of the
  /// model that is here, and the others are left alone. The same holds for models inside.
  public static func model(_ model: any VersionedModel) -> MergeSource { MergeSource(form: .model(model)) }

  /// A whole list of models.
  package static func models(_ list: any Archivable) -> MergeSource { MergeSource(form: .list(list)) }

  /// A JSON document: only the keys that it holds are touched, with a base and without one.
  ///
  /// Merging throws `invalidJSON` where the text is no JSON or an object has a duplicate key, `typeMismatch` where a
  /// value is not what a field holds, and `missingValue` where an object that is new here lacks a key without a
  /// default.
  public static func json(_ text: Data) -> MergeSource { MergeSource(form: .text(text)) }

  /// A JSON document that was read before.
  public static func json(_ value: ArchiveValue) -> MergeSource { MergeSource(form: .json(value)) }

  /// What a JSON Merge Patch (RFC 7396) changes: at every depth a null clears, and what it does not hold is left alone.
  ///
  /// A field that it clears must be able to be nil, else merging throws `typeMismatch`; a key of a dictionary is
  /// removed. A server's patch says what changed there, so it is a patch of the base where that is known, and of this
  /// object's JSON where it is not.
  public static func mergePatch(_ patch: Data) -> MergeSource { MergeSource(form: .mergePatch(patch)) }

  /// What a JSON Patch (RFC 6902) changes.
  ///
  /// What the patch removes becomes null, at every depth; a key of a dictionary is removed. It is a patch of the
  /// base's JSON where that is known, and of this object's where it is not. Merging throws `mergeFailed` where an
  /// operation cannot be applied, for instance where a test fails, and `limitExceeded` as
  /// ``JSONPatch/applied(to:limits:)``.
  public static func patch(_ patch: JSONPatch) -> MergeSource { MergeSource(form: .patch(patch)) }

  /// An archive of this model, whichever version of it wrote the archive.
  ///
  /// What it holds is upgraded first. Keys that it lacks then are left alone at every depth, and null is a value,
  /// except for conditional references, which archives leave out as null. Merging throws as ``ArchiveDecoder`` too.
  public static func archive(_ data: Data) -> MergeSource { MergeSource(form: .archive(data)) }

  /// A record of this or an older version: part of a model, as ``ArchiveDecoder/decodeValue(from:)`` or a step makes
  /// one.
  public static func record(_ record: ModelRecord) -> MergeSource { MergeSource(form: .record(record)) }
}
