package import Foundation

/// An open file of the operating system. It is closed when this value is destroyed, or earlier.
///
/// Every failure is an ``ArchiveError`` with the code `fileSystem`. Its reason names the file, the operation and the
/// system's message, and its underlying error is a `POSIXError`. Interrupted calls are repeated.
package struct OpenFile: ~Copyable {
  private var descriptor: CInt
  /// The path for error messages.
  private let path: String

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  // MARK: Opening

  /// Opens a file for reading. Throws for a folder.
  package init(reading url: URL) throws {
    let file = try OpenFile(url, to: "read", O_RDONLY)
    // Opening a folder succeeds, and only reading it would fail.
    guard try !file.status().isFolder else { throw Self.failure("read", file.path, EISDIR) }
    self = file
  }

  /// Opens a file or a folder, but not a link, for locking.
  init(locking path: String, named name: String) throws {
    try self.init(path, named: name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  }

  /// Opens an existing file for writing from its beginning, which is not atomic.
  package init(writing url: URL) throws { try self.init(url, O_WRONLY) }

  /// Opens an existing file for reading, and for writing at its end.
  init(appending url: URL) throws { try self.init(url, O_RDWR | O_APPEND) }

  /// Opens or creates a file for reading, and for writing at its end. Throws for a link.
  package init(growing url: URL) throws { try self.init(url, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW) }

  /// Creates a file for writing at its end. Throws if the path exists. The umask of the process restricts
  /// `permissions`.
  /// - Parameter name: The path for error messages.
  init(creating path: String, named name: String, permissions: UInt32) throws {
    try self.init(path, named: name, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, permissions)
  }

  /// Opens a folder for synchronizing.
  init(folder path: String, named name: String) throws { try self.init(path, named: name, O_RDONLY | O_DIRECTORY) }

  private init(_ url: URL, to operation: String = "write", _ flags: CInt) throws {
    let path = try Self.path(of: url)
    try self.init(path, named: path, to: operation, flags)
  }

  private init(
    _ path: String, named name: String, to operation: String = "write", _ flags: CInt, _ permissions: UInt32 = 0o666
  ) throws {
    let descriptor = SystemCall.perform(.open) { open(path, flags | O_CLOEXEC, mode_t(permissions)) }
    guard descriptor >= 0 else { throw Self.failure(operation, name) }
    self.init(descriptor: descriptor, path: name)
  }

  // MARK: Reading

  /// Reads into `buffer` from index `start`, as much as the system returns at once.
  ///
  /// - Parameters:
  ///   - most: the maximum number of bytes. By default, the available room in `buffer`.
  ///   - offset: the offset in the file. By default, the end of the last read. Only a seekable file has offsets.
  /// - Returns: The number of bytes read; 0 only at the end of the file or if there is no room.
  package borrowing func readSome(
    into buffer: inout [UInt8], from start: Int, most: Int = .max, at offset: Int? = nil
  ) throws -> Int {
    guard start >= 0, start < buffer.count, most > 0 else { return 0 }
    let count = buffer.withUnsafeMutableBytes { bytes in
      let place = bytes.baseAddress?.advanced(by: start)
      return SystemCall.perform(.read, count: min(most, bytes.count - start)) { count in
        if let offset { pread(descriptor, place, count, off_t(offset)) } else { read(descriptor, place, count) }
      }
    }
    guard count >= 0 else { throw Self.failure("read", path) }
    return count
  }

  /// Returns the bytes from `offset` on; fewer than `count` only at the end of the file. The file must be seekable.
  package borrowing func readBytes(at offset: Int, count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: max(0, count))
    var filled = 0
    while filled < bytes.count {
      let step = try readSome(into: &bytes, from: filled, at: offset + filled)
      if step == 0 { break }
      filled += step
    }
    bytes.removeSubrange(filled...)
    return bytes
  }

  package borrowing func status() throws -> FileStatus {
    var status = stat()
    guard SystemCall.perform(.status, { fstat(descriptor, &status) }) == 0 else { throw Self.failure("read", path) }
    return FileStatus(status)
  }

  // MARK: Writing

  /// Writes all of `bytes` at the file's end.
  package borrowing func writeAll(_ bytes: RawSpan) throws {
    var written = 0
    try writeAll(bytes, written: &written)
  }

  /// Writes all of `bytes` at the file's end.
  ///
  /// - Parameter written: must be 0. It becomes the number of bytes that are in the file, also after an error.
  borrowing func writeAll(_ bytes: RawSpan, written: inout Int) throws {
    try bytes.withUnsafeBytes { buffer in
      while written < buffer.count {
        // Darwin refuses more than 2 GiB at once.
        let size = min(buffer.count - written, 1 << 30)
        let step = SystemCall.perform(.write, count: size) {
          write(descriptor, buffer.baseAddress?.advanced(by: written), $0)
        }
        guard step >= 0 else { throw Self.failure("write", path) }
        // No system should return 0, which would be an endless loop.
        guard step > 0 else { throw Self.failure("write", path, EIO) }
        written += step
      }
    }
  }

  borrowing func truncate(to size: Int) throws {
    guard SystemCall.perform(.truncate, { ftruncate(descriptor, off_t(size)) }) == 0 else {
      throw Self.failure("write", path)
    }
  }

  /// Copies the permissions of another file and, if the process may do so, its owner and group.
  borrowing func adopt(_ status: FileStatus) throws {
    let mine = try self.status()
    if mine.owner != status.owner || mine.group != status.group {
      // Only the superuser can always do this, and the content matters more. Setting the group alone may succeed.
      if SystemCall.perform(.changeOwner, { fchown(descriptor, uid_t(status.owner), gid_t(status.group)) }) != 0 {
        _ = SystemCall.perform(.changeOwner) { fchown(descriptor, uid_t.max, gid_t(status.group)) }
      }
    }
    guard mine.permissions != status.permissions else { return }
    guard SystemCall.perform(.changeMode, { fchmod(descriptor, mode_t(status.permissions)) }) == 0 else {
      // The file system has no modes, so there is nothing to copy.
      if [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS, EINVAL].contains(errno) { return }
      throw Self.failure("write", path)
    }
  }

  /// Returns once the file's content would survive a power failure.
  borrowing func synchronize() throws {
    #if canImport(Darwin)
      // On Darwin, fsync leaves the bytes in the drive's cache. Not every volume supports the stronger call.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
    #endif
    guard SystemCall.perform(.synchronize, { fsync(descriptor) }) == 0 else {
      // Some file systems cannot synchronize a folder.
      if errno == EINVAL || errno == ENOTSUP { return }
      throw Self.failure("write", path)
    }
  }

  /// Closes the file, and throws the errors that network volumes report only then.
  consuming func finish() throws {
    let closing = descriptor
    descriptor = -1
    guard SystemCall.perform(.close, { close(closing) }) == 0 || errno == EINTR else {
      throw Self.failure("write", path)
    }
  }

  /// Returns a duplicate descriptor of the open file. The lock lasts until both are closed.
  borrowing func duplicate() throws -> OpenFile {
    let copy = SystemCall.perform(.open) { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }
    guard copy >= 0 else { throw Self.failure("write", path) }
    return OpenFile(descriptor: copy, path: path)
  }

  private init(descriptor: CInt, path: String) { (self.descriptor, self.path) = (descriptor, path) }

  // MARK: Locking

  /// The result of requesting a lock.
  package enum LockResult {
    case acquired
    /// Another open file has the lock.
    case heldByOther
    /// The file system does not support locks.
    case unsupported
  }

  /// Takes the advisory lock of the file (`flock`) without waiting. The lock lasts until the file is closed.
  ///
  /// - Parameter isShared: whether others may hold a shared lock at the same time.
  package borrowing func lock(isShared: Bool = false) throws -> LockResult {
    let operation = (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB
    guard SystemCall.perform(.lock, { flock(descriptor, operation) }) != 0 else { return .acquired }
    switch errno {
    case EWOULDBLOCK: return .heldByOther
    // NFS locks only files that are open for writing (EBADF).
    case ENOTSUP, EOPNOTSUPP, ENOLCK, ENOSYS, EINVAL, EBADF: return .unsupported
    default: throw Self.failure("lock", path)
    }
  }

  borrowing func unlock() { _ = flock(descriptor, LOCK_UN) }

  // MARK: Errors

  /// Returns the path of a file URL, for system calls.
  static func path(of url: URL) throws -> String {
    let path = url.path
    guard url.isFileURL, !path.isEmpty else {
      throw ArchiveError(.fileSystem, "“\(url.absoluteString)” is not the URL of a file")
    }
    // The system would silently truncate the path at the zero byte.
    guard !path.utf8.contains(0) else {
      throw ArchiveError(.fileSystem, "the path of a file contains a zero byte")
    }
    return path
  }

  /// Returns the error for a failed system call. `number` is the error number, by default `errno` of the last call.
  static func failure(_ operation: String, _ path: String, _ number: CInt = errno) -> ArchiveError {
    let text = String(cString: strerror(number))
    return ArchiveError(
      .fileSystem, "cannot \(operation) the file “\(path)”: \(text)",
      underlying: POSIXErrorCode(rawValue: number).map { POSIXError($0) })
  }

  /// Removes a file, and ignores errors.
  static func remove(_ path: String) { _ = SystemCall.perform(.unlink) { unlink(path) } }
}
