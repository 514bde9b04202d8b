import Foundation
import NIOCore
import NIOEmbedded
import NIOFoundationCompat
import Strata
import Testing

@testable import Recipes

@Model(version: 2)
private struct Reading: Equatable {
  let sensor: String
  var value: Double
}

extension Reading: Migratable {
  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("id", to: "sensor")))
}

@Suite("NIO: archives and JSON in buffers")
struct ByteBufferTests {
  private let reading = Reading(sensor: "s1", value: 0.5)

  @Test("Archives and JSON can be written to and read from a buffer with other bytes")
  func oneAfterTheOther() throws {
    var buffer = ByteBuffer(string: "head")
    let archive = try buffer.writeArchive(reading)
    let json = try buffer.writeJSON([reading])
    buffer.writeString("tail")
    #expect(buffer.readableBytes == 8 + archive + json)
    #expect(buffer.readString(length: 4) == "head")
    #expect(try buffer.readArchive(Reading.self, length: archive) == reading)
    #expect(try buffer.readJSON([Reading].self, length: json) == [reading])
    #expect(try buffer.readJSON(Reading.self, length: 5) == nil)
    #expect(buffer.readString(length: buffer.readableBytes) == "tail")
  }

  @Test("Reading leaves the buffer's bytes unchanged, and the value outlives the buffer")
  func memory() throws {
    var buffer = ByteBuffer()
    try buffer.writeArchive(ArchiveValue.data(Data(repeating: 7, count: 1000)))
    let before = Array(buffer.readableBytesView)
    var reader = buffer
    let value = try reader.readArchive(ArchiveValue.self)
    #expect(Array(buffer.readableBytesView) == before)
    buffer.clear()
    buffer.writeRepeatingByte(0, count: 2000)
    #expect(value == .data(Data(repeating: 7, count: 1000)))
  }

  @Test("Reading invalid bytes or an empty buffer throws and consumes the bytes")
  func refused() throws {
    var buffer = ByteBuffer(string: #"{"sensor": 1}"#)
    #expect(throws: ArchiveError.self) { try buffer.readJSON(Reading.self) }
    #expect(buffer.readableBytes == 0)
    #expect(throws: ArchiveError.self) { try buffer.readArchive(Reading.self) }
    var empty = ByteBuffer()
    #expect(throws: ArchiveError.self) { try empty.readJSON(Reading.self) }
    #expect(throws: ArchiveError.self) { try empty.writeJSON(Reading(sensor: "s1", value: .nan)) }
    #expect(empty.readableBytes == 0)
  }

  @Test("A pipeline decodes frames from chunks of any size", arguments: [1, 2, 3, 7, 1000])
  func frames(size: Int) throws {
    let frames = ArchiveFrames<Reading>()
    let sender = EmbeddedChannel(handler: MessageToByteHandler(frames))
    let receiver = EmbeddedChannel(handler: ByteToMessageHandler(frames))
    let readings = (1...20).map { Reading(sensor: "s\($0)", value: Double($0)) }
    for reading in readings { try sender.writeOutbound(reading) }
    var bytes = ByteBuffer()
    while var part = try sender.readOutbound(as: ByteBuffer.self) { bytes.writeBuffer(&part) }
    while bytes.readableBytes > 0 {
      try receiver.writeInbound(bytes.readSlice(length: min(size, bytes.readableBytes)))
    }
    for reading in readings { #expect(try receiver.readInbound(as: Reading.self) == reading) }
    #expect(try receiver.finish().isClean && sender.finish().isClean)
  }

  @Test("Decoding a frame upgrades an older version, and throws if the frame is too long or contains no archive")
  func badFrames() throws {
    var frames = ArchiveFrames<Reading>()
    frames.maximumLength = 1000
    let old = ModelRecord(typeName: "Reading", modelVersion: 1, fields: [("id", "s1"), ("value", 0.5)])
    var buffer = ByteBuffer()
    let archive = try ArchiveEncoder().encode(old)
    try buffer.writeLengthPrefixed(as: UInt32.self) { $0.writeData(archive) }
    #expect(try frames.decode(buffer: &buffer) == reading)
    buffer.writeInteger(UInt32(1001))
    #expect(throws: ArchiveFrameError.self) { try frames.decode(buffer: &buffer) }
    buffer.clear()
    buffer.writeBytes([0, 0, 0, 4, 1, 2, 3])
    #expect(try frames.decode(buffer: &buffer) == nil)
    buffer.writeInteger(UInt8(4))
    #expect(throws: ArchiveError.self) { try frames.decode(buffer: &buffer) }
    frames.maximumLength = 10
    #expect(throws: ArchiveFrameError.self) { try frames.encode(data: reading, out: &buffer) }
    #expect(buffer.readableBytes == 0)
  }
}
