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
    if descriptor >= 0 { Self.closed(descriptor) }
  }

  // MARK: Opening

  /// Opens a file to be read. A folder is refused.
  package init(reading url: URL) throws {
    let path = try Self.path(of: url)
    let descriptor = try Self.opened(path, named: path, to: "read", O_RDONLY)
    // Opening a folder is allowed, and only reading it would fail.
    var status = stat()
    guard SystemCall.make(.status, { fstat(descriptor, &status) }) == 0 else {
      let number = errno
      Self.closed(descriptor)
      throw Self.failure("read", path, number)
    }
    guard !FileStatus(status).isFolder else {
      Self.closed(descriptor)
      throw Self.failure("read", path, EISDIR)
    }
    self.descriptor = descriptor
    self.path = path
  }

  /// Opens what lies at a path, where that is a file and no link, in order to lock it.
  init(locking path: String, named name: String) throws {
    descriptor = try Self.opened(path, named: name, to: "write", O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    self.path = name
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

  /// Opens a file to be read and to be written at its end, and makes it where there is none.
  package init(growing url: URL) throws {
    let path = try Self.path(of: url)
    descriptor = try Self.opened(path, named: path, to: "write", O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o666)
    self.path = path
  }

  /// Makes a file that must not exist yet, to be written at its end, with those of `permissions` that the process leaves to new
  /// files.
  /// - Parameter name: The path that error messages name instead.
  init(creating path: String, named name: String, permissions: UInt32) throws {
    descriptor = try Self.opened(
      path, named: name, to: "write", O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, permissions)
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
    let descriptor = SystemCall.make(.open) { open(path, flags | O_CLOEXEC, mode_t(permissions)) }
    guard descriptor >= 0 else { throw failure(operation, name) }
    return descriptor
  }

  // MARK: Reading

  /// Reads into `buffer` from `start` on, as much as the system gives at once.
  ///
  /// - Parameters:
  ///   - most: how many bytes are wanted; as many as there is room for unless given.
  ///   - offset: where in the file they stand; where the last reading ended unless given. Only a file that is seekable has
  ///     such places.
  /// - Returns: How many bytes were read; 0 only at the end of the file or where there is no room.
  package borrowing func readSome(
    into buffer: inout [UInt8], from start: Int, most: Int = .max, at offset: Int? = nil
  ) throws -> Int {
    guard start >= 0, start < buffer.count, most > 0 else { return 0 }
    let count = buffer.withUnsafeMutableBytes { bytes in
      let place = bytes.baseAddress?.advanced(by: start)
      return SystemCall.make(.read, count: min(most, bytes.count - start)) { count in
        if let offset { pread(descriptor, place, count, off_t(offset)) } else { read(descriptor, place, count) }
      }
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
        SystemCall.make(.read, count: buffer.count - filled) {
          pread(descriptor, buffer.baseAddress?.advanced(by: filled), $0, off_t(offset + filled))
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
    guard SystemCall.make(.status, { fstat(descriptor, &status) }) == 0 else { throw Self.failure("read", path) }
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
  /// - Parameter written: 0. It becomes the number of bytes that are in the file, after an error as well.
  borrowing func writeAll(_ bytes: RawSpan, written: inout Int) throws {
    try bytes.withUnsafeBytes { buffer in
      while written < buffer.count {
        // Darwin refuses more than 2 GiB at once.
        let size = min(buffer.count - written, 1 << 30)
        let step = SystemCall.make(.write, count: size) {
          write(descriptor, buffer.baseAddress?.advanced(by: written), $0)
        }
        guard step >= 0 else { throw Self.failure("write", path) }
        // No system should do this; without the check one that does would be asked for ever.
        guard step > 0 else { throw Self.failure("write", path, EIO) }
        written += step
      }
    }
  }

  /// Cuts the file off.
  borrowing func truncate(to size: Int) throws {
    guard SystemCall.make(.truncate, { ftruncate(descriptor, off_t(size)) }) == 0 else {
      throw Self.failure("write", path)
    }
  }

  /// Gives the file the permissions of another one and, as far as the process may, its owner and group.
  borrowing func adopt(_ status: FileStatus) throws {
    let mine = try self.status()
    if mine.owner != status.owner || mine.group != status.group {
      // Only the superuser can always do this, and the content matters more than its owner. The group may be had alone.
      if SystemCall.make(.changeOwner, { fchown(descriptor, uid_t(status.owner), gid_t(status.group)) }) != 0 {
        _ = SystemCall.make(.changeOwner) { fchown(descriptor, uid_t.max, gid_t(status.group)) }
      }
    }
    guard mine.permissions != status.permissions else { return }
    guard SystemCall.make(.changeMode, { fchmod(descriptor, mode_t(status.permissions)) }) == 0 else {
      // A file system without modes has none to lose.
      if [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS, EINVAL].contains(errno) { return }
      throw Self.failure("write", path)
    }
  }

  /// Returns once the file's content would survive a loss of power.
  borrowing func synchronize() throws {
    #if canImport(Darwin)
      // There fsync leaves the bytes in the drive's cache. Not every volume knows the stronger call.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
    #endif
    guard SystemCall.make(.synchronize, { fsync(descriptor) }) == 0 else {
      // Some file systems cannot synchronize a folder, and say so.
      if errno == EINVAL || errno == ENOTSUP { return }
      throw Self.failure("write", path)
    }
  }

  /// Closes the file and reports what network volumes tell only then.
  consuming func finish() throws {
    let closing = descriptor
    descriptor = -1
    guard SystemCall.make(.close, { close(closing) }) == 0 || errno == EINTR else { throw Self.failure("write", path) }
  }

  /// The same open file once more: its lock lasts until both are closed.
  borrowing func duplicate() throws -> OpenFile {
    let copy = SystemCall.make(.open) { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }
    guard copy >= 0 else { throw Self.failure("write", path) }
    return OpenFile(descriptor: copy, path: path)
  }

  private init(descriptor: CInt, path: String) { (self.descriptor, self.path) = (descriptor, path) }

  // MARK: Locking

  /// What became of asking for a lock.
  package enum Lock {
    case taken
    /// Somebody else holds one.
    case isHeld
    /// The file system has no locks.
    case isUnknown
  }

  /// Takes the advisory lock of the file (`flock`), which lasts until the file is closed.
  ///
  /// - Parameter isShared: whether others may hold such a lock, too.
  package borrowing func lock(isShared: Bool = false) throws -> Lock {
    let operation = (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB
    guard SystemCall.make(.lock, { flock(descriptor, operation) }) != 0 else { return .taken }
    switch errno {
    case EWOULDBLOCK: return .isHeld
    // NFS locks only files that are open for writing (EBADF).
    case ENOTSUP, EOPNOTSUPP, ENOLCK, ENOSYS, EINVAL, EBADF: return .isUnknown
    default: throw Self.failure("lock", path)
    }
  }

  /// Gives the lock of the file back.
  borrowing func unlock() { _ = flock(descriptor, LOCK_UN) }

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

  /// Closes what nothing more is expected of.
  private static func closed(_ descriptor: CInt) { _ = close(descriptor) }
}
