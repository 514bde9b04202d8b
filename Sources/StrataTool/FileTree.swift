internal import Foundation
internal import StrataCore

/// The files of a folder and its subfolders, sorted by the bytes of their names.
///
/// Symbolic links are not followed, so no folder is visited twice, and cycles are impossible.
struct FileTree {
  enum Item {
    case file(FileStatus)
    /// An item that is neither a regular file nor a folder, with a description.
    case other(String)
    /// A file or folder that cannot be read.
    case unreadable(any Error)
  }

  /// The items, with their paths relative to the folder.
  private(set) var items: [(path: String, item: Item)] = []

  init(_ folder: String) throws {
    var rest = try list(folder, under: "")
    while let path = rest.popLast() {
      let full = folder + "/" + path
      do {
        // An entry that was removed after its folder was listed is skipped.
        guard let status = try FileStatus(ofPath: full) else { continue }
        if status.isFolder {
          rest += try list(full, under: path + "/")
        } else if status.isRegular {
          items.append((path, .file(status)))
        } else {
          items.append((path, .other(status.isSymbolicLink ? "a symbolic link" : "not a regular file")))
        }
      } catch { items.append((path, .unreadable(error))) }
    }
  }

  /// Returns the paths in a folder in descending order, because the caller removes them from the end.
  private mutating func list(_ folder: String, under start: String) throws -> [String] {
    guard let stream = SystemCall.perform(.list, pointer: { opendir(folder) }) else {
      throw ToolError("cannot read the folder “\(folder)”: " + String(cString: strerror(errno)))
    }
    defer { closedir(stream) }
    var paths: [String] = []
    while true {
      guard let entry = SystemCall.perform(.list, pointer: { readdir(stream) }) else { break }
      let bytes = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: UInt8.self, capacity: 1) { start in
          // The name is null-terminated and may be shorter than its buffer.
          [UInt8](UnsafeBufferPointer(start: start, count: strlen(start)))
        }
      }
      if bytes == [0x2E] || bytes == [0x2E, 0x2E] { continue }
      if let name = String(validUTF8: bytes) {
        paths.append(start + name)
      } else {
        // Foundation would skip a file whose name is not UTF-8 without an error. Such a file is reported as
        // unreadable.
        let name = String(decoding: bytes, as: UTF8.self)
        items.append((start + name, .unreadable(ToolError("the name of the file is not valid UTF-8; rename the file"))))
      }
    }
    guard errno == 0 else {
      throw ToolError("cannot read the folder “\(folder)”: " + String(cString: strerror(errno)))
    }
    return paths.sorted { $1.utf8.lexicographicallyPrecedes($0.utf8) }
  }

  /// Returns whether the path is the name of a temporary file, or of a file in a temporary folder. Only the name is
  /// checked. The file may belong to the user, so it is skipped but never deleted.
  static func isUnfinished(_ path: String) -> Bool {
    path.split(separator: "/").contains { TemporaryFiles.isTemporary($0) }
  }

  /// Returns whether no file exists at a path. If the path is a link, its target is checked.
  static func isMissing(_ path: String) -> Bool {
    access(path, F_OK) != 0 && [ENOENT, ENOTDIR].contains(errno)
  }

  /// Returns whether a path is a folder or a link to a folder.
  static func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
  }
}
