internal import Foundation
internal import StrataCore

/// The data shared by all rows with the same type, version and record shapes. It is stored only once, and consists of the stamp
/// (type and version) and the shapes (the field names of the records). Definitions are immutable, so a cached definition stays
/// valid.
struct Definition: Sendable {
  let id: Int64
  let content: Content

  struct Content: Sendable, Equatable {
    var typeName: String
    var modelVersion: Int?
    var fingerprint: UInt64
    /// Whether the `count` in an archive's stamp is the number of elements of the root collection. If false, the count is 1.
    var countsElements: Bool
    /// Whether rows are stored without their first bytes (the head). This is possible if the root of each row is a record of the
    /// first shape, because the head is then the same for all rows.
    var leavesHeadOut: Bool
    var shapes: [RecordShape]
  }

  /// The first bytes of every row (the head), which are not stored in the row. Empty if rows are stored completely.
  let prefix: [UInt8]
  /// The record definitions for decoding a row. They are passed to the decoder, because the row itself does not contain them.
  let records: [ArchiveReader.Definition]

  init(id: Int64, content: Content) {
    self.id = id
    self.content = content
    records = ArchiveReader.definitions(of: content.shapes)
    prefix = content.leavesHeadOut ? content.shapes.first.map { ArchiveEncoder.prefix(of: $0) } ?? [] : []
  }

  /// Returns whether a row with the same stamp can refer to this definition, so that no new definition is needed. This requires
  /// that the row was encoded with exactly the shapes of this definition.
  func fits(_ row: EncodedRow, countsElements: Bool) -> Bool {
    !prefix.isEmpty && content.countsElements == countsElements && content.shapes.count == row.parts.shapes.count
      && zip(content.shapes, row.parts.shapes).allSatisfy { $0 === $1 } && row.bytes.starts(with: prefix)
  }

  /// Returns the stamp for an archive with the given root value.
  func stamp(of root: ArchiveValue) -> Stamp {
    Stamp(
      typeName: content.typeName, modelVersion: content.modelVersion, fingerprint: content.fingerprint,
      count: content.countsElements ? UInt64(root.elementCount ?? 1) : 1)
  }
}

extension Definition.Content {
  /// Creates the content of a new definition that a row can refer to.
  init(of row: EncodedRow, countsElements: Bool) {
    let head = row.parts.shapes.first.map { ArchiveEncoder.prefix(of: $0) } ?? []
    self.init(
      typeName: row.stamp.typeName, modelVersion: row.stamp.modelVersion, fingerprint: row.stamp.fingerprint,
      countsElements: countsElements, leavesHeadOut: !head.isEmpty && row.bytes.starts(with: head),
      shapes: row.parts.shapes)
  }

  /// Encodes the content as CBOR, for the table of definitions.
  func bytes() throws -> [UInt8] {
    var writer = ArchiveWriter()
    let hasFloors = shapes.contains { $0.floors != nil }
    writer.beginArray(count: hasFloors ? 7 : 6)
    writer.write(typeName)
    if let modelVersion { writer.write(Int64(modelVersion)) } else { writer.writeNull() }
    writer.write(fingerprint)
    writer.write(countsElements)
    writer.write(leavesHeadOut)
    writer.beginArray(count: shapes.count)
    for shape in shapes {
      writer.beginArray(count: shape.keys.count + 1)
      for key in shape.keys { writer.write(key) }
      writer.write(shape.mark)
    }
    if hasFloors {
      writer.beginArray(count: shapes.count)
      for shape in shapes {
        writer.beginArray(count: shape.floors == nil ? 0 : 2)
        for floor in shape.floors.map({ [$0.reader, $0.writer] }) ?? [] { writer.write(Int64(floor)) }
      }
    }
    return writer.buffer.array()
  }

  /// Decodes the content of a stored definition.
  ///
  /// - Throws: ``StoreError`` with the code `damaged` if the bytes cannot be decoded.
  init(bytes: Data, limits: ArchiveLimits) throws {
    let damage = StoreError(.damaged, "a definition in the store is damaged; salvage the store")
    var report = DecodingReport()
    let value: ArchiveValue
    do {
      value = try ArchiveDecoder(limits: limits).decode(bytes.bytes, fileSize: bytes.count, &report) {
        try $0.readValue()
      }
    } catch { throw StoreError(damage.code, damage.reason, underlying: error) }
    guard case .array(let parts) = value, (6...7).contains(parts.count), case .string(let typeName) = parts[0],
      case .bool(let countsElements) = parts[3], case .bool(let leavesHeadOut) = parts[4],
      case .array(let shapes) = parts[5]
    else { throw damage }
    let modelVersion: Int?
    switch parts[1] {
    case .null: modelVersion = nil
    case .int(let version): modelVersion = Int(version)
    default: throw damage
    }
    let fingerprint: UInt64
    switch parts[2] {
    case .int(let number): fingerprint = UInt64(bitPattern: number)
    case .uint(let number): fingerprint = number
    default: throw damage
    }
    self.init(
      typeName: typeName, modelVersion: modelVersion, fingerprint: fingerprint, countsElements: countsElements,
      leavesHeadOut: leavesHeadOut,
      shapes: try shapes.enumerated().map { place, shape in
        guard case .array(let strings) = shape else { throw damage }
        var floors: VersionFloors?
        if parts.count == 7 {
          guard let numbers = parts[6].arrayValue, numbers.count == shapes.count, let pair = numbers[place].arrayValue
          else { throw damage }
          if !pair.isEmpty {
            guard pair.count == 2, let reader = pair[0].intValue, let writer = pair[1].intValue else { throw damage }
            floors = VersionFloors(reader: Int(reader), writer: Int(writer))
          }
        }
        var keys = try strings.map { string in
          guard case .string(let text) = string else { throw damage }
          return text
        }
        guard let mark = keys.popLast() else { throw damage }
        let shape = RecordShape(mark: mark, keys: keys) { _, _ in floors }
        guard shape.keysAreUnique else { throw damage }
        return shape
      })
    guard !leavesHeadOut || !self.shapes.isEmpty else { throw damage }
  }
}

extension ArchiveValue {
  /// The number of elements if the value is a collection, otherwise `nil`.
  var elementCount: Int? {
    switch self {
    case .array(let elements), .set(let elements): elements.count
    case .object(let object): object.count
    case .map(let entries): entries.count
    case .graph(let graph): graph.root.elementCount
    default: nil
    }
  }
}
