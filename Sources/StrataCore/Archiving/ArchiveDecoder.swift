public import Foundation

/// Opens archives of today's version and of every older one.
///
///     let issue = try ArchiveDecoder().decode(Issue.self, from: data)
///
/// The type says what may come out: an archive cannot make anything else. A decoder is a value and can be shared.
public struct ArchiveDecoder: Sendable {
  /// What an archive may claim.
  public var limits: ArchiveLimits
  /// Whether models must keep their rules (see ``Validating``). Without, an archive that an older program wrote opens
  /// though today's rules refuse it, and opens faster.
  public var validates: Bool
  /// Classes that an archive may hold where it is expected to hold one that they inherit from. A class that is neither
  /// named here, nor by ``ModelHierarchy``, nor the type of a field, is refused.
  public var subclasses: [any VersionedModel.Type]

  /// A decoder. Create one, and share it.
  ///
  /// - Parameters:
  ///   - limits: what an archive may claim.
  ///   - validates: whether models must keep their rules.
  ///   - subclasses: classes that may come where one that they inherit from is expected.
  public init(
    limits: ArchiveLimits = ArchiveLimits(), validates: Bool = true, subclasses: [any VersionedModel.Type] = []
  ) {
    self.limits = limits
    self.validates = validates
    self.subclasses = subclasses
  }

  /// The value of an archive, upgraded where an older version wrote it.
  ///
  /// - Throws: ``ArchiveError``. Opening: `notAnArchive`, `newerFormat`, `truncated`, `damaged`, `limitExceeded`.
  ///   Decoding: `newerModel`, `unsupportedVersion`, `unknownType`, `typeMismatch`, `missingValue`, `unknownCase`,
  ///   `rejected`, `invalid`. Upgrading: `invalidMigration`, `migrationFailed`.
  /// - Complexity: linear in the size of the archive.
  public func decode<T: Archivable>(_ type: T.Type = T.self, from data: Data) throws -> T {
    var report = DecodingReport()
    return try decode(type, from: data, report: &report)
  }

  /// The value of an archive, and what was upgraded on the way.
  ///
  /// - Throws: as the first of these methods.
  public func decode<T: Archivable>(_ type: T.Type = T.self, from data: Data, report: inout DecodingReport) throws -> T
  {
    try withBody(of: data, as: T._archiveTypeName, newestVersion: T._rootSchema) { stamp, body in
      let value: T = try decodeModels(body, fileSize: data.count, &report)
      if let schema = T._rootSchema, schema.hasOtherFields(than: stamp) {
        report.addOtherFields(of: schema.name)
        Measured.note(report.noteworthy)
      }
      return value
    }
  }

  /// The value of an archive whose type is only `Codable`.
  @_disfavoredOverload
  public func decode<T: Decodable>(_ type: T.Type = T.self, from data: Data) throws -> T {
    var report = DecodingReport()
    return try withBody(of: data, as: String(describing: T.self), newestVersion: nil) { stamp, body in
      try decode(body, fileSize: data.count, &report) { try $0.readCodable() }
    }
  }

  /// The value of an archive file.
  ///
  /// - Throws: as the first of these methods, and ``ArchiveError`` with the code `fileSystem`.
  public func decode<T: Archivable>(_ type: T.Type = T.self, from url: URL) throws -> T {
    try ArchiveError.naming(url) { try decode(type, from: read(url)) }
  }

  /// The value of an archive file, and what was upgraded on the way.
  public func decode<T: Archivable>(_ type: T.Type = T.self, from url: URL, report: inout DecodingReport) throws -> T {
    try ArchiveError.naming(url) { try decode(type, from: read(url), report: &report) }
  }

  /// The value of an archive file whose type is only `Codable`.
  @_disfavoredOverload
  public func decode<T: Decodable>(_ type: T.Type = T.self, from url: URL) throws -> T {
    try ArchiveError.naming(url) { try decode(type, from: read(url)) }
  }

  /// What an archive holds, without its types.
  ///
  /// - Throws: ``ArchiveError`` with the code `notAnArchive`, `newerFormat`, `truncated`, `damaged` or `limitExceeded`.
  public func decodeValue(from data: Data) throws -> ArchiveValue {
    try decodeStampedValue(from: data).value
  }

  /// The value of a body that ``ArchiveEncoder/encodeBody(_:)`` made.
  public func decodeBody<T: Archivable>(_ type: T.Type = T.self, from body: Data) throws -> T {
    var report = DecodingReport()
    return try decodeModels(body.bytes, fileSize: body.count, &report)
  }

  // MARK: Inside

  package func read(_ url: URL) throws -> Data { Data(try AtomicFile.read(url, limit: nil)) }

  /// - Parameter name: the type that is expected; `nil` for any.
  package func withBody<R>(
    of data: Data, as name: String? = nil, newestVersion schema: ModelSchema?, _ body: (Stamp, RawSpan) throws -> R
  ) throws -> R {
    try Measured.work("decode", name ?? "any", bytes: { _ in data.count }) {
      try withContents(of: data, as: name, newestVersion: schema, body)
    }
  }

  private func withContents<R>(
    of data: Data, as name: String?, newestVersion schema: ModelSchema?, _ body: (Stamp, RawSpan) throws -> R
  ) throws -> R {
    let bytes = data.bytes
    let header = try GzipHeader(of: bytes)
    let stamp = header.stamp
    // A root that is too new is refused before anything is inflated.
    try schema?.check(stamp)
    guard stamp.kind == .single else {
      throw ArchiveError(
        .typeMismatch, "this archive is a stream of models; read it with ArchiveSequence", typeName: stamp.typeName)
    }
    try stamp.checkCount()
    let (inflated, end) = try Gzip.inflateMember(header, at: 0, in: bytes, limits: limits)
    guard end == bytes.byteCount else {
      throw ArchiveError.damaged("\(bytes.byteCount - end) bytes follow the end of the archive", at: end)
    }
    do { return try body(stamp, inflated.bytes) } catch let found as ArchiveError {
      let error = schema?.explaining(found, by: stamp) ?? found
      guard let name, error.codingPath.isEmpty else { throw error }
      throw error.naming(stamp, expected: name)
    }
  }

  func decodeModels<T: Archivable>(
    _ body: RawSpan, fileSize: Int, _ report: inout DecodingReport
  ) throws -> T {
    try decode(body, fileSize: fileSize, &report) { reader in
      try reader.context.checked { try reader.readRoot(T.self) }
    }
  }

  /// - Parameter row: what is kept beside the bytes where they are those of a row, which has no head.
  package func decode<R>(
    _ body: RawSpan, fileSize: Int, _ report: inout DecodingReport,
    row: (definitions: [ArchiveReader.Definition], contents: RowContents)? = nil,
    _ read: (inout ArchiveReader) throws -> R
  ) throws -> R {
    let context = DecodingContext(limits: limits, finishing: .gathering(validates: validates))
    context.budget.begin(fileSize: fileSize)
    context.subclasses = subclasses
    context.readsCompleteRecords = true
    context.row = row?.contents
    var reader = ArchiveReader(body, context: context)
    if let row { reader.beginRow(row.definitions) } else { try reader.beginBody() }
    let value = try read(&reader)
    try reader.endBody()
    report = context.report
    Measured.note(report.noteworthy)
    return value
  }
}

extension ModelSchema {
  /// Refuses an archive of a newer version by its stamp alone.
  ///
  /// The root may be an object of a subclass, which has a version of its own: reading checks that.
  func check(_ stamp: Stamp) throws {
    guard let found = stamp.modelVersion, found > modelVersion else { return }
    if isOurs(stamp) { throw ArchiveError.newer(found, self) }
  }

  /// Whether a stamp is of this type. That of a collection has the name inside. Of another type the version says nothing.
  private func isOurs(_ stamp: Stamp) -> Bool {
    isObject ? isNamed(stamp.typeName) : ([name] + formerNames).contains { stamp.typeName.contains($0) }
  }

  /// Whether an archive was written with other fields, or in another order, under today's version.
  func hasOtherFields(than stamp: Stamp) -> Bool {
    stamp.fingerprint != fingerprint && stamp.fingerprint != 0 && stamp.modelVersion == modelVersion && isOurs(stamp)
  }

  /// An error of reading fields, with the advice that is right where they changed and the version did not.
  func explaining(_ error: ArchiveError, by stamp: Stamp) -> ArchiveError {
    guard [.missingValue, .typeMismatch, .unknownCase].contains(error.code), hasOtherFields(than: stamp) else {
      return error
    }
    return error.changed {
      $0.reason +=
        "; the archive has version \(modelVersion) of \(name) too, with other fields: raise the version of the model and add a step"
    }
  }
}

extension ArchiveError {
  /// The error of a root or an element that is no value of the type expected: with the names of both types, where the
  /// stamp has another one.
  func naming(_ stamp: Stamp, expected name: String) -> ArchiveError {
    var isMismatch = code == .typeMismatch
    if case DecodingError.typeMismatch? = underlyingError { isMismatch = true }
    // An untyped value has no name of its own.
    guard isMismatch, stamp.typeName != name, stamp.typeName != ArchiveValue._archiveTypeName else { return self }
    return changed { $0.reason = "found an archive of \(stamp.typeName) where \(name) is expected" }
  }

  package static func newer(_ found: Int, _ schema: ModelSchema) -> ArchiveError {
    ArchiveError(
      .newerModel,
      "written by version \(found) of the model, and this program knows versions up to \(schema.modelVersion); update it",
      typeName: schema.name, foundVersion: found, supportedVersion: schema.modelVersion)
  }
}

extension Stamp {
  /// The stamp of an archive. Nothing is inflated.
  ///
  /// - Throws: ``ArchiveError`` with the code `notAnArchive`, `newerFormat`, `truncated` or `damaged`.
  public init(of data: Data) throws { self = try GzipHeader(of: data.bytes).stamp }
}

extension GzipHeader {
  /// The header of an archive.
  fileprivate init(of archive: RawSpan) throws {
    guard !archive.isEmpty else {
      throw ArchiveError(.notAnArchive, "there are no bytes; an archive has at least a header", byteOffset: 0)
    }
    try self.init(at: 0, in: archive, fileOffset: 0)
  }
}
