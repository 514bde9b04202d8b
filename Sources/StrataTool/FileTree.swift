internal import Foundation
internal import StrataCore

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
    var rest = try Self.names(in: folder).reversed().map { $0 }
    while let path = rest.popLast() {
      let full = folder + "/" + path
      do {
        guard let status = try FileStatus(ofPath: full) else { continue }
        if status.isFolder {
          rest += try Self.names(in: full).reversed().map { path + "/" + $0 }
        } else if status.isRegular {
          items.append((path, .file(status)))
        } else {
          items.append((path, .other(status.isSymbolicLink ? "a symbolic link" : "no regular file")))
        }
      } catch { items.append((path, .unreadable(error))) }
    }
  }

  private static func names(in folder: String) throws -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: folder)
        .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    } catch {
      let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error ?? error
      throw ToolError("cannot read the folder “\(folder)”: \(cause.localizedDescription)")
    }
  }

  /// Whether a path leads to a folder, through a link too.
  static func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
  }
}
