import Foundation
import NIOCore
import NIOFoundationCompat
import Strata

// Recipes:begin ByteBuffers
extension ByteBuffer {
  /// The value of the archive that the next bytes are, upgraded where an older version wrote it. They count as read also where
  /// it is refused.
  ///
  /// - Parameter length: how many bytes; all of them unless given.
  /// - Returns: `nil`, and nothing is read, where the buffer has fewer bytes than that.
  mutating func readArchive<T: Archivable>(
    _ type: T.Type = T.self, length: Int? = nil, by decoder: ArchiveDecoder = ArchiveDecoder()
  ) throws -> T? {
    try readLentData(length: length).map { try decoder.decode(type, from: $0) }
  }

  /// The value of the JSON document that the next bytes are, as ``readArchive(_:length:by:)``.
  mutating func readJSON<T: Archivable>(
    _ type: T.Type = T.self, length: Int? = nil, by reader: JSONReader = JSONReader()
  ) throws -> T? {
    try readLentData(length: length).map { try reader.read(type, from: $0) }
  }

  /// Writes the archive of a value; where that is not possible, nothing is written.
  ///
  /// - Returns: how many bytes were written.
  @discardableResult
  mutating func writeArchive(_ value: some Archivable, by encoder: ArchiveEncoder = ArchiveEncoder()) throws -> Int {
    writeData(try encoder.encode(value))
  }

  /// Writes the JSON text of a value, as ``writeArchive(_:by:)``.
  @discardableResult
  mutating func writeJSON(_ value: some Archivable, by writer: JSONWriter = JSONWriter()) throws -> Int {
    writeData(try writer.write(value))
  }

  /// The next bytes as data that refers to the memory of the buffer: NIO would copy up to 256 KiB unless told otherwise.
  private mutating func readLentData(length: Int?) -> Data? {
    readData(length: length ?? readableBytes, byteTransferStrategy: .noCopy)
  }
}
// Recipes:end

// Recipes:begin ByteBuffers.frames
/// Archives one after the other in a stream of bytes, each after its length in four bytes.
struct ArchiveFrames<Message: Archivable & Sendable>: NIOSingleStepByteToMessageDecoder, MessageToByteEncoder {
  typealias InboundOut = Message
  typealias OutboundIn = Message

  /// How many bytes one archive may have: nothing is waited for that is longer.
  var maximumLength = 1 << 20
  var decoder = ArchiveDecoder()
  var encoder = ArchiveEncoder()

  /// - Throws: ``ArchiveFrameError``, and `ArchiveError` of the decoder. NIO's handler passes the error on and decodes nothing after it:
  ///   close the channel.
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

/// An archive is longer than both sides have agreed on.
struct ArchiveFrameError: Error, CustomStringConvertible {
  let length: Int
  let maximumLength: Int

  var description: String { "a frame of \(length) bytes; at most \(maximumLength) are agreed on" }
}
// Recipes:end
