package import Foundation
internal import StrataCore

/// The folder that contains the recorded schemas. It has a subfolder for each model, with a file for each version.
package struct SchemaFolder {
  let url: URL

  package init(url: URL) { self.url = url }

  /// Returns the names of the recorded models.
  ///
  /// - Throws: a Foundation error if the folder exists but cannot be read.
  package func names() throws -> [String] {
    try contents(of: url).compactMap(\.removingPercentEncoding).filter { try !versions(of: $0).isEmpty }.sorted()
  }

  /// Returns the recorded versions of a model, oldest first.
  package func versions(of name: String) throws -> [Int] {
    try contents(of: folder(of: name)).compactMap { file in
      Int(file.dropLast(5)).flatMap { file == "\($0).json" ? $0 : nil }
    }.sorted()
  }

  /// Reads the recorded schema of a version of a model.
  ///
  /// - Throws: a Foundation error if the file cannot be read, or a ``DecodingError`` if it is not a recorded schema.
  package func schema(of name: String, version: Int) throws -> RecordedSchema {
    try RecordedSchema(json: Data(contentsOf: file(of: name, version, "json")))
  }

  package func archive(of name: String, version: Int) throws -> Data {
    try Data(contentsOf: file(of: name, version, "strata"))
  }

  func record(_ schema: RecordedSchema, _ archive: Data?) throws {
    try FileManager.default.createDirectory(at: folder(of: schema.name), withIntermediateDirectories: true)
    // The archive is written first. A schema without its archive is reported as a problem, but an archive without a
    // schema is not.
    try archive?.write(to: file(of: schema.name, schema.version, "strata"), options: .atomic)
    try schema.json().write(to: file(of: schema.name, schema.version, "json"), options: .atomic)
  }

  /// Returns the path of a recorded file for error messages. The path starts with the name of this folder.
  package func path(of name: String, version: Int, _ kind: String = "json") -> String {
    "\(path(of: name))/\(version).\(kind)"
  }

  func path(of name: String) -> String { "\(url.lastPathComponent)/\(escaped(name))" }

  private func folder(of name: String) -> URL { url.appendingPathComponent(escaped(name)) }

  private func file(of name: String, _ version: Int, _ kind: String) -> URL {
    folder(of: name).appendingPathComponent("\(version).\(kind)")
  }

  private func escaped(_ name: String) -> String {
    let plain = name.addingPercentEncoding(
      withAllowedCharacters: .alphanumerics.union(CharacterSet(charactersIn: "-_.")))
    let name = plain ?? name
    // Escapes a leading dot. A folder whose name begins with a dot would be hidden, and `.` would be this folder
    // itself.
    return name.hasPrefix(".") ? "%2E" + name.dropFirst() : name
  }

  private func contents(of url: URL) throws -> [String] {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder), isFolder.boolValue else {
      return []
    }
    return try FileManager.default.contentsOfDirectory(atPath: url.path).filter { !$0.hasPrefix(".") }
  }
}
