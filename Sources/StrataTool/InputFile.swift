internal import Foundation
internal import StrataCore
internal import StrataLegacy

/// An input file in any format. The format is detected from the content, not from the name.
struct InputFile {
  enum Format {
    case archive
    case propertyList(isBinary: Bool)
    /// Any other format, with a description.
    case other(String)
  }

  /// The maximum size of a property list in bytes. A property list is read into memory as a whole.
  private static let largestList = ArchiveLimits().inflatedSize

  let path: String
  let format: Format
  /// The content of an input that cannot be read twice, such as standard input or a pipe; `nil` for other inputs.
  private let content: Data?

  private var url: URL { URL(fileURLWithPath: path) }

  init(_ file: DataFile, _ console: Console) throws {
    guard file.isStandard else {
      self = try InputFile(path: file.path)
      return
    }
    let data = try console.read()
    self.init(path: file.path, format: Self.format(of: data.prefix(4096)), content: data)
  }

  /// Creates an input from data in memory, with a name for messages.
  init(named name: String, content: Data) {
    self.init(path: name, format: Self.format(of: content.prefix(4096)), content: content)
  }

  private init(path: String, format: Format, content: Data?) {
    self.path = path
    self.format = format
    self.content = content
  }

  /// Opens a file and detects its format.
  init(path: String) throws {
    // An empty path would resolve to the current folder.
    guard !path.isEmpty else { throw ToolError("the path of the file is empty; specify a path") }
    let url = URL(fileURLWithPath: path)
    let (content, format): (Data?, Format) = try ToolError.at(path) {
      let opened = try OpenFile(reading: url)
      guard try opened.status().isRegular else {
        let data = Data(try AtomicFile.read(url, limit: Self.largestList))
        return (data, Self.format(of: data.prefix(4096)))
      }
      return (nil, Self.format(of: Data(try opened.readBytes(at: 0, count: 4096))))
    }
    self.init(path: path, format: format, content: content)
  }

  /// Detects the format from the first bytes of a file.
  static func format(of start: Data) -> Format {
    // An empty file, and a file that contains only the first byte of a gzip header, are treated as truncated archives.
    if start.count < 2, start.isEmpty || start.first == 0x1F { return .archive }
    if start.starts(with: [0x1F, 0x8B]) { return .archive }
    switch PropertyListFormat(of: start.bytes) {
    case .binary: return .propertyList(isBinary: true)
    case .xml, .wideXML: return .propertyList(isBinary: false)
    case .other("an unknown format"): return .other(Self.guess(start))
    case .other(let name): return .other(name)
    }
  }

  private static func guess(_ start: Data) -> String {
    let marks: [(String, [UInt8])] = [
      ("a PNG image", [0x89, 0x50, 0x4E, 0x47]), ("a JPEG image", [0xFF, 0xD8, 0xFF]),
      ("a GIF image", Array("GIF8".utf8)),
      ("a PDF document", Array("%PDF".utf8)), ("a program", [0x7F, 0x45, 0x4C, 0x46]),
      ("a program", [0xCF, 0xFA, 0xED, 0xFE]), ("a program or a Java class", [0xCA, 0xFE, 0xBA, 0xBE]),
      ("a bzip2 file", Array("BZh".utf8)), ("an xz file", [0xFD, 0x37, 0x7A, 0x58, 0x5A]),
      ("a Zstandard file", [0x28, 0xB5, 0x2F, 0xFD]), ("an xar archive", Array("xar!".utf8)),
    ]
    if let known = marks.first(where: { start.starts(with: $0.1) }) { return known.0 }
    // The end of `start` may be in the middle of a character, so up to three bytes at the end are ignored.
    let isText = (0..<4).contains { cut in
      String(data: start.dropLast(cut), encoding: .utf8).map { text in
        text.unicodeScalars.allSatisfy { $0.value >= 0x20 || "\t\n\r".unicodeScalars.contains($0) }
      } ?? false
    }
    if isText { return "text" }
    let bytes = start.prefix(4).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
    return "an unknown format that begins with the bytes " + bytes.joined(separator: " ")
  }

  /// Whether the file is a Strata store.
  var isStore: Bool {
    guard content == nil, case .other("a SQLite database") = format else { return false }
    return StoreFile.isStore(path)
  }

  /// Returns whether a file may be JSON, given the description of the detected format. JSON may be detected as an
  /// OpenStep property list, because such a list can begin with a brace as well.
  static func mayBeJSON(_ found: String) -> Bool { found == "JSON" || found == "text" || found.contains("OpenStep") }

  var isEmpty: Bool {
    get throws { try size == 0 }
  }

  /// The size of the file in bytes.
  var size: Int {
    get throws { try ToolError.at(path) { try content?.count ?? OpenFile(reading: url).status().size } }
  }

  func data() throws -> Data {
    if let content { return content }
    return try ToolError.at(path) { Data(try AtomicFile.read(url, limit: Self.largestList)) }
  }

  /// Returns the stamp of an archive, or of the first member of a stream.
  func stamp() throws -> Stamp { try content.map { try Stamp(of: $0) } ?? MemberReader.stamp(ofFile: url) }

  /// Calls `body` with the URL of a file with the input's content. Content that cannot be read twice is written to a
  /// temporary file.
  func withURL<R>(_ body: (URL) throws -> R) throws -> R {
    guard let content else { return try body(url) }
    let copy = FileManager.default.temporaryDirectory.appendingPathComponent("strata-" + UUID().uuidString)
    try AtomicFile.write(content, to: copy)
    defer { try? FileManager.default.removeItem(at: copy) }
    return try body(copy)
  }

  /// Reads an archive from start to end, with only one member in memory at a time.
  func walk(
    limits: ArchiveLimits = ArchiveLimits(), progress: (Int) -> Void = { _ in },
    _ body: (Stamp, [ArchiveValue]) throws -> Void
  ) throws -> ArchiveWalk {
    try ToolError.at(path) {
      if let content {
        try ArchiveWalk.walk(content, limits: limits, body)
      } else {
        try ArchiveWalk.walk(url, limits: limits, progress: progress, body)
      }
    }
  }

  /// Decodes the file as a property list.
  ///
  /// - Parameter leniently: whether malformed objects of a keyed archive are shown unchanged. Otherwise they are
  ///   errors.
  func legacyDocument(
    isBinary: Bool, limits: ArchiveLimits = ArchiveLimits(), leniently: Bool = false
  ) throws -> LegacyDocument {
    try ToolError.at(path) { try LegacyDocument(data(), isBinary: isBinary, limits: limits, leniently: leniently) }
  }

  /// The description that messages use for a file that begins with a gzip header.
  ///
  /// - Throws: an error if the file cannot be read, because its format is then unknown.
  var archiveName: String {
    get throws {
      guard try !isEmpty else { return "an empty file" }
      do {
        _ = try content.map { try Stamp(of: $0) } ?? MemberReader.stamp(ofFile: url)
        return "an archive"
      } catch let error as ArchiveError where error.code != .fileSystem {
        return "a gzip file that is not an archive"
      }
    }
  }

  /// Returns the error for a file in an unsupported format.
  static func unknown(_ found: String) -> ArchiveError {
    ArchiveError(
      .notAnArchive,
      found == "JSON"
        ? "found \(found) where an archive, a keyed archive or a property list is expected; convert the document to an "
          + "archive with strata encode"
        : "found \(found) where an archive, a keyed archive or a property list is expected", byteOffset: 0)
  }
}
