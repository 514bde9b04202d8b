/// The version floors of an archive: for each model in it, the oldest version of the model that may read its records, and the oldest
/// version that may also write them again.
///
/// The floors are stored in the subfield `Sf` of a gzip header. If there are no floors, the subfield is absent. Each entry contains the
/// length of the type name (2 bytes), the name in UTF-8, the version, the oldest reader and the oldest writer (8 bytes each). All numbers
/// are little-endian. Programs that do not know the subfield ignore it, and reject data of newer versions.
package struct StampFloors: Sendable, Hashable {
  struct Entry: Sendable, Hashable {
    let typeName: String
    let version: Int
    let floors: VersionFloors
  }

  static let identifier: (UInt8, UInt8) = (UInt8(ascii: "S"), UInt8(ascii: "f"))
  /// The maximum size of all entries in bytes. The checksum of a longer header would not detect every flipped bit (see
  /// ``Stamp/longestTypeName``).
  private static let limit = 2048

  private(set) var entries: [Entry] = []

  package init() {}

  package var isEmpty: Bool { entries.isEmpty }

  /// Adds the version floors of a record shape, if the shape has any. If the entry would exceed the size limit, it is omitted, and older
  /// programs reject the archive.
  mutating func add(_ shape: RecordShape) {
    guard let floors = shape.floors, let version = shape.modelVersion else { return }
    add(Entry(typeName: shape.typeName, version: version, floors: floors))
  }

  mutating func add(_ others: StampFloors) { for entry in others.entries { add(entry) } }

  private mutating func add(_ entry: Entry) {
    guard self[entry.typeName, entry.version] == nil, size + entry.size <= Self.limit else { return }
    entries.append(entry)
  }

  private var size: Int { entries.reduce(0) { $0 + $1.size } }

  package subscript(typeName: String, version: Int?) -> VersionFloors? {
    entries.first { $0.version == version && ExactKey.isSame($0.typeName, typeName) }?.floors
  }

  /// The encoded subfield, with its identifier and length; empty if there are no entries.
  var subfield: [UInt8] {
    guard !isEmpty else { return [] }
    var bytes: [UInt8] = [Self.identifier.0, Self.identifier.1]
    bytes.appendLittleEndian(UInt16(size))
    for entry in entries {
      bytes.appendLittleEndian(UInt16(entry.typeName.utf8.count))
      bytes.append(contentsOf: entry.typeName.utf8)
      for number in [entry.version, entry.floors.reader, entry.floors.writer] {
        bytes.appendLittleEndian(Int64(number))
      }
    }
    return bytes
  }

  /// Parses the content of the subfield, without its identifier and length.
  ///
  /// - Throws: ``ArchiveError/Code/damaged``.
  init(payload: RawSpan, fileOffset: Int) throws {
    var position = 0
    func damage() -> ArchiveError {
      ArchiveError(
        .damaged, "the list of version floors in the gzip header is invalid", byteOffset: fileOffset + position)
    }
    // The size of the list of floors is limited, because readers search the list for each record definition.
    guard payload.byteCount <= Self.limit else { throw damage() }
    while position < payload.byteCount {
      guard let length = payload.littleEndian(at: position, as: UInt16.self).map(Int.init),
        payload.byteCount - position - 2 >= length + 24,
        let name = payload.extracting(position + 2..<position + 2 + length).withUnsafeBytes({ String(validUTF8: $0) })
      else { throw damage() }
      position += 2 + length
      var numbers: [Int] = []
      for _ in 0..<3 {
        guard let number = payload.littleEndian(at: position, as: Int64.self), number >= 0,
          let number = Int(exactly: number)
        else { throw damage() }
        numbers.append(number)
        position += 8
      }
      let floors = VersionFloors(reader: numbers[1], writer: numbers[2])
      guard floors.reader <= floors.writer, floors.writer <= numbers[0] else { throw damage() }
      entries.append(Entry(typeName: name, version: numbers[0], floors: floors))
    }
  }
}

extension StampFloors.Entry {
  fileprivate var size: Int { 26 + typeName.utf8.count }
}
