package import Foundation

/// The parts of a store's row that are not in its bytes: the shapes of its records and its long strings. The store
/// keeps each of these once (Docs/StoreFormat.md).
package struct RowParts: Sendable {
  /// Longer strings and data are kept outside the row.
  package static let longestInPlace = 512

  /// The start of a reference to such content: the head of its tag.
  package static let contentTag: [UInt8] = {
    var buffer = ByteBuffer(minimumCapacity: 3)
    buffer.appendHead(CBOR.Major.tag, CBOR.Tag.rowContent)
    return buffer.array()
  }()

  /// The shapes that records refer to by number, from 0.
  package var shapes: [RecordShape]
  /// The long strings and data by their digest.
  package private(set) var contents: [[UInt8]: Data] = [:]

  /// The total number of bytes in the contents.
  private(set) var size = 0

  init(shapes: [RecordShape]) { self.shapes = shapes }

  /// Adds content, and returns its digest.
  mutating func add(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    let digest = SHA256.digest(of: bytes.bytes)
    if contents[digest] == nil {
      contents[digest] = Data(bytes)
      size += bytes.count
    }
    return digest
  }
}

/// The long strings and data outside the row that is being read.
package struct RowContents: Sendable {
  /// The contents by digest.
  package let all: [[UInt8]: Data]

  package init(_ contents: [[UInt8]: Data]) { all = contents }

  subscript(digest: [UInt8]) -> Data? { all[digest] }

  /// The total number of bytes.
  package var size: Int { all.values.reduce(0) { $0 + $1.count } }
}

extension ArchiveReader {
  /// The definitions for shapes, in order.
  package static func definitions(of shapes: [RecordShape]) -> [Definition] {
    shapes.enumerated().map { Definition(number: $0, shape: $1, matching: nil) }
  }

  /// Begins a row. Its records refer to these definitions.
  package mutating func beginRow(_ definitions: [Definition]) {
    self.definitions = definitions
    context.graph = GraphReading()
  }

  /// Reads a reference to content outside the row. Its tag was already read.
  ///
  /// - Returns: the number of the resulting string. The caller counts its bytes, like those of a reference.
  mutating func readContent(at start: Int) throws -> Int {
    let initial = try readByte()
    guard initial >> 5 == CBOR.Major.bytes, try readLength(initial) == SHA256.size + 1 else {
      throw ArchiveError.damaged("a reference to content is not a digest", at: start)
    }
    let major = try readByte()
    let digest = bytes.extracting(position..<position &+ SHA256.size).withUnsafeBytes { Array($0) }
    position &+= SHA256.size
    guard let content = context.row?[digest] else {
      throw ArchiveError.damaged("the content that a reference names is missing", at: start)
    }
    guard content.count <= lengthLimit else {
      throw ArchiveError(
        .limitExceeded, "a string of \(content.count) bytes is longer than the limit of \(lengthLimit)",
        limit: .stringLength, byteOffset: start)
    }
    switch major {
    case CBOR.Major.text:
      guard let text = content.withUnsafeBytes({ ByteBuffer.string($0) }) else {
        throw ArchiveError.damaged("a string is not valid UTF-8", at: start)
      }
      _ = strings.append(text)
    case CBOR.Major.bytes:
      strings.append(content)
    default: throw ArchiveError.damaged("a reference to content is neither text nor data", at: start)
    }
    return strings.count - 1
  }
}
