public import Foundation

/// The source of a merge. Each form becomes a tree in which any key may be absent. At every depth, an absent key
/// changes nothing, null clears and a value sets.
public struct MergeSource {
  enum Form {
    case model(any VersionedModel)
    /// A complete list of models.
    case list(any Archivable)
    case text(Data)
    case json(ArchiveValue)
    case mergePatch(Data)
    case patch(JSONPatch)
    case archive(Data)
    case record(ModelRecord)
  }

  let form: Form

  /// An object of this model, or of another one. For another model, the keys that both declare are merged by the
  /// policies of the local model, and the other keys are unchanged. The same holds for models inside.
  public static func model(_ model: any VersionedModel) -> MergeSource { MergeSource(form: .model(model)) }

  /// A complete list of models.
  package static func models(_ list: any Archivable) -> MergeSource { MergeSource(form: .list(list)) }

  /// A JSON document. Only the keys that it contains are changed, with a base and without one.
  ///
  /// Merging throws `invalidJSON` if the text is not JSON or an object has a duplicate key, `typeMismatch` if a value
  /// does not fit its field, and `missingValue` if an object that is new locally lacks a key without a default.
  public static func json(_ text: Data) -> MergeSource { MergeSource(form: .text(text)) }

  /// A parsed JSON document.
  public static func json(_ value: ArchiveValue) -> MergeSource { MergeSource(form: .json(value)) }

  /// The changes of a JSON Merge Patch (RFC 7396). At every depth, null clears, and absent keys are unchanged.
  ///
  /// A field that it clears must be optional, or else merging throws `typeMismatch`; a key of a dictionary is removed.
  /// A server's patch describes the changes on the server, so it is applied to the base if that is known, and otherwise
  /// to this object's JSON.
  public static func mergePatch(_ patch: Data) -> MergeSource { MergeSource(form: .mergePatch(patch)) }

  /// The changes of a JSON Patch (RFC 6902).
  ///
  /// A value that the patch removes becomes null, at every depth; a key of a dictionary is removed. The patch is
  /// applied to the base's JSON if that is known, and otherwise to this object's. Merging throws `mergeFailed` if an
  /// operation cannot be applied, for instance if a test fails, and `limitExceeded` as
  /// ``JSONPatch/applied(to:limits:)``.
  public static func patch(_ patch: JSONPatch) -> MergeSource { MergeSource(form: .patch(patch)) }

  /// An archive of this model, written by this or an older version.
  ///
  /// It is upgraded first. Keys that it lacks afterwards are unchanged at every depth. Null is a value. In conditional
  /// references, where archives write null for objects that they leave out, null only clears if the base is known.
  /// Merging also throws the errors of ``ArchiveDecoder``.
  public static func archive(_ data: Data) -> MergeSource { MergeSource(form: .archive(data)) }

  /// A record of this or an older version. It may be part of a model, such as one from
  /// ``ArchiveDecoder/decodeValue(from:)`` or a migration step.
  public static func record(_ record: ModelRecord) -> MergeSource { MergeSource(form: .record(record)) }
}
