package import Foundation

/// Replaces files atomically. A reader sees either the complete old content or the complete new content, even after a
/// power failure.
package enum AtomicFile {
  /// The maximum number of symbolic links to follow. A longer chain is treated as a cycle of links.
  private static let mostLinks = 40

  /// Replaces the content of the file at `url`, with the guarantees of ``replace(_:writing:)``.
  ///
  /// - Returns: the status of the new file, even if another writer has replaced that file in the meantime.
  @discardableResult
  package static func write(_ bytes: RawSpan, to url: URL) throws -> FileStatus {
    try bytes.withUnsafeBytes { bytes in
      try replace(url) { file in
        try file.writeAll(bytes.bytes)
        return try file.status()
      }
    }
  }

  /// Replaces the content of the file at `url`, with the guarantees of ``replace(_:writing:)``.
  @discardableResult
  package static func write(_ data: Data, to url: URL) throws -> FileStatus {
    try write(data.bytes, to: url)
  }

  /// Moves a file to a different path in the same folder. When the function returns, the content and the new name of
  /// the file survive a power failure.
  ///
  /// - Parameter isNew: whether to keep an existing file at `url` instead of replacing it.
  /// - Returns: whether the file was moved; `false` if an existing file was kept.
  /// - Throws: ``ArchiveError`` with the code `fileSystem`. If only synchronizing the folder failed and `isNew` is
  ///   true, the file has been removed from `url` again. If `isNew` is false, the file has already replaced the
  ///   existing file.
  @discardableResult
  package static func place(_ file: URL, at url: URL, isNew: Bool = false) throws -> Bool {
    let path = try OpenFile.path(of: url), made = try OpenFile.path(of: file)
    // The folder is opened first, because no file may be changed if the folder cannot be opened.
    let folder = try OpenFile(folder: folder(of: path), named: path)
    try OpenFile(writing: file).synchronize()
    guard isNew else {
      try move(made, to: path)
      try folder.synchronize()
      return true
    }
    guard try move(made, toNew: path) else { return false }
    do { try folder.synchronize() } catch {
      OpenFile.remove(path)
      throw error
    }
    return true
  }

  /// Renames a file and replaces an existing file at the new path.
  static func move(_ made: String, to path: String) throws {
    guard SystemCall.perform(.rename, { rename(made, path) }) == 0 else { throw OpenFile.failure("write", path) }
  }

  /// Renames a file, unless a file exists at the new path.
  ///
  /// - Returns: whether the file was renamed; `false` if a file exists at the new path.
  static func move(_ made: String, toNew path: String) throws -> Bool {
    // The file gets its new name as a hard link. If another writer has created a file at the new path, `link` fails, whereas `rename` would
    // replace that file.
    guard SystemCall.perform(.link, { link(made, path) }) != 0 else {
      OpenFile.remove(made)
      return true
    }
    if errno == EEXIST { return false }
    guard [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS, EMLINK].contains(errno) else { throw OpenFile.failure("write", path) }
    // The file system does not support hard links, so checking and renaming are separate steps, and not atomic.
    guard try FileStatus(ofPath: path) == nil else { return false }
    try move(made, to: path)
    return true
  }

  /// Replaces the file at `url` with the output of `writing`, or creates the file.
  ///
  /// The bytes are written to a new file in the same folder. The new file is flushed to the disk and then replaces the
  /// old file. If `url` is a symbolic link, the link is kept and its target is replaced. The new file gets the
  /// permissions of the old file, or the default permissions of the process if there is no old file. When the function
  /// returns, the content survives a power failure.
  ///
  /// A killed process leaves a temporary file behind (see ``TemporaryFiles``). The next writer of the same file removes
  /// the temporary file.
  ///
  /// - Throws: Any error that `writing` throws, or ``ArchiveError`` with the code `fileSystem`. In that case, the old
  ///   file is unchanged, and no temporary file is left behind. There is one exception: if only synchronizing the
  ///   folder fails, the file has already been replaced, but the new content may not survive a power failure.
  /// - Returns: the result of `writing`.
  package static func replace<R>(_ url: URL, writing: (borrowing OpenFile) throws -> R) throws -> R {
    let replacement = try Replacement(of: url)
    let result: R
    do { result = try writing(replacement.temporary.file) } catch { throw replacement.abandon(error) }
    try replacement.commit()
    return result
  }

  /// Removes temporary files that killed writers of the file at `url` left behind.
  static func removeAbandoned(beside url: URL) throws {
    let path = try OpenFile.path(of: url)
    try TemporaryFiles(of: target(of: path).path).removeAbandoned(named: path)
  }

  /// Returns the whole content of a file.
  ///
  /// - Parameter limit: the maximum size of the file in bytes.
  /// - Throws: ``ArchiveError`` with the code `fileSystem` if the file cannot be read, or `limitExceeded` if the file
  ///   is larger than the limit.
  package static func read(_ url: URL, limit: Int? = nil) throws -> [UInt8] {
    let file = try OpenFile(reading: url)
    let limit = limit ?? Int.max
    func tooLarge() -> ArchiveError {
      ArchiveError(.limitExceeded, "the file “\(url.path)” is larger than the limit of \(limit) bytes")
    }
    let status = try file.status()
    guard !status.isRegular || status.size <= limit else { throw tooLarge() }
    // The reported size is only an estimate, because a file can be smaller than its status reports or grow while it is read.
    var bytes = [UInt8](repeating: 0, count: min(max(status.size, 0), 1 << 26) + 1)
    var filled = 0
    while true {
      let step = try file.readSome(into: &bytes, from: filled)
      if step == 0 { break }
      filled += step
      guard filled <= limit else { throw tooLarge() }
      if filled == bytes.count { bytes.append(contentsOf: repeatElement(0, count: bytes.count)) }
    }
    bytes.removeSubrange(filled...)
    return bytes
  }

  /// Follows the symbolic links at the end of a path. Returns the final path and the status of the file at that path. The status is `nil`
  /// if there is no file.
  package static func target(of path: String) throws -> (path: String, status: FileStatus?) {
    var current = path
    for _ in 0..<mostLinks {
      guard let status = try FileStatus(ofPath: current) else { return (current, nil) }
      guard status.isSymbolicLink else { return (current, status) }
      var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX) + 1)
      let count = buffer.withUnsafeMutableBytes { bytes in
        guard let base = bytes.baseAddress else { return -1 }
        return readlink(current, base.assumingMemoryBound(to: CChar.self), bytes.count)
      }
      guard count >= 0 else { throw OpenFile.failure("write", path) }
      guard count < buffer.count, let link = String(validUTF8: buffer[..<count]) else {
        throw OpenFile.failure("write", path, ENAMETOOLONG)
      }
      current = link.hasPrefix("/") ? link : folder(of: current) + "/" + link
    }
    throw OpenFile.failure("write", path, ELOOP)
  }

  /// Returns the parent folder of a path. Components such as `..` are not resolved, because only the system resolves
  /// them correctly in a path with symbolic links.
  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
