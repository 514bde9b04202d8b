public import Foundation

/// Upgrades archives to the current version of their models.
///
///     let upgraded = try ArchiveUpgrader(Issue.self).upgrade(data)
///
/// An upgrader decodes an archive and encodes the decoded value. Its output is the same as if you decoded the archive with
/// ``ArchiveDecoder`` and encoded the value with ``ArchiveEncoder``. It rejects every archive that the decoder rejects, and runs migration
/// steps, hooks and validation rules. Former names of types, fields and cases are replaced by the current names. The output contains
/// neither fields that models exclude from archives nor unreferenced objects.
public struct ArchiveUpgrader: Sendable {
  /// The compression level of the output.
  public var compression: CompressionLevel
  /// Limits on the content of an archive, such as the length of a string. An archive that exceeds a limit is rejected.
  public var limits: ArchiveLimits
  /// Whether models are checked against their rules (see ``Validating``), as in ``ArchiveDecoder``.
  public var validates: Bool
  private let root: any (Archivable & SendableMetatype).Type
  private let subclasses: [any VersionedModel.Type]

  /// Creates an upgrader for archives of one root type. If the type is a model, archives of collections of the model
  /// are also upgraded.
  ///
  /// - Parameters:
  ///   - type: the root type of the archives. If it is a model, archives of optionals, arrays, sets and dictionaries of the model are also
  ///     upgraded. They are recognized by the type name in the stamp. Keys of dictionaries are not upgraded. To upgrade the keys, pass the
  ///     type of the dictionary.
  ///   - compression: the compression level of the output.
  ///   - limits: limits on the content of an archive, such as the length of a string.
  ///   - validates: whether archives are rejected if their models break validation rules.
  ///   - subclasses: see ``ArchiveDecoder/subclasses``.
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

  /// Returns the archive upgraded to the current model versions. An archive that is already up to date is returned
  /// unchanged.
  ///
  /// - Throws: the same errors as ``ArchiveDecoder`` and ``ArchiveEncoder``. `data` is never changed.
  /// - Complexity: linear in the size of the archive, which is decoded and encoded again.
  public func upgrade(_ data: Data) throws -> Data {
    var report = DecodingReport()
    return try upgrade(data, report: &report)
  }

  /// Returns the archive upgraded to the current model versions and reports the upgrades in `report`.
  public func upgrade(_ data: Data, report: inout DecodingReport) throws -> Data {
    let type = try ArchivedType(root, subclasses, stampedAs: Stamp(of: data).typeName)
    return try upgrade(data, as: type.type, named: type.name, &report)
  }

  private func upgrade<T: Archivable>(
    _ data: Data, as type: T.Type, named name: String, _ report: inout DecodingReport
  ) throws -> Data {
    let decoder = ArchiveDecoder(limits: limits, validates: validates, subclasses: subclasses)
    return try decoder.withBody(of: data, as: name, newestVersion: T._rootSchema) { stamp, body in
      let value: T = try decoder.decodeModels(body, stamp, fileSize: data.count, &report)
      let encoder = ArchiveEncoder(compression: compression, limits: limits)
      var today = encoder.stamp(of: value)
      today.typeName = name
      today.plainSize = stamp.plainSize
      var writer = ArchiveWriter(limits: limits)
      writer.subclasses = subclasses
      try writer.writeRoot(value)
      today.floors.add(writer.floors)
      if today == stamp, writer.buffer.holds(body) { return data }
      return Data(try writer.member(today, compression))
    }
  }
}
