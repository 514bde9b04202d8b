internal import Foundation

/// The status of a file, as reported by the system.
package struct FileStatus: Sendable {
  package var size: Int
  package var isFolder: Bool
  package var isRegular: Bool
  package var isSymbolicLink: Bool
  /// The permission bits, without the set-user-ID, set-group-ID and sticky bits.
  package var permissions: UInt32
  package var owner: UInt32
  package var group: UInt32
  /// The time of the last change to the content, in nanoseconds since 1 January 1970.
  package var modified: Int64
  /// The device and the inode. Together they identify the file on this machine, regardless of its path.
  package var device: UInt64
  package var inode: UInt64

  init(_ status: stat) {
    size = Int(clamping: status.st_size)
    isFolder = status.st_mode & S_IFMT == S_IFDIR
    isRegular = status.st_mode & S_IFMT == S_IFREG
    isSymbolicLink = status.st_mode & S_IFMT == S_IFLNK
    permissions = UInt32(status.st_mode & 0o777)
    owner = UInt32(status.st_uid)
    group = UInt32(status.st_gid)
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    modified = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    device = UInt64(truncatingIfNeeded: status.st_dev)
    inode = UInt64(truncatingIfNeeded: status.st_ino)
  }

  /// Reads the status of the file at `path`; `nil` if there is no file. For a symbolic link, this is the
  /// status of the link itself.
  package init?(ofPath path: String) throws {
    var status = stat()
    guard SystemCall.perform(.status, { lstat(path, &status) }) == 0 else {
      if errno == ENOENT { return nil }
      throw OpenFile.failure("write", path)
    }
    self.init(status)
  }

  /// Returns whether both statuses describe the same file with unchanged content, judged by its size and its
  /// modification time.
  package func isSameContent(as other: FileStatus) -> Bool {
    isOfSameFile(as: other) && size == other.size && modified == other.modified
  }

  func isOfSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }
}
