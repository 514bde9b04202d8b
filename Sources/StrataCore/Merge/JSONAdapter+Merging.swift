public import Foundation

extension JSONAdapter where Root: VersionedModel {
  /// What changed between two models as a JSON Merge Patch (RFC 7396): changed keys alone, null for what is gone,
  /// objects inside key by key, arrays whole. An empty object where nothing changed.
  ///
  /// Applied to the JSON of `old`, written without nulls, it gives that of `new`. A merge patch has no other way to
  /// say null than to remove a key: for a server that tells the two apart, write the changed fields with
  /// `encode(_:fields:)`.
  public func jsonMergePatch(from old: Root, to new: Root) throws -> ArchiveValue {
    try JSONMergePatch.patch(from: value(of: old, .omit), to: value(of: new, .omit))
  }

  /// What changed between two models as the text of a JSON Merge Patch (RFC 7396).
  public func jsonMergePatchData(from old: Root, to new: Root) throws -> Data {
    try writer(isPretty: false, sortsKeys: false).write(jsonMergePatch(from: old, to: new))
  }

  /// Merges a JSON object into a model by this adapter's mappings: only the fields that the document holds are touched.
  ///
  /// All or nothing, and with the policies of the fields, as `merge(_:base:options:)`.
  ///
  /// - Parameters:
  ///   - json: the document.
  ///   - root: the model, which stays as it is where anything fails.
  ///   - base: the server's state that the local edits started from; the one that the model remembers unless given.
  ///   - options: what this merge does differently.
  /// - Throws: as `mergeValues(fromJSON:)`.
  @discardableResult
  public func merge(
    _ json: Data, into root: inout Root, base: Root? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    try merge(parsed(json), into: &root, base: base, options: options)
  }

  /// Merges a JSON object that was parsed before.
  @discardableResult
  public func merge(
    _ json: ArchiveValue, into root: inout Root, base: Root? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    try root.fold(.json(json), base, options, in: context(.first, finishesModels: false).json)
  }
}
