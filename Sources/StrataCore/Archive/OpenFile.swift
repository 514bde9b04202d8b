package import Foundation

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// An open file of the operating system, closed at the latest when this value goes away.
///
/// Every failure is an ``ArchiveError`` with the code `fileSystem`, whose reason names the file, the operation
/// and what the system said, and whose underlying error is a `POSIXError`. Interrupted calls are repeated.
package struct OpenFile: ~Copyable {
  private var descriptor: CInt
  /// The path that error messages name.
  private let path: String

  deinit {
    if descriptor >= 0 { _ = close(descriptor) }
  }

  // MARK: Opening

  /// Opens a file to be read. A folder is refused.
  package init(reading url: URL) throws {
    let path = try Self.path(of: url)
    let descriptor = try Self.opened(path, named: path, to: "read", O_RDONLY)
    // Opening a folder is allowed, and only reading it would fail.
    var status = stat()
    guard fstat(descriptor, &status) != 0 || !FileStatus(status).isFolder else {
      _ = close(descriptor)
      throw Self.failure("read", path, EISDIR)
    }
    self.descriptor = descriptor
    self.path = path
  }

  /// Opens a file that exists to be written from its beginning on, without any promise of atomicity.
  package init(writing url: URL) throws {
    let path = try Self.path(of: url)
    descriptor = try Self.opened(path, named: path, to: "write", O_WRONLY)
    self.path = path
  }

  /// Opens a file that exists to be read and to be written at its end.
  init(appending url: URL) throws {
    let path = try Self.path(of: url)
    descriptor = try Self.opened(path, named: path, to: "write", O_RDWR | O_APPEND)
    self.path = path
  }

  /// Makes a file that must not exist yet, with those of `permissions` that the process leaves to new files.
  /// - Parameter name: The path that error messages name instead.
  init(creating path: String, named name: String, permissions: UInt32) throws {
    descriptor = try Self.opened(
      path, named: name, to: "write", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, permissions)
    self.path = name
  }

  /// Opens a folder, in order to synchronize it.
  init(folder path: String, named name: String) throws {
    descriptor = try Self.opened(path, named: name, to: "write", O_RDONLY | O_DIRECTORY)
    self.path = name
  }

  private static func opened(
    _ path: String, named name: String, to operation: String, _ flags: CInt, _ permissions: UInt32 = 0
  ) throws -> CInt {
    let descriptor = repeated { open(path, flags | O_CLOEXEC, mode_t(permissions)) }
    guard descriptor >= 0 else { throw failure(operation, name) }
    return descriptor
  }

  // MARK: Reading

  /// Reads into `buffer` from `start` on, as much as the system gives at once.
  /// - Returns: How many bytes were read; 0 only at the end of the file or where there is no room.
  package borrowing func readSome(into buffer: inout [UInt8], from start: Int) throws -> Int {
    guard start >= 0, start < buffer.count else { return 0 }
    let count = buffer.withUnsafeMutableBytes { bytes in
      Self.repeated { read(descriptor, bytes.baseAddress?.advanced(by: start), bytes.count - start) }
    }
    guard count >= 0 else { throw Self.failure("read", path) }
    return count
  }

  /// The bytes from `offset` on, fewer than `count` only where the file ends. The file must be seekable.
  package borrowing func readBytes(at offset: Int, count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: max(0, count))
    var filled = 0
    while filled < bytes.count {
      let step = bytes.withUnsafeMutableBytes { buffer in
        Self.repeated {
          pread(
            descriptor, buffer.baseAddress?.advanced(by: filled), buffer.count - filled,
            off_t(offset + filled))
        }
      }
      guard step >= 0 else { throw Self.failure("read", path) }
      if step == 0 { break }
      filled += step
    }
    bytes.removeSubrange(filled...)
    return bytes
  }

  /// What the system knows about the file.
  package borrowing func status() throws -> FileStatus {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Self.failure("read", path) }
    return FileStatus(status)
  }

  // MARK: Writing

  /// Writes all of `bytes` at the file's end.
  package borrowing func writeAll(_ bytes: RawSpan) throws {
    try bytes.withUnsafeBytes { buffer in
      var written = 0
      while written < buffer.count {
        // Darwin refuses more than 2 GiB at once.
        let size = min(buffer.count - written, 1 << 30)
        let step = Self.repeated { write(descriptor, buffer.baseAddress?.advanced(by: written), size) }
        guard step >= 0 else { throw Self.failure("write", path) }
        // No system should do this; without the check one that does would be asked for ever.
        guard step > 0 else { throw Self.failure("write", path, EIO) }
        written += step
      }
    }
  }

  /// Cuts the file off.
  borrowing func truncate(to size: Int) throws {
    guard Self.repeated({ ftruncate(descriptor, off_t(size)) }) == 0 else { throw Self.failure("write", path) }
  }

  /// Gives the file the permissions and, as far as the process may, the owner of another one.
  borrowing func adopt(_ status: FileStatus) throws {
    let mine = try self.status()
    if mine.owner != status.owner || mine.group != status.group {
      // Only the superuser can always do this, and the content matters more than its owner.
      _ = fchown(descriptor, uid_t(status.owner), gid_t(status.group))
    }
    guard fchmod(descriptor, mode_t(status.permissions)) == 0 else { throw Self.failure("write", path) }
  }

  /// Returns once the file's content would survive a loss of power.
  borrowing func synchronize() throws {
    #if canImport(Darwin)
      // There fsync leaves the bytes in the drive's cache. Not every volume knows the stronger call.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
    #endif
    guard Self.repeated({ fsync(descriptor) }) == 0 else {
      // Some file systems cannot synchronize a folder, and say so.
      if errno == EINVAL || errno == ENOTSUP { return }
      throw Self.failure("write", path)
    }
  }

  /// Closes the file and reports what network volumes tell only then.
  consuming func finish() throws {
    let closing = descriptor
    descriptor = -1
    // An interrupted close must not be repeated: the descriptor is gone already.
    guard close(closing) == 0 || errno == EINTR else { throw Self.failure("write", path) }
  }

  // MARK: Errors

  /// The path of a file URL, as the system takes it.
  static func path(of url: URL) throws -> String {
    let path = url.path
    guard url.isFileURL, !path.isEmpty else {
      throw ArchiveError(.fileSystem, "“\(url.absoluteString)” is not the URL of a file")
    }
    // The system would silently stop at the zero.
    guard !path.utf8.contains(0) else {
      throw ArchiveError(.fileSystem, "the path of a file contains a zero byte")
    }
    return path
  }

  /// The error for a failed call; `number` is the system's error number, by default that of the last call.
  static func failure(_ operation: String, _ path: String, _ number: CInt = errno) -> ArchiveError {
    let text = String(cString: strerror(number))
    return ArchiveError(
      .fileSystem, "cannot \(operation) the file “\(path)”: \(text)",
      underlying: POSIXErrorCode(rawValue: number).map { POSIXError($0) })
  }

  private static func repeated<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
      let result = call()
      if result != -1 || errno != EINTR { return result }
    }
  }
}

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

  fileprivate init(_ status: stat) {
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
    guard lstat(path, &status) == 0 else {
      if errno == ENOENT { return nil }
      throw OpenFile.failure("write", path)
    }
    self.init(status)
  }
}
