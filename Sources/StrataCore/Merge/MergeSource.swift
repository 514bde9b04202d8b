import Foundation

/// What is folded into a model: whichever form it comes in, it becomes a tree in which anything may be absent.
enum MergeSource {
  /// An object of this model or of another one.
  case model(any Model)
  /// JSON text, and JSON that was read before.
  case text(Data)
  case json(Value)
  /// A JSON Merge Patch (RFC 7396), and a JSON Patch (RFC 6902).
  case mergePatch(Data)
  case patch(JSONPatch)
  /// An archive or a record, of any version.
  case archive(Data)
  case record(Record)
}
