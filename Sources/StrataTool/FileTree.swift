internal import Foundation
internal import StrataCore

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// The files of a folder and of the folders in it, in the order of their names' bytes.
///
/// Links are not followed, so that no folder is walked twice or without end.
struct FileTree {
  enum Item {
    case file(FileStatus)
    /// What is no regular file, in words.
    case other(String)
    /// A folder or a file that the system does not let us see.
    case unreadable(any Error)
  }

  /// The paths from the folder on.
  private(set) var items: [(path: String, item: Item)] = []

  init(_ folder: String) throws {
    var rest = try list(folder, under: "")
    while let path = rest.popLast() {
      let full = folder + "/" + path
      do {
        // Somebody has removed it since its folder was read.
        guard let status = try FileStatus(ofPath: full) else { continue }
        if status.isFolder {
          rest += try list(full, under: path + "/")
        } else if status.isRegular {
          items.append((path, .file(status)))
        } else {
          items.append((path, .other(status.isSymbolicLink ? "a symbolic link" : "no regular file")))
        }
      } catch { items.append((path, .unreadable(error))) }
    }
  }

  /// The paths of what is in a folder, the first one last.
  private mutating func list(_ folder: String, under start: String) throws -> [String] {
    guard let stream = SystemCall.make(.list, pointer: { opendir(folder) }) else {
      throw ToolError("cannot read the folder “\(folder)”: " + String(cString: strerror(errno)))
    }
    defer { closedir(stream) }
    var paths: [String] = []
    while true {
      guard let entry = SystemCall.make(.list, pointer: { readdir(stream) }) else { break }
      let bytes = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: UInt8.self, capacity: 1) { start in
          // The name ends with a zero, and need not fill its place.
          [UInt8](UnsafeBufferPointer(start: start, count: strlen(start)))
        }
      }
      if bytes == [0x2E] || bytes == [0x2E, 0x2E] { continue }
      if let name = String(validUTF8: bytes) {
        paths.append(start + name)
      } else {
        // Foundation would pass over it, as if it was not there.
        let name = String(decoding: bytes, as: UTF8.self)
        items.append((start + name, .unreadable(ToolError("the name of the file is not UTF-8; rename it"))))
      }
    }
    guard errno == 0 else {
      throw ToolError("cannot read the folder “\(folder)”: " + String(cString: strerror(errno)))
    }
    return paths.sorted { $1.utf8.lexicographicallyPrecedes($0.utf8) }
  }

  /// Whether a path is that of a temporary file, or of a file in a temporary folder. A user's own may look so too, so none is
  /// removed.
  static func isUnfinished(_ path: String) -> Bool {
    path.split(separator: "/").contains { TemporaryFiles.isTemporary($0) }
  }

  /// Whether nothing is at a path, or at the end of its link.
  static func isMissing(_ path: String) -> Bool {
    access(path, F_OK) != 0 && [ENOENT, ENOTDIR].contains(errno)
  }

  /// Whether a path leads to a folder, through a link too.
  static func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
  }
}
