/// Merges JSON documents, records and archives as plain values, without decoding models.
///
///     let (merged, report) = try Merger().merge(server, into: local, base: base)
///
/// Objects and records are merged key by key at every depth, by the policies that ``options`` specifies for paths. Without a base, the
/// server's values win, and keys absent from the server's objects are unchanged. In a record that does not exist locally, absent keys get
/// the defaults of the record's model, if the merger knows that model.
public struct Merger: Sendable {
  /// The policies, and how to treat conflicts and absent values.
  public var options: MergeOptions
  private let catalog: SchemaCatalog

  /// Creates a merger.
  ///
  /// - Parameters:
  ///   - options: the policies, and how to treat conflicts and absent values.
  ///   - models: the models whose records may occur. The records of each side are upgraded to the current version first, and then merged by
  ///     the policies of their fields.
  public init(options: MergeOptions = MergeOptions(), models: [any VersionedModel.Type] = []) {
    self.options = options
    var catalog = SchemaCatalog()
    for model in models { model._collectSchemas(into: &catalog) }
    self.catalog = catalog
  }

  /// Returns the merged value and a report.
  ///
  /// Graphs of objects are merged as trees, so an object that is referenced more than once is an error.
  ///
  /// - Parameters:
  ///   - server: the incoming value.
  ///   - local: the local value.
  ///   - base: the value that both sides started from; `nil` if it is not known.
  /// - Throws: ``ArchiveError`` with the code `mergeFailed` if a policy fails, or if there are conflicts and the options make them errors;
  ///   `missingValue` if a record that does not exist locally lacks a key without a default; `unsupportedVersion` if records of one type
  ///   have different versions and the merger does not know the type's model; `newerModel` or `migrationFailed` if a record cannot be
  ///   upgraded; `notEncodable` if objects are shared or form a cycle, or if a reference is outside of a graph; and `limitExceeded` if
  ///   values are nested too deeply.
  public func merge(_ server: ArchiveValue, into local: ArchiveValue, base: ArchiveValue? = nil) throws -> (
    value: ArchiveValue, report: MergeReport
  ) {
    try options.check()
    let context = DecodingContext(finishing: .never)
    let upgrader = ValueUpgrader(catalog: catalog)
    func upgraded(_ value: ArchiveValue) throws -> ArchiveValue { try upgrader.upgrade(value.asTree(), context) }
    var merger = ValueMerger(
      catalog: catalog, options: options, isBaseKnown: base != nil,
      incoming: .init(hasParts: !catalog.schemas.isEmpty, isArchived: true))
    let own = try upgraded(local)
    let sides = try merger.sides(
      base.map { try options.limited(upgraded($0), within: own) }, own, options.limited(upgraded(server), within: own))
    let merged: ArchiveValue?
    do { merged = try merger.mergeRoot(sides) } catch {
      let error = ArchiveError.wrap(error)
      guard error.code == .rejected else { throw error }
      throw ArchiveError(
        .mergeFailed,
        "the local and incoming values cannot be merged", path: error.codingPath, underlying: error.underlyingError)
    }
    var report = MergeReport()
    report.entries = merger.notes.map(\.entry)
    try report.checkConflicts(options, typeName: nil)
    let result = merged ?? .null
    func entries(_ value: ArchiveValue?) -> [ArchiveObject.Entry] {
      (value?.recordValue?.object ?? value?.objectValue)?.entries ?? []
    }
    let wanted = options.keys.map { Set($0.map { ExactKey($0) }) }
    report.mergedKeys = entries(sides.server).map(\.key).filter { wanted?.contains(ExactKey($0)) ?? true }
    let (olds, news) = (entries(sides.local), entries(result))
    let pairs = KeyPairs(olds, news)
    report.changes = zip(news, pairs.olds).compactMap { entry, place in
      let old = place.map { olds[$0].value }
      return old == entry.value ? nil : .init(key: entry.key, old: old, new: entry.value)
    }
    for (entry, place) in zip(olds, pairs.news) where place == nil {
      report.changes.append(.init(key: entry.key, old: entry.value, new: nil))
    }
    return (result, report)
  }
}

extension ArchiveValue {
  /// Returns the value with each reference of a graph replaced by the object that it refers to.
  ///
  /// - Throws: ``ArchiveError`` with the code `notEncodable` if an object is referenced twice, or if a reference is outside of a graph;
  ///   `limitExceeded` if more than 256 objects are nested in each other.
  package func asTree() throws -> ArchiveValue {
    guard case .graph(let graph) = self else {
      guard !hasReferences else {
        throw ArchiveError(
          .notEncodable, "a reference to an object of a graph is outside the graph; merge the whole graph")
      }
      return self
    }
    var seen = Set<Int>()
    var depth = 0
    func expanded(_ value: ArchiveValue) throws -> ArchiveValue {
      try value.mapReferences { number in
        guard graph.objects.indices.contains(number) else {
          throw ArchiveError(
            .notEncodable, "a reference names object \(number), but the graph has only \(graph.objects.count) objects")
        }
        guard seen.insert(number).inserted else {
          throw ArchiveError(
            .notEncodable, "shared objects cannot be merged or compared without their model type"
          )
        }
        guard depth < 256 else { throw ArchiveError.tooDeep(256) }
        depth += 1
        defer { depth -= 1 }
        return try expanded(graph.objects[number])
      }
    }
    return try expanded(graph.root)
  }
}

extension MergeOptions {
  /// Returns a value with every key that is not in the ``keys`` option set to its local value. The value is returned unchanged if the
  /// option is `nil`, or if the two roots are neither both objects nor both records of the same type.
  fileprivate func limited(_ value: ArchiveValue, within local: ArchiveValue) -> ArchiveValue {
    guard let keys else { return value }
    switch (value, local) {
    case (.object(let object), .object(var result)):
      for key in keys { result[key] = object[key] }
      return .object(result)
    case (.record(let record), .record(var result)) where record.typeName == result.typeName:
      for key in keys { result[key] = record[key] }
      return .record(result)
    default: return value
    }
  }
}
