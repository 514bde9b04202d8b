/// The description of an archive, stored in the archive's header. It can be read without inflating the content.
///
/// ```swift
/// let stamp = try Stamp(ofFile: url)
/// print(stamp.typeName, stamp.modelVersion ?? 0, stamp.count)  // [Issue] 2 100
/// ```
///
/// A stamp is stored in the FEXTRA field of a gzip header (RFC 1952 §2.3.1.1), as the subfield `St`. The subfield
/// begins with little-endian numbers: format version and kind (1 byte each), then sequence number, model version (−1
/// for none), fingerprint, plain size and count (8 bytes each). The rest of the subfield is the type name in UTF-8.
public struct Stamp: Sendable, Hashable {
  /// The format version that this library writes. It is also the highest format version that the library can read.
  public static let currentFormatVersion = 1

  /// The role of a gzip member in its archive file.
  public enum Kind: UInt8, Sendable, Hashable, CaseIterable {
    /// The only member of an archive with one value.
    case single = 0
    /// A member of a stream that contains models.
    case member = 1
    /// The empty member that closes a stream.
    case end = 2
  }

  /// The version of the archive format.
  public package(set) var formatVersion: Int
  /// The role of the member in its file.
  public package(set) var kind: Kind
  /// The index of the member in its stream, starting at 0.
  public package(set) var sequenceNumber: UInt64
  /// The name of the archive's root type, such as `Issue` or `[Issue]`.
  public package(set) var typeName: String
  /// The version of the root model, or of the models in a root collection; `nil` if the root type is neither a model nor a collection of
  /// models.
  public package(set) var modelVersion: Int?
  /// The fingerprint of the schema of the root model, or of the models in a root collection, at the time of writing; 0 if there are no such
  /// models or their schema is unknown.
  public package(set) var fingerprint: UInt64
  /// The size of the inflated body in bytes. In the stamp of an ``Kind/end`` member, whose body is empty, the total
  /// size of all bodies in the stream.
  public package(set) var plainSize: UInt64
  /// The number of models in the body. In the stamp of an ``Kind/end`` member, the number of models in the whole
  /// stream.
  public package(set) var count: UInt64
  /// The version floors of the archive: for each model, the oldest versions of the model that may read its records and write them again.
  /// They are stored in a separate subfield (``StampFloors``).
  package var floors = StampFloors()

  package init(
    formatVersion: Int = Stamp.currentFormatVersion, kind: Kind = .single, sequenceNumber: UInt64 = 0,
    typeName: String, modelVersion: Int? = nil, fingerprint: UInt64 = 0, plainSize: UInt64 = 0,
    count: UInt64 = 1
  ) {
    self.formatVersion = formatVersion
    self.kind = kind
    self.sequenceNumber = sequenceNumber
    self.typeName = typeName
    self.modelVersion = modelVersion
    self.fingerprint = fingerprint
    self.plainSize = plainSize
    self.count = count
  }
}

extension Stamp {
  /// The maximum length of a type name in a written stamp, in UTF-8 bytes.
  ///
  /// The checksum of a header is only half of a CRC-32. It does not detect a single flipped bit that is 10,732 or more
  /// bytes before the end of the header. This limit keeps headers shorter than that.
  package static let longestTypeName = 8192

  private static let identifier: (UInt8, UInt8) = (UInt8(ascii: "S"), UInt8(ascii: "t"))
  private static let subfieldHeadSize = 4
  private static let fixedPayloadSize = 2 + 5 * 8

  /// Returns a FEXTRA field that contains this stamp and its floors.
  ///
  /// - Throws: ``ArchiveError/Code/notEncodable`` if readers would reject the stamp: if the type name has more than
  ///   ``longestTypeName`` bytes, the model version is negative, or the format version is not the current version.
  package func extraField() throws -> [UInt8] {
    let name = Array(typeName.utf8)
    guard name.count <= Self.longestTypeName else {
      throw ArchiveError(
        .notEncodable,
        "the type name has \(name.count) bytes, which exceeds the limit of \(Self.longestTypeName) bytes; use a "
          + "shorter name")
    }
    guard formatVersion == Self.currentFormatVersion else {
      throw ArchiveError(
        .notEncodable,
        "the requested format version cannot be written; use format version \(Self.currentFormatVersion)",
        foundVersion: formatVersion, supportedVersion: Self.currentFormatVersion)
    }
    if let modelVersion, modelVersion < 0 {
      throw ArchiveError(
        .notEncodable, "the model version is negative; use 0 or a positive number", typeName: typeName,
        foundVersion: modelVersion)
    }
    var bytes: [UInt8] = [Self.identifier.0, Self.identifier.1]
    bytes.reserveCapacity(Self.subfieldHeadSize + Self.fixedPayloadSize + name.count)
    bytes.appendLittleEndian(UInt16(Self.fixedPayloadSize + name.count))
    bytes.append(UInt8(Self.currentFormatVersion))
    bytes.append(kind.rawValue)
    bytes.appendLittleEndian(sequenceNumber)
    bytes.appendLittleEndian(modelVersion.map(Int64.init) ?? -1)
    bytes.appendLittleEndian(fingerprint)
    bytes.appendLittleEndian(plainSize)
    bytes.appendLittleEndian(count)
    bytes.append(contentsOf: name)
    return bytes + floors.subfield
  }

  /// Checks that the body is large enough for the number of models in the stamp, because each model takes at least one byte.
  ///
  /// - Throws: ``ArchiveError/Code/damaged``.
  func checkCount() throws {
    guard count <= plainSize else {
      throw ArchiveError(
        .damaged, "the stamp specifies \(count) models in \(plainSize) bytes, but each model takes at least one byte")
    }
  }

  /// Reads the stamp in a FEXTRA field and ignores other subfields.
  package init(extraField: RawSpan, fileOffset: Int = 0) throws {
    var link: StreamLink?
    try self.init(extraField: extraField, fileOffset: fileOffset, link: &link)
  }

  /// Reads the stamp and the link in a FEXTRA field and ignores other subfields.
  ///
  /// - Parameter fileOffset: The offset of the field in its file, for error messages.
  /// - Throws: ``ArchiveError/Code/notAnArchive`` if there is no stamp, ``ArchiveError/Code/newerFormat`` if a later
  ///   version of this library wrote the stamp, ``ArchiveError/Code/damaged`` if the field is invalid.
  init(extraField: RawSpan, fileOffset: Int, link: inout StreamLink?) throws {
    var position = 0
    var stamp: Stamp?
    var floors: StampFloors?
    while position < extraField.byteCount {
      guard let first = extraField.littleEndian(at: position, as: UInt8.self),
        let second = extraField.littleEndian(at: position + 1, as: UInt8.self),
        let length = extraField.littleEndian(at: position + 2, as: UInt16.self),
        extraField.byteCount - position - Self.subfieldHeadSize >= Int(length)
      else {
        throw ArchiveError(
          .damaged, "the extra field of the gzip header is truncated", byteOffset: fileOffset + position)
      }
      let start = position + Self.subfieldHeadSize
      let end = start + Int(length)
      if (first, second) == Self.identifier {
        guard stamp == nil else {
          throw ArchiveError(
            .damaged, "the gzip header has two stamps instead of one", byteOffset: fileOffset + position)
        }
        stamp = try Self.parse(extraField.extracting(start..<end), fileOffset: fileOffset + start)
      } else if (first, second) == StampFloors.identifier {
        guard floors == nil else {
          throw ArchiveError(
            .damaged,
            "the gzip header has two lists of version floors instead of one", byteOffset: fileOffset + position)
        }
        floors = try StampFloors(payload: extraField.extracting(start..<end), fileOffset: fileOffset + start)
      } else if (first, second) == StreamLink.identifier,
        let found = StreamLink(payload: extraField.extracting(start..<end))
      {
        guard link == nil else {
          throw ArchiveError(
            .damaged, "the gzip header has two stream links instead of one", byteOffset: fileOffset + position)
        }
        link = found
      }
      position = end
    }
    guard var stamp else {
      throw ArchiveError(
        .notAnArchive, "the data is not an archive: the gzip header has no stamp",
        byteOffset: fileOffset)
    }
    stamp.floors = floors ?? StampFloors()
    self = stamp
  }

  private static func parse(_ payload: RawSpan, fileOffset: Int) throws -> Stamp {
    func damage(_ reason: String) -> ArchiveError {
      ArchiveError(.damaged, reason, byteOffset: fileOffset)
    }
    // The version is checked first, because this library does not know the layout of later versions.
    guard let version = payload.littleEndian(at: 0, as: UInt8.self) else {
      throw damage("the stamp is empty")
    }
    guard version <= currentFormatVersion else {
      throw ArchiveError(
        .newerFormat,
        "the archive has format version \(version), but this program supports only versions up to "
          + "\(currentFormatVersion); update the program",
        foundVersion: Int(version), supportedVersion: currentFormatVersion, byteOffset: fileOffset)
    }
    guard version > 0 else { throw damage("the stamp has format version 0, which does not exist") }
    guard let rawKind = payload.littleEndian(at: 1, as: UInt8.self),
      let sequenceNumber = payload.littleEndian(at: 2, as: UInt64.self),
      let rawModelVersion = payload.littleEndian(at: 10, as: Int64.self),
      let fingerprint = payload.littleEndian(at: 18, as: UInt64.self),
      let plainSize = payload.littleEndian(at: 26, as: UInt64.self),
      let count = payload.littleEndian(at: 34, as: UInt64.self)
    else { throw damage("the stamp is truncated") }
    guard let kind = Kind(rawValue: rawKind) else {
      throw damage("the stamp specifies an unknown kind of member (\(rawKind))")
    }
    guard rawModelVersion >= -1, let modelVersion = Int(exactly: rawModelVersion) else {
      throw damage("the model version in the stamp is out of range")
    }
    let name = payload.extracting(fixedPayloadSize..<payload.byteCount)
    guard let typeName = name.withUnsafeBytes({ String(validUTF8: $0) }) else {
      throw damage("the type name in the stamp is not valid UTF-8")
    }
    return Stamp(
      formatVersion: Int(version), kind: kind, sequenceNumber: sequenceNumber, typeName: typeName,
      modelVersion: modelVersion == -1 ? nil : modelVersion, fingerprint: fingerprint,
      plainSize: plainSize, count: count)
  }
}

extension Stamp: CustomStringConvertible {
  /// A one-line summary, such as `archive of Issue@3, 1 model, 120 bytes inflated`.
  public var description: String {
    let what =
      switch kind {
      case .single: "archive"
      case .member: "member \(sequenceNumber) of a stream"
      case .end: "end of a stream"
      }
    let version = modelVersion.map { "@\($0)" } ?? ""
    return "\(what) of \(typeName)\(version), \(count.counting("model")), \(plainSize.counting("byte")) inflated"
      .onOneLine
  }
}
