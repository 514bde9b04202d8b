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
    try ToolError.at(path) { try AtomicFile.write(data, to: url) }
  }

  /// The document in the file.
  func readJSON(_ console: Console) throws -> (value: Value, size: Int) {
    let data = try read(console)
    guard !data.isEmpty else { throw ToolError("\(name): the file is empty; a JSON document is expected") }
    return (try ToolError.at(path) { try JSONReader().read(data) }, data.count)
  }
}
