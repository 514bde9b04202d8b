public import Foundation

/// Rewrites archives at today's version of their models.
///
///     let upgraded = try ArchiveUpgrader(Issue.self).upgrade(data)
///
/// Steps are applied to records as they stand; a model is only built where its type has a
/// ``ValueDecoding/decodeValue(forKey:modelVersion:in:)`` hook. Objects keep their identity.
public struct ArchiveUpgrader: Sendable {
  public var compression: CompressionLevel
  public var limits: ArchiveLimits
  private let catalog: SchemaCatalog
  private let root: ModelSchema

  /// An upgrader for archives of a model and of what it holds.
  ///
  /// - Parameters:
  ///   - type: the model at the root of the archives.
  ///   - compression: how hard what comes out is compressed.
  ///   - limits: what an archive may claim.
  ///   - subclasses: classes that an archive may hold where it is expected to hold one that they inherit from, as for
  ///     ``ArchiveDecoder``.
  public init<M: Model>(
    _ type: M.Type, compression: CompressionLevel = .balanced, limits: ArchiveLimits = ArchiveLimits(),
    subclasses: [any Model.Type] = []
  ) {
    var catalog = SchemaCatalog()
    type.collectSchemas(into: &catalog)
    for subclass in subclasses { subclass.collectSchemas(into: &catalog) }
    self.catalog = catalog
    self.compression = compression
    self.limits = limits
    root = type.schema
  }

  /// The archive at today's versions. One that is there already comes back as it is.
  ///
  /// - Throws: as ``ArchiveDecoder``. The bytes given are never changed.
  public func upgrade(_ data: Data) throws -> Data {
    var report = DecodingReport()
    return try upgrade(data, report: &report)
  }

  /// The archive at today's versions, and what was upgraded.
  public func upgrade(_ data: Data, report: inout DecodingReport) throws -> Data {
    let decoder = ArchiveDecoder(limits: limits)
    return try decoder.withBody(of: data, newestVersion: root) { stamp, body in
      let context = DecodingContext(limits: limits, finishesModels: false)
      var unused = DecodingReport()
      let value = try decoder.decode(body, fileSize: data.count, &unused) { try $0.readValue() }
      let upgraded = try ValueUpgrader(catalog: catalog, owner: root.name).upgrade(value, context)
      report = context.report
      if context.report.isEmpty, upgraded == value { return data }
      var stamp = stamp
      let schema = catalog[stamp.typeName] ?? root
      stamp.modelVersion = schema.modelVersion
      stamp.fingerprint = schema.fingerprint
      if catalog[stamp.typeName] != nil || upgraded.recordValue != nil { stamp.typeName = schema.name }
      return try ArchiveEncoder(compression: compression, limits: limits).archive(stamp) { try $0.write(upgraded) }
    }
  }
}
