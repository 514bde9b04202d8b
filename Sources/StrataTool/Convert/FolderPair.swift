internal import Foundation
internal import StrataCore

/// The folder with the files to convert, and the folder for their archives.
struct FolderPair: Sendable {
  let input: String
  let output: String

  /// - Throws: `ToolError` if the output is a file, or if the folders are the same or nested, because an archive could
  ///   then replace an original.
  init(input: String, output: String) throws {
    self.input = Self.trimmed(input)
    self.output = Self.trimmed(output)
    if try FileStatus(ofPath: output) != nil, !FileTree.isFolder(output) {
      throw ToolError("\(output): the output is a file, but the input is a folder; choose a folder for the output")
    }
    let (from, to) = (try RealPath.of(input), try RealPath.of(output))
    guard !Self.lies(to, in: from), !Self.lies(from, in: to) else {
      throw ToolError(
        "\(output): the output folder must be outside the input folder \(input) and must not contain it; choose a "
          + "different output folder"
      )
    }
  }

  /// Returns the path of a file's archive. The path contains the complete file name, so different files have different
  /// archives.
  static func archiveName(of file: String) -> String { file + ".strata" }

  /// Creates the parent folders of an archive. Throws if a parent exists but is not a real folder. Symbolic links are
  /// rejected as well, because they could point into the input folder.
  func makeFolder(for archive: String) throws {
    var path = output
    for name in archive.split(separator: "/").dropLast() {
      path += "/" + name
      guard let status = try FileStatus(ofPath: path) else {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        continue
      }
      guard status.isFolder else {
        throw ArchiveError(
          .fileSystem,
          "the path \(path.onOneLine) is not a folder, so no archive can be written there; move the existing file or "
            + "link elsewhere"
        )
      }
    }
  }

  /// Returns whether a path is inside the input folder. The file at the path need not exist yet.
  func isAmongOriginals(_ path: String) throws -> Bool {
    Self.lies(try RealPath.of(path), in: try RealPath.of(input))
  }

  private static func lies(_ path: String, in folder: String) -> Bool {
    path == folder || path.hasPrefix(folder == "/" ? "/" : folder + "/")
  }

  private static func trimmed(_ path: String) -> String {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
  }
}
