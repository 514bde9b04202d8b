public import Foundation

extension Array where Element: VersionedModel {
  /// Folds a list of models into this one by identity: elements that both have are merged, what the server inserted comes
  /// in, and the order is the server's, with what was inserted or moved here in its place.
  ///
  /// The same as merging models that hold the lists in a field with ``MergePolicy/byID(_:missing:)``, but models that did
  /// not change cost no more than being compared. Instances of classes stay themselves. All or nothing.
  ///
  ///     let report = try issues.mergeValues(from: refreshed, by: "number")
  ///
  /// - Parameters:
  ///   - source: the server's list.
  ///   - key: the key that tells elements apart; unless given, what the model's ``MergeRules`` say, or `id`.
  ///   - missing: what becomes of elements that the server no longer sends.
  ///   - base: what both lists started from; `nil` where nobody knows.
  ///   - options: what this merge does differently. Paths begin with an element: `[*].name`.
  /// - Throws: ``ArchiveError`` as `merge(_:base:options:)`; `unknownKey` where the model does not
  ///   declare the key, or the options name keys, which are those of one model.
  /// - Complexity: linear in the size of the lists, where no element was moved.
  @discardableResult
  public mutating func mergeValues(
    from source: [Element], by key: String? = nil, missing: MissingElements = .deleteUnlessEdited,
    base: [Element]? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    let key = try Self.identityKey(key, options)
    if let report = try mergeByBytes(source, key, missing, base, options) { return report }
    return try mergeThroughModels(
      .model(MergedList(elements: source)), MergePolicy.byID(key, missing: missing), base, options)
  }

  /// Folds a JSON array into this list by identity, as `mergeValues(from:by:)` does; of elements that are here, only the keys
  /// that the document holds are touched.
  ///
  /// - Throws: as `mergeValues(fromJSON:)` of a model; `typeMismatch` where the document is no array.
  @discardableResult
  public mutating func mergeValues(
    fromJSON json: Data, by key: String? = nil, missing: MissingElements = .deleteUnlessEdited,
    base: [Element]? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    let elements = try PartText(reading: JSONReading.standard).value(of: json, for: Self.self)
    return try mergeValues(fromJSON: elements, by: key, missing: missing, base: base, options: options)
  }

  /// Folds a JSON array into this list that was read before.
  @discardableResult
  public mutating func mergeValues(
    fromJSON json: Value, by key: String? = nil, missing: MissingElements = .deleteUnlessEdited,
    base: [Element]? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    let key = try Self.identityKey(key, options)
    return try mergeThroughModels(
      .json(["elements": json]), MergePolicy.byID(key, missing: missing), base, options)
  }

  private static func identityKey(_ key: String?, _ options: MergeOptions) throws -> String {
    let key = key ?? Element.schema.identityKey ?? "id"
    try Element.schema.check()
    try Element.schema.checkKeys([key] + (options.keys.map { _ in ["(the keys of one model)"] } ?? []))
    return key
  }

  /// Merges without making models of what did not change; `nil` where that cannot be.
  private mutating func mergeByBytes(
    _ source: [Element], _ key: String, _ missing: MissingElements, _ base: [Element]?, _ options: MergeOptions
  ) throws -> MergeReport? {
    var catalog = SchemaCatalog()
    Element.collectSchemas(into: &catalog)
    let merge = ListMerge(
      Element.schema, catalog, key: key, missing: missing, isBaseKnown: base != nil, options)
    guard let merge else { return nil }
    var bytes = ElementBytes()
    let ranges = (try bytes.add(self), try bytes.add(source), try bytes.add(base ?? []))
    let sides = [self, source, base ?? []]
    let found = try merge.run(bytes, ranges.0, ranges.1, ranges.2) { side, place in
      try sides[side][place].shallowRecord(ReferencedObjects())
    }
    guard let found else { return nil }
    let context = DecodingContext(
      source: .merge, includesExcluded: true, validates: options.validates, collectsFailures: true)
    func element(_ choice: ListMerge.Choice, _ place: Int) throws -> Element {
      do {
        switch choice {
        case .local(let place): return sides[0][place]
        case .server(let place) where !catalog.finishesModels: return sides[1][place]
        case .server(let place):
          let values = try sides[1][place].shallowRecord(ReferencedObjects())
          return try MergeCommit.made(Element.self, values, MergeGraph(), in: context)
        case .made(let values): return try MergeCommit.made(Element.self, values, MergeGraph(), in: context)
        }
      } catch { throw ArchiveError.at(.index(place), error) }
    }
    var result = self
    for change in found.changes { result[change.place] = try element(change.choice, change.place) }
    if let rest = found.rest {
      result.removeLast(result.count - rest.start)
      for choice in rest.choices { result.append(try element(choice, result.count)) }
    }
    var report = found.report
    report.isChangedInside = !found.changes.isEmpty || found.changes(rest: count)
    self = result
    return report
  }

  /// Merges the lists as fields of models.
  private mutating func mergeThroughModels(
    _ source: MergeSource, _ policy: MergePolicy, _ base: [Element]?, _ options: MergeOptions
  ) throws -> MergeReport {
    var options = options
    options.policies =
      [("elements", policy)]
      + options.policies.map { (MergeSelector(parsing: "elements" + $0.path.description), $0.policy) }
    var target = MergedList(elements: self)
    var report: MergeReport
    do {
      report = try target.fold(source, base.map { MergedList(elements: $0) }, options)
    } catch let error as ArchiveError { throw error.withoutFirstKey.inType(Element.schema.name) }
    report.entries = report.entries.map(\.withoutFirstKey)
    report.isChangedInside = !report.changes.isEmpty
    report.changes = []
    report.mergedKeys = []
    self = target.elements
    return report
  }
}

/// A list as the only field of a model.
private struct MergedList<Element: VersionedModel>: VersionedModel {
  var elements: [Element]

  init(elements: [Element]) { self.elements = elements }

  static var schema: ModelSchema {
    ModelSchema.cached(Self.self) {
      ModelSchema(
        Self.self, name: "List<\(Element.schema.name)>", version: 0, fields: [FieldInfo("elements", [Element].self)])
    }
  }

  init(fields reader: inout ArchiveReader) throws { elements = try reader.field(0) }

  func encodeFields(to writer: inout ArchiveWriter) throws { try writer.field(0, elements) }

  static func make(case name: String, payload: CasePayload) throws -> MergedList? { nil }
}

extension MergeReport.Entry {
  fileprivate var withoutFirstKey: MergeReport.Entry {
    MergeReport.Entry(
      path: MergePath(Array(path.components.dropFirst())), outcome: outcome, rule: rule, base: base, local: local,
      server: server, result: result)
  }
}

extension ArchiveError {
  fileprivate var withoutFirstKey: ArchiveError {
    guard codingPath.first == .key("elements") else { return self }
    return ArchiveError(
      code, reason, path: Array(codingPath.dropFirst()), typeName: typeName, foundVersion: foundVersion,
      supportedVersion: supportedVersion, limit: limit, byteOffset: byteOffset, underlying: underlyingError,
      failures: failures, extra: details.extra)
  }
}

extension ListMerge.Result {
  /// Whether the end of a list of this length is another than before.
  fileprivate func changes(rest count: Int) -> Bool {
    guard let rest else { return false }
    guard rest.choices.count == count - rest.start else { return true }
    return zip(rest.start..., rest.choices).contains { place, choice in
      if case .local(place) = choice { false } else { true }
    }
  }
}
