internal import Foundation
internal import StrataCore

/// The file that an argument names; `-` is standard input or output.
struct DataFile {
  let path: String

  init(_ path: String) { self.path = path }

  var isStandard: Bool { path == "-" }
  var url: URL { URL(fileURLWithPath: path) }
  /// The name of the input in messages.
  var name: String { isStandard ? "standard input" : path }

  func read(_ console: Console) throws -> Data {
    if isStandard { return try console.read() }
    return try ToolError.at(path) { Data(try AtomicFile.read(url)) }
  }

  /// Replaces the file atomically.
  func write(_ data: Data, _ console: Console) throws {
    if isStandard { return try console.write(data) }
    try replace { try $0.writeAll(data.bytes) }
  }

  /// Throws if an archive would be printed to a terminal, which would interpret some of its bytes as control codes.
  ///
  /// - Throws: `ToolError`. Commands call this before they read anything.
  func refuseTerminal(_ console: Console) throws {
    guard isStandard, console.isTerminal else { return }
    throw ToolError(
      "standard output is a terminal, and an archive is binary; name a file with -o FILE, or pipe it to a command"
    )
  }

  /// Replaces the file atomically by the output of `writing`. If that throws, the file is unchanged.
  func replace(_ writing: (borrowing OpenFile) throws -> Void) throws {
    // A URL drops the trailing slash, so a file would be created under the name of the folder.
    guard path.utf8.last != UInt8(ascii: "/") else {
      throw ToolError(
        "\(path): names a folder; give the name of a file, without / at its end")
    }
    try ToolError.at(path) { try AtomicFile.replace(url, writing: writing) }
  }

  /// Parses the bytes of the file as JSON.
  ///
  /// - Parameter takesDuplicateKeys: whether the last value of a duplicate key counts. By default a duplicate key is an
  ///   error, because picking a value would be a guess and lose the other one.
  func document(in data: Data, takesDuplicateKeys: Bool = false) throws -> ArchiveValue {
    guard !data.isEmpty else { throw ToolError("\(name): the file is empty; a JSON document is expected") }
    var reader = JSONReader()
    reader.duplicateKeys = takesDuplicateKeys ? .lastWins : .refuse
    return try ToolError.at(path) { try reader.read(data) }
  }
}
