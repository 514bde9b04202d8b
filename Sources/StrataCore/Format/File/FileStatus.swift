#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// What the system knows about a file.
package struct FileStatus: Sendable {
  package var size: Int
  package var isFolder: Bool
  package var isRegular: Bool
  package var isSymbolicLink: Bool
  /// Permissions, without the bits for set-user-id and the like.
  package var permissions: UInt32
  package var owner: UInt32
  package var group: UInt32
  /// Nanoseconds since 1970 at which the content last changed.
  package var modified: Int64
  /// What tells the file from all others of the machine, under whatever path.
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

  /// The status of what lies at `path`, of a link itself and not of its target; `nil` where nothing does.
  package init?(ofPath path: String) throws {
    var status = stat()
    guard SystemCall.make(.status, { lstat(path, &status) }) == 0 else {
      if errno == ENOENT { return nil }
      throw OpenFile.failure("write", path)
    }
    self.init(status)
  }

  /// Whether both are of one file, and its content has not been written in between.
  package func isSameContent(as other: FileStatus) -> Bool {
    isOfSameFile(as: other) && size == other.size && modified == other.modified
  }

  /// Whether both are of one file.
  func isOfSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }
}
