internal import Foundation
internal import StrataCore

/// The file that an argument names. The argument `-` means standard input or output.
struct DataFile {
  let path: String

  init(_ path: String) { self.path = path }

  var isStandard: Bool { path == "-" }
  var url: URL { URL(fileURLWithPath: path) }
  /// The name that messages use for the input.
  var name: String { isStandard ? "standard input" : path }

  func read(_ console: Console) throws -> Data {
    if isStandard { return try console.read() }
    return try ToolError.at(path) { Data(try AtomicFile.read(url)) }
  }

  /// Writes data to standard output, or replaces the file atomically.
  func write(_ data: Data, _ console: Console) throws {
    if isStandard { return try console.write(data) }
    try replace { try $0.writeAll(data.bytes) }
  }

  /// Throws if an archive would be written to a terminal, because the terminal would interpret some bytes as control
  /// codes. Commands call this method before they read their input.
  ///
  /// - Throws: `ToolError`.
  func refuseTerminal(_ console: Console) throws {
    guard isStandard, console.isTerminal else { return }
    throw ToolError(
      "a binary archive cannot be printed on a terminal; specify a file with -o FILE, or pipe the output to a command"
    )
  }

  /// Replaces the file atomically with the output of `writing`. If `writing` throws, the file is unchanged.
  func replace(_ writing: (borrowing OpenFile) throws -> Void) throws {
    // `URL` drops a trailing slash, so a file with the name of the folder would be written.
    guard path.utf8.last != UInt8(ascii: "/") else {
      throw ToolError(
        "\(path): the path ends with a slash, so it is the path of a folder; specify the path of a file")
    }
    try ToolError.at(path) { try AtomicFile.replace(url, writing: writing) }
  }

  /// Parses the content of the file as JSON.
  ///
  /// - Parameter takesDuplicateKeys: whether the last value of a duplicate key is used. By default a duplicate key is
  ///   an error, because choosing one value would be a guess and the other value would be lost.
  func document(in data: Data, takesDuplicateKeys: Bool = false) throws -> ArchiveValue {
    guard !data.isEmpty else { throw ToolError("\(name): the file is empty, but a JSON document is expected") }
    var reader = JSONReader()
    reader.duplicateKeys = takesDuplicateKeys ? .lastWins : .refuse
    return try ToolError.at(path) { try reader.read(data) }
  }
}
