package import Foundation

/// A value encoded as a row of a store. A row is the body of an archive without record definitions and long strings,
/// which the store keeps separately (Docs/StoreFormat.md).
package struct EncodedRow: Sendable {
  /// The stamp that an archive of the same value would have.
  package let stamp: Stamp
  package let bytes: [UInt8]
  /// The record shapes and long strings that the bytes refer to.
  package let parts: RowParts
}

extension ArchiveEncoder {
  /// Encodes a value as a row.
  ///
  /// - Parameter shapes: the record shapes that the store already contains. Shapes that the row adds get the next numbers.
  /// - Throws: the same errors as ``encodeBody(_:)``.
  package func encodeRow<T: Archivable>(_ value: T, shapes: [RecordShape]) throws -> EncodedRow {
    try row(stamp(of: value), shapes) { try $0.writeRoot(value) }
  }

  /// Encodes an untyped value as a row.
  ///
  /// - Parameter stamp: the stamp that an archive of the value would have.
  package func encodeRow(_ value: ArchiveValue, stamp: Stamp, shapes: [RecordShape]) throws -> EncodedRow {
    try row(stamp, shapes) {
      $0.keepsOrder = true
      try $0.write(value)
    }
  }

  /// Encodes a value as a row. This method is for types that conform only to `Codable`.
  package func encodeRow<T: Encodable>(codable value: T, shapes: [RecordShape]) throws -> EncodedRow {
    try row(stamp(ofCodable: T.self), shapes) {
      $0.keepsOrder = true
      try $0.write(codable: value)
    }
  }

  /// Returns the stamp for archives of a type that conforms only to `Codable`.
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

  /// Returns the archive of an untyped value that was read from an archive or a row. Sets and maps keep the order in which they were read,
  /// so the bytes are the same as in an archive of the typed value.
  package func encode(asRead value: ArchiveValue, stamp: Stamp) throws -> Data {
    try archive(stamp) {
      $0.keepsOrder = true
      try $0.write(value)
    }
  }

  /// Returns the bytes at the beginning of every row whose root is a record of this shape, provided that the shape has the number 0. A
  /// store can omit these bytes from such rows.
  package static func prefix(of shape: RecordShape) -> [UInt8] {
    var buffer = ByteBuffer(minimumCapacity: 64)
    buffer.append(0xD9, UInt16(truncatingIfNeeded: CBOR.Tag.firstRecord))
    buffer.appendHead(CBOR.Major.array, UInt64(shape.keys.count))
    return buffer.array()
  }
}

extension ArchiveDecoder {
  /// Returns the stamp and the untyped content of an archive of one value.
  package func decodeStampedValue(from data: Data) throws -> (stamp: Stamp, value: ArchiveValue) {
    var report = DecodingReport()
    return try withBody(of: data, newestVersion: nil) { stamp, body in
      (stamp, try decode(body, stamp, fileSize: data.count, &report) { try $0.readValue() })
    }
  }

  /// Returns the value of a row, upgraded if it was written with an older version of the model.
  ///
  /// - Throws: the same errors as for an archive.
  package func decodeRow<T: Archivable>(
    _ type: T.Type, from row: RawSpan, definitions: [ArchiveReader.Definition], contents: RowContents,
    report: inout DecodingReport
  ) throws -> T {
    try decodeRow(row, definitions, contents, &report) { reader in
      try reader.context.checked { try reader.readRoot(T.self) }
    }
  }

  /// Returns the value of a row. This method is for types that conform only to `Codable`.
  package func decodeRow<T: Decodable>(
    codable type: T.Type, from row: RawSpan, definitions: [ArchiveReader.Definition], contents: RowContents
  ) throws -> T {
    var report = DecodingReport()
    return try decodeRow(row, definitions, contents, &report) { try $0.readCodable() }
  }

  /// Returns the content of a row as an untyped value.
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
