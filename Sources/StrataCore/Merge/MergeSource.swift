public import Foundation

/// The source of a merge. Every kind of source is read as a tree in which any key may be absent. At every depth, an absent key leaves the
/// local value unchanged, null clears it, and any other value replaces it.
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

  /// A model of the same type as the local one, or of a different type. If the types differ, only the keys that both models declare are
  /// merged, by the policies of the local model. All other keys are unchanged. The same applies to nested models.
  public static func model(_ model: any VersionedModel) -> MergeSource { MergeSource(form: .model(model)) }

  /// A complete list of models.
  package static func models(_ list: any Archivable) -> MergeSource { MergeSource(form: .list(list)) }

  /// A JSON document. Only keys that the document contains are changed, whether or not there is a base.
  ///
  /// Merging throws `invalidJSON` if the text is not JSON or an object has a duplicate key, `typeMismatch` if a value does not fit its
  /// field, and `missingValue` if an object that does not exist locally lacks a key without a default.
  public static func json(_ text: Data) -> MergeSource { MergeSource(form: .text(text)) }

  /// A parsed JSON document.
  public static func json(_ value: ArchiveValue) -> MergeSource { MergeSource(form: .json(value)) }

  /// The changes of a JSON Merge Patch (RFC 7396). At every depth, null clears a value, and absent keys are unchanged.
  ///
  /// A field that the patch clears must be optional; otherwise, merging throws `typeMismatch`. Null removes a key of a dictionary. A
  /// server's patch describes the changes on the server, so it is applied to the base if the base is known, and otherwise to this object's
  /// JSON.
  public static func mergePatch(_ patch: Data) -> MergeSource { MergeSource(form: .mergePatch(patch)) }

  /// The changes of a JSON Patch (RFC 6902).
  ///
  /// A value that the patch removes becomes null, at every depth. In a dictionary, the key is removed instead. The patch is applied to the
  /// JSON of the base if the base is known, and otherwise to this object's JSON. Merging throws `mergeFailed` if an operation cannot be
  /// applied, for example because a test fails, and `limitExceeded` under the same conditions as ``JSONPatch/applied(to:limits:)``.
  public static func patch(_ patch: JSONPatch) -> MergeSource { MergeSource(form: .patch(patch)) }

  /// An archive of this model, written by this or an older version.
  ///
  /// The archive is upgraded first. Keys that are absent after the upgrade are unchanged, at every depth. A null in the archive clears the
  /// local value. A conditional reference is an exception: archives also write null if they leave out the referenced object, so null clears
  /// the local reference only if the base is known. Merging also throws any error that ``ArchiveDecoder`` throws.
  public static func archive(_ data: Data) -> MergeSource { MergeSource(form: .archive(data)) }

  /// A record of this or an older version of the model, such as one from ``ArchiveDecoder/decodeValue(from:)`` or a migration step. The
  /// record may contain only some of the model's fields.
  public static func record(_ record: ModelRecord) -> MergeSource { MergeSource(form: .record(record)) }
}
