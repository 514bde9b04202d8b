public import Foundation

/// Writes archives, which are gzip files with CBOR inside. The gzip header contains a ``Stamp`` with the type name and the model version.
///
///     let data = try ArchiveEncoder().encode(issue)
///
/// Equal values are encoded as equal bytes, on every platform and in every run. An encoder is a value type and can be shared between tasks.
public struct ArchiveEncoder: Sendable {
  /// The compression level.
  public var compression: CompressionLevel
  /// Limits on the content of an archive. A decoder with the same limits can read every archive that the encoder writes.
  public var limits: ArchiveLimits
  /// Subclasses whose objects may be encoded where a superclass is expected, in addition to the classes in ``ModelHierarchy``. An object of
  /// any other subclass is rejected, because no decoder would recognize its class. The decoder needs the same list.
  public var subclasses: [any VersionedModel.Type]
  /// The number of threads, including the caller's, that compress a body of 128 KiB or more. `nil` means one for each core. The number of
  /// threads does not affect the bytes of the archive.
  public var threads: Int?

  /// Creates an encoder.
  ///
  /// - Parameters:
  ///   - compression: the compression level.
  ///   - limits: limits on the content of an archive. A decoder with the same limits can read every archive that the encoder writes.
  ///   - subclasses: see ``subclasses``.
  ///   - threads: the number of threads that compress a large body; `nil` means one for each core.
  public init(
    compression: CompressionLevel = .balanced, limits: ArchiveLimits = ArchiveLimits(),
    subclasses: [any VersionedModel.Type] = [], threads: Int? = nil
  ) {
    self.compression = compression
    self.limits = limits
    self.subclasses = subclasses
    self.threads = threads
  }

  /// Returns an archive of one value.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if a decoder with the same limits would reject the archive, `notEncodable` if
  ///   part of the value cannot be archived, and `invalidSchema` or `invalidMigration` if the declaration of a model is invalid.
  /// - Complexity: linear in the size of the value.
  public func encode<T: Archivable>(_ value: T) throws -> Data {
    try archive(stamp(of: value)) { try $0.writeRoot(value) }
  }

  package func stamp<T: Archivable>(of value: T) -> Stamp {
    Stamp(of: T.self, count: UInt64(value._archivedCount))
  }

  /// Returns an archive of a value whose type conforms only to `Codable`.
  ///
  /// - Throws: the same errors as the method for models. An error that the type's own code throws becomes the underlying error of the
  ///   ``ArchiveError``.
  @_disfavoredOverload
  public func encode<T: Encodable>(_ value: T) throws -> Data {
    try archive(stamp(ofCodable: T.self)) { try $0.write(codable: value) }
  }

  /// Returns an archive of a record. The record's type does not need to be declared in the program.
  public func encode(_ record: ModelRecord) throws -> Data {
    let fingerprint = ModelSchema.fingerprint(of: record.shape)
    let stamp = Stamp(typeName: record.typeName, modelVersion: record.modelVersion, fingerprint: fingerprint)
    return try archive(stamp) { try $0.write(record) }
  }

  /// Returns an archive of an untyped graph.
  ///
  /// - Parameters:
  ///   - graph: the objects, and the root value that refers to them.
  ///   - typeName: the name under which the type of the root is registered.
  ///   - modelVersion: the model version of the root.
  /// - Throws: the same errors as the method for models, and `notEncodable` if a reference names an object that does not exist.
  public func encode(_ graph: ObjectGraph, typeName: String, modelVersion: Int?) throws -> Data {
    try archive(Stamp(typeName: typeName, modelVersion: modelVersion)) { try $0.write(graph) }
  }

  /// Writes an archive of one value to a file. The file is replaced atomically: a reader sees either the old or the new content, and after
  /// a failure or a crash the file still has the old content.
  ///
  /// - Throws: the same errors as for an archive in memory, and ``ArchiveError`` with the code `fileSystem`.
  public func encode<T: Archivable>(_ value: T, to url: URL) throws {
    try AtomicFile.write(encode(value), to: url)
  }

  /// Writes an archive of a value whose type conforms only to `Codable`. The file is replaced atomically.
  @_disfavoredOverload
  public func encode<T: Encodable>(_ value: T, to url: URL) throws {
    try AtomicFile.write(encode(value), to: url)
  }

  /// Returns only the body of an archive, as uncompressed CBOR. Use it with a transport that compresses data and verifies checksums.
  ///
  /// - Throws: the same errors as for an archive in memory, and `limitExceeded` if references expand to more than
  ///   ``ArchiveLimits/maxWorkPerByte`` allows for the size of the body. For such a value, `encode(_:)` pads the archive instead of
  ///   throwing.
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
  /// Returns an archive member with the body that this writer has written so far.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if readers with the same limits would reject the member.
  package borrowing func member(
    _ stamp: Stamp, _ level: CompressionLevel, link: StreamLink? = nil, threads: Int? = nil
  ) throws -> [UInt8] {
    try checkLimits()
    guard stamp.count <= UInt64(buffer.count) else {
      throw ArchiveError(
        .notEncodable,
        "_archivedCount returned \(stamp.count) models, but only \(buffer.count) bytes were written, and a model "
          + "takes at least one byte; return the number of models that were written"
      )
    }
    let least = leastFileSize
    var stamp = stamp
    stamp.floors.add(floors)
    return try buffer.withBytes { body in
      var output: [UInt8] = []
      try Gzip.appendMember(
        body: body, stamp: stamp, level: level, minimumSize: least, link: link, blocks: .threads(threads), to: &output)
      return output
    }
  }
}

extension Stamp {
  init<T: Archivable>(of type: T.Type, kind: Kind = .single, sequenceNumber: UInt64 = 0, count: UInt64 = 1) {
    let schema = T._rootSchema
    self.init(
      kind: kind, sequenceNumber: sequenceNumber, typeName: T._archiveTypeName, modelVersion: schema?.modelVersion,
      fingerprint: schema?.fingerprint ?? 0, count: count)
    if let schema { floors.add(schema.archivedShape) }
  }
}
