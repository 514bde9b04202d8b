internal import Foundation
internal import StrataCore

/// A folder whose files are converted, and the one that the archives go to.
struct FolderPair: Sendable {
  let input: String
  let output: String

  /// - Throws: where one of the folders lies in the other, or is it: then archives would stand among the originals, and
  ///   could take the place of one.
  init(input: String, output: String) throws {
    self.input = Self.trimmed(input)
    self.output = Self.trimmed(output)
    if try FileStatus(ofPath: output) != nil, !FileTree.isFolder(output) {
      throw ToolError("\(output): is a file; the files of a folder need a folder to go to")
    }
    let (from, to) = (try RealPath.of(input), try RealPath.of(output))
    guard !Self.lies(to, in: from), !Self.lies(from, in: to) else {
      throw ToolError("\(output): this folder and \(input) must not lie in each other; the originals stay untouched")
    }
  }

  /// The archive of a file: the whole name stays in its own, so that no two files have the same.
  static func archiveName(of file: String) -> String { file + ".strata" }

  /// Makes the folders above an archive. A link among them could lead to the originals.
  func makeFolder(for archive: String) throws {
    var path = output
    for name in archive.split(separator: "/").dropLast() {
      path += "/" + name
      guard let status = try FileStatus(ofPath: path) else {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        continue
      }
      guard status.isFolder else {
        throw ArchiveError(.fileSystem, "\(path.onOneLine) is no folder; an archive is to go into it")
      }
    }
  }

  /// Whether a file lies, or would lie, among the originals.
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
