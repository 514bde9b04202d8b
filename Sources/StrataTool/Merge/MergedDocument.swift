internal import Foundation
internal import StrataCore

/// A merged value, with the information needed to write it.
struct MergedDocument {
  enum Format: String, CaseIterable {
    case json, strata

    /// Creates the format from the file extension of a path. Returns `nil` for an unknown extension.
    init?(path: String) {
      guard let format = Self.allCases.first(where: { path.hasSuffix("." + $0.rawValue) }) else { return nil }
      self = format
    }
  }

  /// The maximum number of models in one member of a stream.
  private static let memberCount = 1000

  let value: ArchiveValue
  /// The format of the local document, which is used for the output by default.
  let form: Document.Form
  let objects: ObjectTree

  func data(as format: Format?) throws -> Data {
    switch (form, format) {
    case (.archive(let stamp), nil), (.archive(let stamp), .strata): return try archive(stamp)
    case (_, .strata):
      return try ArchiveEncoder().archive(Stamp(typeName: ArchiveValue._archiveTypeName)) { try $0.write(value) }
    case (.json(let isPretty), _): return try value.jsonText(isPretty: isPretty)
    case (_, .json), (.propertyList, nil): return try value.jsonText()
    }
  }

  /// Returns an archive with the type and version of the local document.
  private func archive(_ stamp: Stamp) throws -> Data {
    var stamp = stamp
    guard stamp.kind == .single else { return try stream(stamp) }
    stamp.setCount(of: value)
    return try ArchiveEncoder().archive(stamp) { try $0.write(objects.graph(value)) }
  }

  private func stream(_ first: Stamp) throws -> Data {
    guard case .array(let elements) = value else {
      throw ArchiveError.mismatch(expected: "an array of the stream's models", found: value.kind)
    }
    var stamp = first
    var bytes: [UInt8] = []
    var plainSize: UInt64 = 0
    var rest = elements[...]
    while !rest.isEmpty {
      let models = rest.prefix(Self.memberCount).map { objects.graph($0) }
      rest = rest.dropFirst(Self.memberCount)
      (stamp.kind, stamp.count) = (.member, UInt64(models.count))
      let member = try ArchiveEncoder().archive(stamp, link: StreamLink(after: bytes.bytes)) { writer in
        writer.beginCountedArray()
        for model in models { try writer.writeElement(model) }
        writer.setCount(UInt32(models.count))
      }
      bytes += member
      stamp.sequenceNumber += 1
      plainSize += try Stamp(of: member).plainSize
    }
    (stamp.kind, stamp.count, stamp.plainSize) = (.end, UInt64(elements.count), plainSize)
    try Gzip.appendMember(body: Data().bytes, stamp: stamp, link: StreamLink(after: bytes.bytes), to: &bytes)
    return Data(bytes)
  }
}
