import Foundation
import NIOCore
import NIOFoundationCompat
import Strata

// Recipes:begin ByteBuffers
extension ByteBuffer {
  /// Reads an archive from the next bytes. If an older version of the model wrote the archive, the value is upgraded. The bytes
  /// are consumed even if the archive is refused.
  ///
  /// - Parameter length: the number of bytes to read; all readable bytes by default.
  /// - Returns: the value; `nil` if the buffer has fewer bytes than `length`. In that case, no bytes are consumed.
  mutating func readArchive<T: Archivable>(
    _ type: T.Type = T.self, length: Int? = nil, by decoder: ArchiveDecoder = ArchiveDecoder()
  ) throws -> T? {
    try readLentData(length: length).map { try decoder.decode(type, from: $0) }
  }

  /// Reads a JSON document from the next bytes, in the same way as ``readArchive(_:length:by:)``.
  mutating func readJSON<T: Archivable>(
    _ type: T.Type = T.self, length: Int? = nil, by reader: JSONReader = JSONReader()
  ) throws -> T? {
    try readLentData(length: length).map { try reader.read(type, from: $0) }
  }

  /// Writes the archive of a value. If the value cannot be encoded, nothing is written.
  ///
  /// - Returns: the number of written bytes.
  @discardableResult
  mutating func writeArchive(_ value: some Archivable, by encoder: ArchiveEncoder = ArchiveEncoder()) throws -> Int {
    writeData(try encoder.encode(value))
  }

  /// Writes the JSON text of a value, in the same way as ``writeArchive(_:by:)``.
  @discardableResult
  mutating func writeJSON(_ value: some Archivable, by writer: JSONWriter = JSONWriter()) throws -> Int {
    writeData(try writer.write(value))
  }

  /// Returns the next bytes as data that shares the memory of the buffer. By default, NIO would copy data of up to 256 KiB.
  private mutating func readLentData(length: Int?) -> Data? {
    readData(length: length ?? readableBytes, byteTransferStrategy: .noCopy)
  }
}
// Recipes:end

// Recipes:begin ByteBuffers.frames
/// Decodes and encodes a byte stream of archives. Each archive is preceded by its length in four bytes.
struct ArchiveFrames<Message: Archivable & Sendable>: NIOSingleStepByteToMessageDecoder, MessageToByteEncoder {
  typealias InboundOut = Message
  typealias OutboundIn = Message

  /// The maximum number of bytes in an archive. The decoder does not wait for the bytes of a longer archive, but throws an error.
  var maximumLength = 1 << 20
  var decoder = ArchiveDecoder()
  var encoder = ArchiveEncoder()

  /// - Throws: ``ArchiveFrameError``, or the `ArchiveError` of the decoder. NIO's handler passes the error on, and decodes nothing
  ///   after an error, so close the channel.
  func decode(buffer: inout ByteBuffer) throws -> Message? {
    guard let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self).map(Int.init) else { return nil }
    guard length <= maximumLength else { throw ArchiveFrameError(length: length, maximumLength: maximumLength) }
    guard buffer.readableBytes >= 4 + length else { return nil }
    buffer.moveReaderIndex(forwardBy: 4)
    return try buffer.readArchive(length: length, by: decoder)
  }

  func decodeLast(buffer: inout ByteBuffer, seenEOF: Bool) throws -> Message? { try decode(buffer: &buffer) }

  func encode(data: Message, out: inout ByteBuffer) throws {
    let archive = try encoder.encode(data)
    guard archive.count <= maximumLength else {
      throw ArchiveFrameError(length: archive.count, maximumLength: maximumLength)
    }
    out.reserveCapacity(minimumWritableBytes: 4 + archive.count)
    out.writeInteger(UInt32(archive.count))
    out.writeData(archive)
  }
}

/// An error that is thrown if an archive is longer than the maximum that both sides have agreed on.
struct ArchiveFrameError: Error, CustomStringConvertible {
  let length: Int
  let maximumLength: Int

  var description: String { "the frame has \(length) bytes, but at most \(maximumLength) bytes are allowed" }
}
// Recipes:end
