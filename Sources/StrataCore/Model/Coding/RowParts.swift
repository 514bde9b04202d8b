package import Foundation

/// The data of a row that is stored outside the row's bytes: record shapes and long strings. The store contains each
/// shape and each long string only once (Docs/StoreFormat.md).
package struct RowParts: Sendable {
  /// The maximum length, in bytes, of strings and data inside a row. Longer strings and data are stored outside the
  /// row.
  package static let longestInPlace = 512

  /// The encoded tag that starts each reference to content outside a row.
  package static let contentTag: [UInt8] = {
    var buffer = ByteBuffer(minimumCapacity: 3)
    buffer.appendHead(CBOR.Major.tag, CBOR.Tag.rowContent)
    return buffer.array()
  }()

  /// The record shapes. The row's records refer to a shape by its index in this array.
  package var shapes: [RecordShape]
  /// The long strings and data, by their SHA-256 digest.
  package private(set) var contents: [[UInt8]: Data] = [:]

  /// The total size in bytes of the long strings and data in `contents`.
  private(set) var size = 0

  init(shapes: [RecordShape]) { self.shapes = shapes }

  /// Adds a long string or long data unless equal content is already present. Returns the SHA-256 digest of the
  /// content.
  mutating func add(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    let digest = SHA256.digest(of: bytes.bytes)
    if contents[digest] == nil {
      contents[digest] = Data(bytes)
      size += bytes.count
    }
    return digest
  }
}

/// The long strings and data stored outside the row being read.
package struct RowContents: Sendable {
  /// The strings and data, by their SHA-256 digest.
  package let all: [[UInt8]: Data]

  package init(_ contents: [[UInt8]: Data]) { all = contents }

  subscript(digest: [UInt8]) -> Data? { all[digest] }

  /// The total size in bytes of all long strings and data.
  package var size: Int { all.values.reduce(0) { $0 + $1.count } }
}

extension ArchiveReader {
  /// Returns the record definitions for the given shapes of a row. The number of each definition is the index of its
  /// shape.
  package static func definitions(of shapes: [RecordShape]) -> [Definition] {
    shapes.enumerated().map { Definition(number: $0, shape: $1, matching: nil) }
  }

  /// Begins to read a row whose records refer to the given definitions by number.
  package mutating func beginRow(_ definitions: [Definition]) {
    self.definitions = definitions
    context.graph = GraphReading()
  }

  /// Reads a reference to content outside the row. The tag of the reference has already been read.
  ///
  /// - Returns: the reference number of the content, which is added to the strings of the row. The caller charges the bytes of the content
  ///   to the work budget, as for a string reference.
  mutating func readContent(at start: Int) throws -> Int {
    let initial = try readByte()
    guard initial >> 5 == CBOR.Major.bytes, try readLength(initial) == SHA256.size + 1 else {
      throw ArchiveError.damaged("a content reference does not contain a digest of the expected length", at: start)
    }
    let major = try readByte()
    let digest = bytes.extracting(position..<position &+ SHA256.size).withUnsafeBytes { Array($0) }
    position &+= SHA256.size
    guard let content = context.row?[digest] else {
      throw ArchiveError.damaged("the row refers to content that is missing", at: start)
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
    default: throw ArchiveError.damaged("the content of a reference is neither text nor data", at: start)
    }
    return strings.count - 1
  }
}
