public import Foundation

/// Writes archives: gzip files with CBOR inside, stamped with type name and model version.
///
///     let data = try ArchiveEncoder().encode(issue)
///
/// Equal values make equal bytes, on every platform and in every run. An encoder is a value and can be shared.
public struct ArchiveEncoder: Sendable {
  /// How hard the archive is compressed.
  public var compression: CompressionLevel
  /// What an archive may hold. A decoder with the same limits reads all that is written.
  public var limits: ArchiveLimits
  /// Classes that may come where one that they inherit from is declared, beside those that ``ModelHierarchy`` names. An object of any
  /// other class is refused, since no decoder would know it. A decoder needs the same.
  public var subclasses: [any VersionedModel.Type]
  /// How many threads compress a body of 128 KiB or more, the caller's among them; `nil` means one for each core. The bytes are the same with
  /// any number.
  public var threads: Int?

  /// An encoder. Create one, and share it.
  ///
  /// - Parameters:
  ///   - compression: how hard archives are compressed.
  ///   - limits: what an archive may hold; a decoder needs the same to read all that is written.
  ///   - subclasses: classes that may come where one that they inherit from is declared; a decoder needs the same.
  ///   - threads: how many threads compress a large body; `nil` means one for each core.
  public init(
    compression: CompressionLevel = .balanced, limits: ArchiveLimits = ArchiveLimits(),
    subclasses: [any VersionedModel.Type] = [], threads: Int? = nil
  ) {
    self.compression = compression
    self.limits = limits
    self.subclasses = subclasses
    self.threads = threads
  }

  /// An archive of one value.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` where a decoder with the same limits would refuse it,
  ///   `notEncodable` where something in it cannot be archived, `invalidSchema` and `invalidMigration` where a model's declaration is wrong.
  /// - Complexity: linear in the size of the value.
  public func encode<T: Archivable>(_ value: T) throws -> Data {
    try archive(stamp(of: value)) { try $0.writeRoot(value) }
  }

  package func stamp<T: Archivable>(of value: T) -> Stamp {
    Stamp(
      typeName: T._archiveTypeName, modelVersion: T._rootSchema?.modelVersion,
      fingerprint: T._rootSchema?.fingerprint ?? 0, count: UInt64(value._archivedCount))
  }

  /// An archive of a value whose type is only `Codable`.
  ///
  /// - Throws: as the method for models; what the type's own code throws is the cause of the error.
  @_disfavoredOverload
  public func encode<T: Encodable>(_ value: T) throws -> Data {
    try archive(stamp(ofCodable: T.self)) { try $0.write(codable: value) }
  }

  /// An archive of a record, whatever type it names.
  public func encode(_ record: ModelRecord) throws -> Data {
    let fingerprint = ModelSchema.fingerprint(of: record.shape)
    let stamp = Stamp(typeName: record.typeName, modelVersion: record.modelVersion, fingerprint: fingerprint)
    return try archive(stamp) { try $0.write(record) }
  }

  /// An archive of a graph without types.
  ///
  /// - Parameters:
  ///   - graph: the objects and the root.
  ///   - typeName: the registered name of the type that the root is.
  ///   - modelVersion: its version.
  /// - Throws: as the method for models, and `notEncodable` where a reference names no object.
  public func encode(_ graph: ObjectGraph, typeName: String, modelVersion: Int?) throws -> Data {
    try archive(Stamp(typeName: typeName, modelVersion: modelVersion)) { try $0.write(graph) }
  }

  /// Writes an archive of one value to a file, which is replaced as a whole: a reader sees the old file or the new one,
  /// and a failure or a crash leaves the old one.
  ///
  /// - Throws: as for an archive in memory, and ``ArchiveError`` with the code `fileSystem`.
  public func encode<T: Archivable>(_ value: T, to url: URL) throws {
    try AtomicFile.write(encode(value), to: url)
  }

  /// Writes an archive of a value whose type is only `Codable` to a file, which is replaced as a whole.
  @_disfavoredOverload
  public func encode<T: Encodable>(_ value: T, to url: URL) throws {
    try AtomicFile.write(encode(value), to: url)
  }

  /// The body of an archive alone: plain CBOR, for a transport that compresses and checks on its own.
  ///
  /// - Throws: as for an archive in memory, and if references expand to more than ``ArchiveLimits/maxWorkPerByte`` allows for
  ///   the size of the body, which an archive would be filled up for.
  public func encodeBody<T: Archivable>(_ value: T) throws -> Data {
    var writer = ArchiveWriter(limits: limits)
    writer.subclasses = subclasses
    try writer.writeRoot(value)
    try writer.checkLimitsAlone()
    return writer.buffer.takeData()
  }

  package func archive(
    _ stamp: Stamp, link: StreamLink? = nil, _ write: (inout ArchiveWriter) throws -> Void
  ) throws -> Data {
    try Measured.work("encode", stamp.typeName, bytes: { $0.count }) {
      var writer = ArchiveWriter(limits: limits)
      writer.subclasses = subclasses
      try write(&writer)
      return Data(try writer.member(stamp, compression, link: link, threads: threads))
    }
  }
}

extension ArchiveWriter {
  /// What was written, as a member of a file.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` where readers with the same limits would refuse it.
  package borrowing func member(
    _ stamp: Stamp, _ level: CompressionLevel, link: StreamLink? = nil, threads: Int? = nil
  ) throws -> [UInt8] {
    try checkLimits()
    guard stamp.count <= UInt64(buffer.count) else {
      throw ArchiveError(
        .notEncodable,
        "\(stamp.count) models are counted in \(buffer.count) bytes; _archivedCount is how many there are"
      )
    }
    let least = leastFileSize
    return try buffer.withBytes { body in
      var output: [UInt8] = []
      try Gzip.appendMember(
        body: body, stamp: stamp, level: level, minimumSize: least, link: link, blocks: .threads(threads), to: &output)
      return output
    }
  }
}
