public import Foundation

extension JSONAdapter where Root: VersionedModel {
  /// Returns the changes between two models as a JSON Merge Patch (RFC 7396). The patch contains only the changed keys, with null for each
  /// removed value. Nested objects are compared key by key, and arrays as a whole. If nothing changed, the patch is an empty object.
  ///
  /// If the patch is applied to the document that `old` was read from, only the values of the fields change. An object on the path to a
  /// field keeps its other keys, and is not removed if it becomes empty. If a field has several alternative paths, removing the field
  /// removes the values at all of them. In a merge patch, null always removes the key. If the server distinguishes null from an absent key,
  /// write the changed fields with `encode(_:fields:)` instead.
  ///
  /// - Throws: ``ArchiveError`` with the code `notEncodable` and the path if the value of a dictionary key becomes null, and any error that
  ///   `encode(_:)` throws.
  public func jsonMergePatch(from old: Root, to new: Root) throws -> ArchiveValue {
    let plain = (old: try value(of: old, .omit), new: try value(of: new, .omit))
    var before = plain.old
    let marksFallbackPaths = catalog.schemas.contains { plan(of: $0).entries.contains { !$0.furtherPaths.isEmpty } }
    if marksFallbackPaths {
      let marked = try value(of: old, .omit, marksFallbackPaths: true)
      before = before.addingObjects(of: marked, where: marked)
    }
    let after = try value(of: new, .omit, keepsContainers: true, marksFallbackPaths: marksFallbackPaths)
    let patch = JSONMergePatch.patch(from: before, to: plain.new.addingObjects(of: after, where: before))
    try checkNulls(of: plain.new, in: JSONMergePatch.apply(patch, to: plain.old))
    return patch
  }

  /// Throws an error if a key is null in the new document and absent from the patched document, unless decoding the patched document
  /// restores the null.
  private func checkNulls(of new: ArchiveValue, in patched: ArchiveValue) throws {
    guard let path = new.nullMissing(in: patched) else { return }
    // Decoding restores the null of an optional field, because the field is decoded as nil if its key is absent. It does not restore a
    // dictionary key.
    let reread: Result<ArchiveValue, any Error> = Result { try value(of: decode(patched), .omit) }
    if case .success(let value) = reread, new.nullMissing(in: value) == nil { return }
    throw ArchiveError(
      .notEncodable,
      "a merge patch cannot set a dictionary key to null; write the whole field with encode(_:fields:)",
      path: path)
  }

  /// Returns the changes between two models as the text of a JSON Merge Patch (RFC 7396).
  public func jsonMergePatchData(from old: Root, to new: Root) throws -> Data {
    try writer(isPretty: false, sortsKeys: false).write(jsonMergePatch(from: old, to: new))
  }

  /// Merges a source into a model, like the model's own `merge(_:base:options:)`, but reads JSON with this adapter's mappings.
  ///
  /// - Parameters:
  ///   - source: a JSON document, a model, an archive or a record. JSON is read with this adapter's mappings.
  ///   - root: the model, which is unchanged if an error is thrown.
  ///   - base: the server's state that the local edits started from; by default the base in the model's ``MergeState``, if it has one.
  ///   - options: the options of this merge.
  /// - Throws: the same errors as `merge(_:base:options:)`, and `mergeFailed` for a patch, because an adapter cannot merge a patch.
  @discardableResult
  public func merge(
    _ source: MergeSource, into root: inout Root, base: Root? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    try root.fold(source, base, options, in: context(.first, finishesModels: false).json)
  }
}

extension ArchiveValue {
  /// Returns the path of the first key that is null in this value and absent from `other`; `nil` if there is none. Nested objects are
  /// searched, but arrays are not.
  package func nullMissing(in other: ArchiveValue) -> [ArchiveError.PathComponent]? {
    guard case .object(let own) = self, case .object(let others) = other else { return nil }
    var places = KeyPlaces(others.entries)
    for (index, entry) in own.entries.enumerated() {
      let found = places.place(of: entry.key, near: index).map { others.entries[$0].value }
      if entry.value.isNull, found == nil { return [.key(entry.key)] }
      if let path = found.flatMap({ entry.value.nullMissing(in: $0) }) { return [.key(entry.key)] + path }
    }
    return nil
  }

  /// Returns this value with missing objects and placeholders (``JSONLayout/mark``) added from `other`. They are added only where
  /// `before` has an object or a placeholder at the same path. An added object contains nothing but other added objects and placeholders.
  ///
  /// - Parameter other: this value with all objects on the paths to fields.
  fileprivate func addingObjects(of other: ArchiveValue, where before: ArchiveValue?) -> ArchiveValue {
    guard case .object(let own) = self, case .object(let all) = other, case .object(let before)? = before else {
      return self
    }
    var owns = KeyPlaces(own.entries)
    var befores = KeyPlaces(before.entries)
    var next = 0
    return .object(
      ArchiveObject(
        uniqueEntries: all.entries.compactMap { entry in
          let known = befores.place(of: entry.key, near: next).map { before.entries[$0].value }
          guard let place = owns.place(of: entry.key, near: next) else {
            if entry.value == JSONLayout.mark, known == JSONLayout.mark { return entry }
            guard case .object? = known else { return nil }
            let added = ArchiveValue.object([:]).addingObjects(of: entry.value, where: known)
            return ArchiveObject.Entry(key: entry.key, value: added)
          }
          next = place + 1
          let value = own.entries[place].value.addingObjects(of: entry.value, where: known)
          return ArchiveObject.Entry(key: entry.key, value: value)
        }))
  }
}
