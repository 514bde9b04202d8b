public import Foundation

/// Decodes archives that were written with the current version of a model or with an older version.
///
///     let issue = try ArchiveDecoder().decode(Issue.self, from: data)
///
/// The requested type determines which types can be decoded. An archive cannot create values of any other type. A decoder is a
/// value type and can be shared between tasks.
public struct ArchiveDecoder: Sendable {
  /// Limits on the content of an archive, such as the length of a string. An archive that exceeds a limit is rejected.
  public var limits: ArchiveLimits
  /// Whether models are checked against their rules (see ``Validating``). If not, decoding is faster, and archives that older
  /// programs wrote can be decoded even if they break current rules.
  public var validates: Bool
  /// Subclasses whose objects an archive may contain where a superclass is expected. A class is rejected unless it is in this list or in
  /// ``ModelHierarchy``, or is the declared type of a field.
  public var subclasses: [any VersionedModel.Type]

  /// Creates a decoder.
  ///
  /// - Parameters:
  ///   - limits: limits on the content of an archive, such as the length of a string.
  ///   - validates: whether models are checked against their rules (see ``Validating``).
  ///   - subclasses: see ``subclasses``.
  public init(
    limits: ArchiveLimits = ArchiveLimits(), validates: Bool = true, subclasses: [any VersionedModel.Type] = []
  ) {
    self.limits = limits
    self.validates = validates
    self.subclasses = subclasses
  }

  /// Returns the value of an archive, upgraded if it was written with an older version of the model.
  ///
  /// - Throws: ``ArchiveError``. Codes for an archive that cannot be opened: `notAnArchive`, `newerFormat`, `truncated`, `damaged`,
  ///   `limitExceeded`. Codes for content that cannot be decoded: `newerModel`, `unsupportedVersion`, `unknownType`, `typeMismatch`,
  ///   `missingValue`, `unknownCase`, `rejected`, `invalid`. Codes for a failed upgrade: `invalidMigration`, `migrationFailed`.
  /// - Complexity: linear in the size of the archive.
  public func decode<T: Archivable>(_ type: T.Type = T.self, from data: Data) throws -> T {
    var report = DecodingReport()
    return try decode(type, from: data, report: &report)
  }

  /// Returns the value of an archive and reports the upgrades in `report`.
  ///
  /// - Throws: the same errors as the method without a report.
  public func decode<T: Archivable>(_ type: T.Type = T.self, from data: Data, report: inout DecodingReport) throws -> T
  {
    try withBody(of: data, as: T._archiveTypeName, newestVersion: T._rootSchema) { stamp, body in
      let value: T = try decodeModels(body, stamp, fileSize: data.count, &report)
      if let schema = T._rootSchema, schema.hasOtherFields(than: stamp) {
        report.addOtherFields(of: schema.name)
        Measured.note(report.noteworthy)
      }
      return value
    }
  }

  /// Returns the value of an archive. This method is for types that conform only to `Codable`.
  @_disfavoredOverload
  public func decode<T: Decodable>(_ type: T.Type = T.self, from data: Data) throws -> T {
    var report = DecodingReport()
    return try withBody(of: data, as: String(describing: T.self), newestVersion: nil) { stamp, body in
      try decode(body, stamp, fileSize: data.count, &report) { try $0.readCodable() }
    }
  }

  /// Returns the value of an archive file.
  ///
  /// - Throws: the same errors as for an archive in memory, and ``ArchiveError`` with the code `fileSystem`.
  public func decode<T: Archivable>(_ type: T.Type = T.self, from url: URL) throws -> T {
    try ArchiveError.naming(url) { try decode(type, from: read(url)) }
  }

  /// Returns the value of an archive file and reports the upgrades in `report`.
  public func decode<T: Archivable>(_ type: T.Type = T.self, from url: URL, report: inout DecodingReport) throws -> T {
    try ArchiveError.naming(url) { try decode(type, from: read(url), report: &report) }
  }

  /// Returns the value of an archive file. This method is for types that conform only to `Codable`.
  @_disfavoredOverload
  public func decode<T: Decodable>(_ type: T.Type = T.self, from url: URL) throws -> T {
    try ArchiveError.naming(url) { try decode(type, from: read(url)) }
  }

  /// Returns the content of an archive as an untyped value.
  ///
  /// - Throws: ``ArchiveError`` with the code `notAnArchive`, `newerFormat`, `truncated`, `damaged` or `limitExceeded`.
  public func decodeValue(from data: Data) throws -> ArchiveValue {
    try decodeStampedValue(from: data).value
  }

  /// Returns the value of an archive body that ``ArchiveEncoder/encodeBody(_:)`` wrote.
  public func decodeBody<T: Archivable>(_ type: T.Type = T.self, from body: Data) throws -> T {
    var report = DecodingReport()
    return try decodeModels(body.bytes, nil, fileSize: body.count, &report)
  }

  // MARK: Inside

  package func read(_ url: URL) throws -> Data { Data(try AtomicFile.read(url, limit: nil)) }

  /// Calls `body` with the stamp and the inflated body of a single-value archive.
  ///
  /// - Parameter name: the name of the expected type, for error messages and metrics. If it is `nil`, any type is accepted.
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
    // Rejects a newer version of the root model before any data is inflated.
    try schema?.check(stamp)
    guard stamp.kind == .single else {
      throw ArchiveError(
        .typeMismatch, "this archive is a stream of models; read it with ArchiveSequence", typeName: stamp.typeName)
    }
    try stamp.checkCount()
    let (inflated, end) = try Gzip.inflateMember(header, at: 0, in: bytes, limits: limits)
    guard end == bytes.byteCount else {
      throw ArchiveError.damaged("the data has \(bytes.byteCount - end) bytes after the end of the archive", at: end)
    }
    do { return try body(stamp, inflated.bytes) } catch let found as ArchiveError {
      let error = schema?.explaining(found, by: stamp) ?? found
      guard let name, error.codingPath.isEmpty else { throw error }
      throw error.naming(stamp, expected: name)
    }
  }

  func decodeModels<T: Archivable>(
    _ body: RawSpan, _ stamp: Stamp?, fileSize: Int, _ report: inout DecodingReport
  ) throws -> T {
    try decode(body, stamp, fileSize: fileSize, &report) { reader in
      try reader.context.checked { try reader.readRoot(T.self) }
    }
  }

  /// Calls `read` with a reader for the body, returns the result, and reports the upgrades in `report`.
  ///
  /// - Parameters:
  ///   - stamp: the stamp of the archive; `nil` for a body without an archive header and for a row of a store.
  ///   - row: the record definitions and long strings that a store keeps outside the bytes of a row; `nil` for an archive.
  package func decode<R>(
    _ body: RawSpan, _ stamp: Stamp? = nil, fileSize: Int, _ report: inout DecodingReport,
    row: (definitions: [ArchiveReader.Definition], contents: RowContents)? = nil,
    _ read: (inout ArchiveReader) throws -> R
  ) throws -> R {
    let context = DecodingContext(limits: limits, finishing: .gathering(validates: validates))
    context.budget.begin(fileSize: fileSize)
    context.subclasses = subclasses
    context.readsCompleteRecords = true
    context.row = row?.contents
    if let stamp { context.floors = stamp.floors }
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
  /// Throws `newerModel` if an archive's stamp names a newer version of this model.
  ///
  /// If the root is an object of a subclass, nothing is checked here. The version of the subclass is checked when the root is
  /// decoded.
  func check(_ stamp: Stamp) throws {
    guard let found = stamp.modelVersion, found > modelVersion, isOurs(stamp) else { return }
    let names = [name] + formerNames
    try checkVersion(found, names.lazy.compactMap { stamp.floors[$0, found] }.first)
  }

  /// Whether a stamp names this model or, if the model is a struct or an enum, a collection of it. The type name of a collection contains
  /// the name of the model.
  private func isOurs(_ stamp: Stamp) -> Bool {
    isObject ? isNamed(stamp.typeName) : ([name] + formerNames).contains { stamp.typeName.contains($0) }
  }

  /// Whether the archive was written with the current version of this model, but with different fields or with the same fields in a
  /// different order. In this case, the fields were changed without a new version.
  func hasOtherFields(than stamp: Stamp) -> Bool {
    stamp.fingerprint != fingerprint && stamp.fingerprint != 0 && stamp.modelVersion == modelVersion && isOurs(stamp)
  }

  /// Returns `error` with an added explanation if the likely cause is known: the model's fields were changed without a new version, an
  /// older version wrote a value of a different type, or the model has no migration steps for the older version. Otherwise returns `error`
  /// unchanged.
  func explaining(_ error: ArchiveError, by stamp: Stamp) -> ArchiveError {
    guard [.missingValue, .typeMismatch, .unknownCase].contains(error.code) else { return error }
    if error.code == .typeMismatch, let found = stamp.modelVersion, found < modelVersion, isOurs(stamp) {
      return error.changed {
        $0.reason +=
          "; version \(found) of \(name) wrote the archive, so if the type of the field has changed since then, convert the "
          + "old value in a migration step, such as .convert, or .replaceNull for null"
      }
    }
    if error.code == .missingValue, error.typeName.map(isNamed) ?? true, migration == nil, hook == nil,
      superclasses.isEmpty, let found = stamp.modelVersion, found < modelVersion, isOurs(stamp)
    {
      return error.changed {
        $0.reason +=
          "; version \(found) of \(name) wrote the archive, but \(name) has no steps; if an extension declares "
          + "migration steps, conform \(name) to Migratable"
      }
    }
    guard hasOtherFields(than: stamp) else { return error }
    return error.changed {
      $0.reason +=
        "; the archive was also written by version \(modelVersion) of \(name), but with different fields, so raise the "
        + "model's version and add a migration step"
    }
  }
}

extension ArchiveError {
  /// If this error is a type mismatch and the type of the archive differs from the expected type, returns the error with a reason that
  /// names both types. Otherwise returns the error unchanged.
  func naming(_ stamp: Stamp, expected name: String) -> ArchiveError {
    var isMismatch = code == .typeMismatch
    if case DecodingError.typeMismatch? = underlyingError { isMismatch = true }
    // The stamp of an untyped value names no model, so the type name would not explain the mismatch.
    guard isMismatch, stamp.typeName != name, stamp.typeName != ArchiveValue._archiveTypeName else { return self }
    return changed {
      $0.reason = "the archive contains a value of type \(stamp.typeName), but the type \(name) is expected"
    }
  }

  package static func newer(_ found: Int, _ schema: ModelSchema) -> ArchiveError {
    ArchiveError(
      .newerModel,
      "the data was written by version \(found) of the model, but this program supports only versions up to "
        + "\(schema.modelVersion); update the program",
      typeName: schema.name, foundVersion: found, supportedVersion: schema.modelVersion)
  }
}

extension Stamp {
  /// Reads the stamp of an archive, without inflating any data.
  ///
  /// - Throws: ``ArchiveError`` with the code `notAnArchive`, `newerFormat`, `truncated` or `damaged`.
  public init(of data: Data) throws { self = try GzipHeader(of: data.bytes).stamp }
}

extension GzipHeader {
  fileprivate init(of archive: RawSpan) throws {
    guard !archive.isEmpty else {
      throw ArchiveError(.notAnArchive, "the data is not an archive because it is empty", byteOffset: 0)
    }
    try self.init(at: 0, in: archive, fileOffset: 0)
  }
}
