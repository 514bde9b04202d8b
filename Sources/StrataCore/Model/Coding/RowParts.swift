package import Foundation

/// The parts of a row that are stored outside its bytes: the shapes of its records and its long strings. The store
/// contains each of them only once (Docs/StoreFormat.md).
package struct RowParts: Sendable {
  /// The maximum length, in bytes, of strings and data inside a row. Longer ones are stored outside.
  package static let longestInPlace = 512

  /// The bytes at the start of each reference to content outside a row: the head of the tag.
  package static let contentTag: [UInt8] = {
    var buffer = ByteBuffer(minimumCapacity: 3)
    buffer.appendHead(CBOR.Major.tag, CBOR.Tag.rowContent)
    return buffer.array()
  }()

  /// The shapes to which records refer by their index in this array.
  package var shapes: [RecordShape]
  /// The long strings and data, by their SHA-256 digest.
  package private(set) var contents: [[UInt8]: Data] = [:]

  /// The total size of the contents in bytes.
  private(set) var size = 0

  init(shapes: [RecordShape]) { self.shapes = shapes }

  /// Adds content and returns its SHA-256 digest.
  mutating func add(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    let digest = SHA256.digest(of: bytes.bytes)
    if contents[digest] == nil {
      contents[digest] = Data(bytes)
      size += bytes.count
    }
    return digest
  }
}

/// The long strings and data stored outside the row that is being read.
package struct RowContents: Sendable {
  /// The contents by their SHA-256 digest.
  package let all: [[UInt8]: Data]

  package init(_ contents: [[UInt8]: Data]) { all = contents }

  subscript(digest: [UInt8]) -> Data? { all[digest] }

  /// The total size of the contents in bytes.
  package var size: Int { all.values.reduce(0) { $0 + $1.count } }
}

extension ArchiveReader {
  /// Returns definitions for the given shapes. Each definition's number is the index of its shape.
  package static func definitions(of shapes: [RecordShape]) -> [Definition] {
    shapes.enumerated().map { Definition(number: $0, shape: $1, matching: nil) }
  }

  /// Begins a row whose records refer to the given definitions.
  package mutating func beginRow(_ definitions: [Definition]) {
    self.definitions = definitions
    context.graph = GraphReading()
  }

  /// Reads a reference to content outside the row, whose tag was already read.
  ///
  /// - Returns: the reference number of the resulting string. The caller counts the bytes of the string, as it does for
  ///   a string reference.
  mutating func readContent(at start: Int) throws -> Int {
    let initial = try readByte()
    guard initial >> 5 == CBOR.Major.bytes, try readLength(initial) == SHA256.size + 1 else {
      throw ArchiveError.damaged("a content reference is not a digest", at: start)
    }
    let major = try readByte()
    let digest = bytes.extracting(position..<position &+ SHA256.size).withUnsafeBytes { Array($0) }
    position &+= SHA256.size
    guard let content = context.row?[digest] else {
      throw ArchiveError.damaged("the content of a reference is missing", at: start)
    }
    guard content.count <= lengthLimit else {
      throw ArchiveError(
        .limitExceeded, "a string of \(content.count) bytes is longer than the limit of \(lengthLimit) bytes",
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
    default: throw ArchiveError.damaged("a content reference refers to neither text nor data", at: start)
    }
    return strings.count - 1
  }
}
