internal import Foundation
internal import StrataCore

/// A file that an argument names; `-` is standard input or output.
struct DataFile {
  let path: String

  init(_ path: String) { self.path = path }

  var isStandard: Bool { path == "-" }
  var url: URL { URL(fileURLWithPath: path) }
  /// What messages call the file when it is read.
  var name: String { isStandard ? "standard input" : path }

  func read(_ console: Console) throws -> Data {
    if isStandard { return try console.read() }
    return try ToolError.at(path) { Data(try AtomicFile.read(url)) }
  }

  /// Replaces the file as a whole.
  func write(_ data: Data, _ console: Console) throws {
    if isStandard { return try console.write(data) }
    try replace { try $0.writeAll(data.bytes) }
  }

  /// Refuses to send an archive to a terminal, which would show its bytes as letters, and obey some of them.
  ///
  /// - Throws: `ToolError`; commands ask before they read anything.
  func refuseTerminal(_ console: Console) throws {
    guard isStandard, console.isTerminal else { return }
    throw ToolError(
      "standard output is a terminal, and an archive is no text; name a file with -o FILE, or send it on through a pipe"
    )
  }

  /// Replaces the file as a whole by what `writing` writes; where that throws, the file stays as it was.
  func replace(_ writing: (borrowing OpenFile) throws -> Void) throws {
    // A URL has no slash at its end: a file would be made in the place of the folder that is named.
    guard path.utf8.last != UInt8(ascii: "/") else {
      throw ToolError(
        "\(path): names a folder; a file is to be written, whose name has no / behind it")
    }
    try ToolError.at(path) { try AtomicFile.replace(url, writing: writing) }
  }

  /// The document in the file.
  func readJSON(_ console: Console, takesDuplicateKeys: Bool = false) throws -> (value: ArchiveValue, size: Int) {
    let data = try read(console)
    return (try document(in: data, takesDuplicateKeys: takesDuplicateKeys), data.count)
  }

  /// The document in what was read of the file.
  ///
  /// - Parameter takesDuplicateKeys: whether the last value of a duplicate key counts. Unless the user says so, that would be a guess,
  ///   and the other values would be lost.
  func document(in data: Data, takesDuplicateKeys: Bool = false) throws -> ArchiveValue {
    guard !data.isEmpty else { throw ToolError("\(name): the file is empty; a JSON document is expected") }
    var reader = JSONReader()
    reader.duplicateKeys = takesDuplicateKeys ? .lastWins : .refuse
    return try ToolError.at(path) { try reader.read(data) }
  }
}
