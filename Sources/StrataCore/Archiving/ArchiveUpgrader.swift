public import Foundation

/// Rewrites archives at today's version of their models.
///
///     let upgraded = try ArchiveUpgrader(Issue.self).upgrade(data)
///
/// An upgrader decodes an archive and encodes what came out, so it gives what ``ArchiveDecoder`` and ``ArchiveEncoder``
/// give one after the other, and refuses what the decoder refuses: steps, hooks and rules run, former names and cases
/// become today's, and what no encoding writes (fields that archives leave out, objects that nothing refers to any more)
/// is not in the result.
public struct ArchiveUpgrader: Sendable {
  /// How hard what comes out is compressed.
  public var compression: CompressionLevel
  /// What an archive may claim.
  public var limits: ArchiveLimits
  /// Whether models must keep their rules (see ``Validating``), as for ``ArchiveDecoder``.
  public var validates: Bool
  private let root: any (Archivable & SendableMetatype).Type
  private let subclasses: [any VersionedModel.Type]

  /// An upgrader for archives of a model, of any number of them, or of another type.
  ///
  /// - Parameters:
  ///   - type: what the archives hold. A model stands also for an optional one, and for arrays, sets and dictionaries of
  ///     them: the stamp says which. The keys of such a dictionary stay as they are; name its own type where they are
  ///     to be upgraded.
  ///   - compression: how hard what comes out is compressed.
  ///   - limits: what an archive may claim.
  ///   - validates: whether an archive is refused whose models break their rules.
  ///   - subclasses: classes that an archive may hold where it is expected to hold one that they inherit from, as for
  ///     ``ArchiveDecoder``.
  public init<T: Archivable & SendableMetatype>(
    _ type: T.Type, compression: CompressionLevel = .balanced, limits: ArchiveLimits = ArchiveLimits(),
    validates: Bool = true, subclasses: [any VersionedModel.Type] = []
  ) {
    root = type
    self.compression = compression
    self.limits = limits
    self.validates = validates
    self.subclasses = subclasses
  }

  /// The archive at today's versions. One that is as it would be written today comes back as it is.
  ///
  /// - Throws: as ``ArchiveDecoder`` and ``ArchiveEncoder``. The bytes given are never changed.
  /// - Complexity: that of decoding and encoding.
  public func upgrade(_ data: Data) throws -> Data {
    var report = DecodingReport()
    return try upgrade(data, report: &report)
  }

  /// The archive at today's versions, and what was upgraded.
  public func upgrade(_ data: Data, report: inout DecodingReport) throws -> Data {
    let type = try ArchivedType(root, subclasses, stampedAs: Stamp(of: data).typeName)
    return try upgrade(data, as: type.type, named: type.name, &report)
  }

  private func upgrade<T: Archivable>(
    _ data: Data, as type: T.Type, named name: String, _ report: inout DecodingReport
  ) throws -> Data {
    let decoder = ArchiveDecoder(limits: limits, validates: validates, subclasses: subclasses)
    return try decoder.withBody(of: data, as: name, newestVersion: T._rootSchema) { stamp, body in
      let value: T = try decoder.decodeModels(body, fileSize: data.count, &report)
      let encoder = ArchiveEncoder(compression: compression, limits: limits)
      var today = encoder.stamp(of: value)
      today.typeName = name
      today.plainSize = stamp.plainSize
      var writer = ArchiveWriter(limits: limits)
      writer.subclasses = subclasses
      try writer.writeRoot(value)
      if today == stamp, writer.buffer.holds(body) { return data }
      return Data(try writer.member(today, compression))
    }
  }
}
