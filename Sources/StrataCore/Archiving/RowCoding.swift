package import Foundation

/// A value as a store keeps it: the body of an archive without the definitions of its records, which the store has once, and
/// without its long strings (Docs/StoreFormat.md).
package struct EncodedRow: Sendable {
  /// What an archive of the same value would be stamped with.
  package let stamp: Stamp
  package let bytes: [UInt8]
  /// What the bytes refer to.
  package let parts: RowParts
}

extension ArchiveEncoder {
  /// A value as a row.
  ///
  /// - Parameter shapes: shapes that the store has; those that are met besides are added after them.
  /// - Throws: as ``encodeBody(_:)``.
  package func encodeRow<T: Archivable>(_ value: T, shapes: [RecordShape]) throws -> EncodedRow {
    try row(stamp(of: value), shapes) { try $0.writeRoot(value) }
  }

  /// What an archive holds as a row, with its own stamp.
  package func encodeRow(_ value: ArchiveValue, stamp: Stamp, shapes: [RecordShape]) throws -> EncodedRow {
    try row(stamp, shapes) {
      $0.keepsOrder = true
      try $0.write(value)
    }
  }

  /// A value whose type is only `Codable` as a row.
  package func encodeRow<T: Encodable>(codable value: T, shapes: [RecordShape]) throws -> EncodedRow {
    try row(stamp(ofCodable: T.self), shapes) {
      $0.keepsOrder = true
      try $0.write(codable: value)
    }
  }

  /// What archives of a type are stamped with that is only `Codable`.
  package func stamp<T>(ofCodable type: T.Type) -> Stamp { Stamp(typeName: String(describing: type)) }

  private func row(
    _ stamp: Stamp, _ shapes: [RecordShape], _ write: (inout ArchiveWriter) throws -> Void
  ) throws -> EncodedRow {
    var writer = ArchiveWriter(rowWith: shapes, limits: limits)
    writer.subclasses = subclasses
    try write(&writer)
    try writer.checkRowLimits()
    return EncodedRow(stamp: stamp, bytes: writer.buffer.array(), parts: writer.row ?? RowParts(shapes: shapes))
  }

  /// The archive of a value that was read from an archive or a row: sets and maps keep the order that they have there, so
  /// that the bytes are those of the value's own type.
  package func encode(asRead value: ArchiveValue, stamp: Stamp) throws -> Data {
    try archive(stamp) {
      $0.keepsOrder = true
      try $0.write(value)
    }
  }

  /// What a row of a plain record begins with, whose shape has the number 0.
  package static func prefix(of shape: RecordShape) -> [UInt8] {
    var buffer = ByteBuffer(minimumCapacity: 64)
    buffer.append(0xD9, UInt16(truncatingIfNeeded: CBOR.Tag.firstRecord))
    buffer.appendHead(CBOR.Major.array, UInt64(shape.keys.count))
    return buffer.array()
  }
}

extension ArchiveDecoder {
  /// The stamp and the content of an archive of one value, without its types.
  package func decodeStampedValue(from data: Data) throws -> (stamp: Stamp, value: ArchiveValue) {
    var report = DecodingReport()
    return try withBody(of: data, newestVersion: nil) { stamp, body in
      (stamp, try decode(body, fileSize: data.count, &report) { try $0.readValue() })
    }
  }

  /// The value of a row, upgraded where an older version wrote it.
  ///
  /// - Throws: as ``decode(_:from:)-(_,Data)``.
  package func decodeRow<T: Archivable>(
    _ type: T.Type, from row: RawSpan, definitions: [ArchiveReader.Definition], contents: RowContents,
    report: inout DecodingReport
  ) throws -> T {
    try decodeRow(row, definitions, contents, &report) { reader in
      try reader.context.checked { try reader.readRoot(T.self) }
    }
  }

  /// The value of a row, whose type is only `Codable`.
  package func decodeRow<T: Decodable>(
    codable type: T.Type, from row: RawSpan, definitions: [ArchiveReader.Definition], contents: RowContents
  ) throws -> T {
    var report = DecodingReport()
    return try decodeRow(row, definitions, contents, &report) { try $0.readCodable() }
  }

  /// What a row holds, without its types.
  package func decodeRowValue(
    from row: RawSpan, definitions: [ArchiveReader.Definition], contents: RowContents
  ) throws -> ArchiveValue {
    var report = DecodingReport()
    return try decodeRow(row, definitions, contents, &report) { try $0.readValue() }
  }

  private func decodeRow<R>(
    _ row: RawSpan, _ definitions: [ArchiveReader.Definition], _ contents: RowContents,
    _ report: inout DecodingReport, _ read: (inout ArchiveReader) throws -> R
  ) throws -> R {
    try decode(row, fileSize: row.byteCount + contents.size, &report, row: (definitions, contents), read)
  }
}
