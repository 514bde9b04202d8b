package import Foundation

/// An open file descriptor. It is closed by ``finish()`` or when this value is destroyed.
///
/// Every failure is an ``ArchiveError`` with the code `fileSystem`. Its reason contains the file, the operation and the
/// system's message, and its underlying error is a `POSIXError`. If a signal interrupts a system call, the call is
/// repeated.
package struct OpenFile: ~Copyable {
  private var descriptor: CInt
  /// The path for error messages.
  private let path: String

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  // MARK: Opening

  /// Opens a file for reading. Throws an error for a folder.
  package init(reading url: URL) throws {
    let file = try OpenFile(url, to: "read", O_RDONLY)
    // The system can open a folder for reading. It would report an error only when the folder is read.
    guard try !file.status().isFolder else { throw Self.failure("read", file.path, EISDIR) }
    self = file
  }

  /// Opens a file or a folder for locking. Throws an error for a symbolic link.
  init(locking path: String, named name: String) throws {
    try self.init(path, named: name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  }

  /// Opens an existing file to overwrite it from the beginning. Overwriting a file is not atomic.
  package init(writing url: URL) throws { try self.init(url, O_WRONLY) }

  /// Opens an existing file for reading and for appending.
  init(appending url: URL) throws { try self.init(url, O_RDWR | O_APPEND) }

  /// Opens or creates a file for reading and for appending. Throws an error for a symbolic link.
  package init(growing url: URL) throws { try self.init(url, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW) }

  /// Creates a file for appending. Throws an error if the path exists. The umask of the process restricts
  /// `permissions`.
  /// - Parameter name: the path for error messages.
  init(creating path: String, named name: String, permissions: UInt32) throws {
    try self.init(path, named: name, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, permissions)
  }

  /// Opens a folder so that it can be flushed to the disk.
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

  /// Reads bytes with one system call, and stores them in `buffer`, starting at index `start`.
  ///
  /// - Parameters:
  ///   - most: the maximum number of bytes. By default, the rest of `buffer` is filled.
  ///   - offset: the file offset to read from. By default, reading continues after the last read. A pipe has no
  ///     offsets, so `offset` must then be `nil`.
  /// - Returns: the number of bytes read; 0 only at the end of the file or if `buffer` has no room.
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

  /// Returns `count` bytes from the given file offset, or fewer bytes at the end of the file. The file must not be a
  /// pipe.
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

  /// Appends all of `bytes` to the file.
  package borrowing func writeAll(_ bytes: RawSpan) throws {
    var written = 0
    try writeAll(bytes, written: &written)
  }

  /// Appends all of `bytes` to the file.
  ///
  /// - Parameter written: must be 0 before the call. After the call, it is the number of bytes appended, even if an
  ///   error is thrown.
  borrowing func writeAll(_ bytes: RawSpan, written: inout Int) throws {
    try bytes.withUnsafeBytes { buffer in
      while written < buffer.count {
        // At most 1 GiB is written at once, because Darwin rejects writes of more than 2 GiB.
        let size = min(buffer.count - written, 1 << 30)
        let step = SystemCall.perform(.write, count: size) {
          write(descriptor, buffer.baseAddress?.advanced(by: written), $0)
        }
        guard step >= 0 else { throw Self.failure("write", path) }
        // No system should return 0. The error prevents an endless loop.
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

  /// Sets the permissions of the file to the permissions in `status`. Also sets the owner and the group, if the process
  /// is allowed to set them.
  borrowing func adopt(_ status: FileStatus) throws {
    let mine = try self.status()
    if mine.owner != status.owner || mine.group != status.group {
      // Errors are ignored, because usually only the superuser may change the owner. Changing only the group may still succeed.
      if SystemCall.perform(.changeOwner, { fchown(descriptor, uid_t(status.owner), gid_t(status.group)) }) != 0 {
        _ = SystemCall.perform(.changeOwner) { fchown(descriptor, uid_t.max, gid_t(status.group)) }
      }
    }
    guard mine.permissions != status.permissions else { return }
    guard SystemCall.perform(.changeMode, { fchmod(descriptor, mode_t(status.permissions)) }) == 0 else {
      // These errors mean that the file system does not support permissions, so they are ignored.
      if [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS, EINVAL].contains(errno) { return }
      throw Self.failure("write", path)
    }
  }

  /// Flushes the file to the disk. When the method returns, the content survives a power failure.
  borrowing func synchronize() throws {
    #if canImport(Darwin)
      // On Darwin, `fsync` leaves the bytes in the cache of the drive. `F_FULLFSYNC` flushes the cache, but not every
      // volume supports it.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
    #endif
    guard SystemCall.perform(.synchronize, { fsync(descriptor) }) == 0 else {
      // Some file systems cannot synchronize a folder, so these errors are ignored.
      if errno == EINVAL || errno == ENOTSUP { return }
      throw Self.failure("write", path)
    }
  }

  /// Closes the file. Throws errors that network volumes report only when a file is closed.
  consuming func finish() throws {
    let closing = descriptor
    descriptor = -1
    guard SystemCall.perform(.close, { close(closing) }) == 0 || errno == EINTR else {
      throw Self.failure("write", path)
    }
  }

  /// Returns a duplicate descriptor of the same open file. A lock on the file lasts until both descriptors are closed.
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
    /// The lock is held through a different open descriptor of the file, in this or another process.
    case heldByOther
    /// The file system does not support locks.
    case unsupported
  }

  /// Requests the advisory lock of the file (`flock`) without waiting. The lock lasts until the file is closed.
  ///
  /// - Parameter isShared: whether to request a shared lock, which several open files can hold at the same time, instead of an exclusive
  ///   lock.
  package borrowing func lock(isShared: Bool = false) throws -> LockResult {
    let operation = (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB
    guard SystemCall.perform(.lock, { flock(descriptor, operation) }) != 0 else { return .acquired }
    switch errno {
    case EWOULDBLOCK: return .heldByOther
    // `EBADF` is included, because NFS can lock only files that are open for writing.
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
      throw ArchiveError(.fileSystem, "the URL “\(url.absoluteString)” is not a file URL with a path")
    }
    // The system would silently truncate the path at a zero byte.
    guard !path.utf8.contains(0) else {
      throw ArchiveError(.fileSystem, "the file path contains a NUL character")
    }
    return path
  }

  /// Returns the error for a failed system call.
  ///
  /// - Parameter number: the error number; by default the current `errno`.
  static func failure(_ operation: String, _ path: String, _ number: CInt = errno) -> ArchiveError {
    let text = String(cString: strerror(number))
    return ArchiveError(
      .fileSystem, "cannot \(operation) the file “\(path)”: \(text)",
      underlying: POSIXErrorCode(rawValue: number).map { POSIXError($0) })
  }

  /// Removes a file and ignores errors.
  static func remove(_ path: String) { _ = SystemCall.perform(.unlink) { unlink(path) } }
}
