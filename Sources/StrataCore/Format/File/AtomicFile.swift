package import Foundation

/// Replaces files so that every reader, even after a power failure, sees all of the old content or all of the new.
package enum AtomicFile {
  /// The maximum number of links to follow. More count as a cycle.
  private static let mostLinks = 40

  /// Replaces the content of the file at `url`. See ``replace(_:writing:)``.
  ///
  /// - Returns: the status of the new file, even if another writer has replaced it since.
  @discardableResult
  package static func write(_ bytes: RawSpan, to url: URL) throws -> FileStatus {
    try bytes.withUnsafeBytes { bytes in
      try replace(url) { file in
        try file.writeAll(bytes.bytes)
        return try file.status()
      }
    }
  }

  /// Replaces the content of the file at `url`. See ``replace(_:writing:)``.
  @discardableResult
  package static func write(_ data: Data, to url: URL) throws -> FileStatus {
    try write(data.bytes, to: url)
  }

  /// Moves a file to another path in the same folder. Its content and its new name then survive a power failure.
  ///
  /// - Parameter isNew: whether an existing file at the path is kept.
  /// - Returns: whether the file is at the path now.
  /// - Throws: ``ArchiveError`` with the code `fileSystem`. A new file is then removed. A file that replaces another
  ///   one may be at the path, if only synchronizing the folder failed.
  @discardableResult
  package static func place(_ file: URL, at url: URL, isNew: Bool = false) throws -> Bool {
    let path = try OpenFile.path(of: url), made = try OpenFile.path(of: file)
    // The folder is opened first, so that a folder that cannot be opened fails before anything is changed.
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

  /// Renames a file, and replaces any file at the new path.
  static func move(_ made: String, to path: String) throws {
    guard SystemCall.perform(.rename, { rename(made, path) }) == 0 else { throw OpenFile.failure("write", path) }
  }

  /// Renames a file, unless there is one at the new path.
  ///
  /// - Returns: whether the file was renamed; `false` if there is one at the new path.
  static func move(_ made: String, toNew path: String) throws -> Bool {
    // Unlike a rename, a link fails if another writer was faster.
    guard SystemCall.perform(.link, { link(made, path) }) != 0 else {
      OpenFile.remove(made)
      return true
    }
    if errno == EEXIST { return false }
    guard [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS, EMLINK].contains(errno) else { throw OpenFile.failure("write", path) }
    // The file system has no hard links.
    guard try FileStatus(ofPath: path) == nil else { return false }
    try move(made, to: path)
    return true
  }

  /// Replaces the file at `url` by the output of `writing`, or creates it.
  ///
  /// The bytes go to a new file in the same folder, which is synchronized and then replaces the old one. A symbolic
  /// link stays, and its target is replaced. Permissions are kept; a new file has the default ones of the process. Once
  /// this returns, the content survives a power failure.
  ///
  /// A killed process leaves its new file behind, with a name as in ``TemporaryFiles``. The next writer of the same
  /// file removes it.
  ///
  /// - Throws: The errors of `writing`, or ``ArchiveError`` with the code `fileSystem`. The old file is then unchanged,
  ///   and nothing else is left behind. The one exception is a folder that cannot be synchronized after the
  ///   replacement: the new content is in place, but may not survive a power failure.
  /// - Returns: the result of `writing`.
  package static func replace<R>(_ url: URL, writing: (borrowing OpenFile) throws -> R) throws -> R {
    let replacement = try Replacement(of: url)
    let result: R
    do { result = try writing(replacement.temporary.file) } catch { throw replacement.abandon(error) }
    try replacement.commit()
    return result
  }

  /// Removes the temporary files that killed writers of the file left behind.
  static func removeAbandoned(beside url: URL) throws {
    let path = try OpenFile.path(of: url)
    try TemporaryFiles(of: target(of: path).path).removeAbandoned(named: path)
  }

  /// Returns the whole content of a file; empty for an empty file.
  ///
  /// - Parameter limit: The maximum size of the file in bytes.
  /// - Throws: ``ArchiveError`` with the code `fileSystem` if the file cannot be read, or `limitExceeded`.
  package static func read(_ url: URL, limit: Int? = nil) throws -> [UInt8] {
    let file = try OpenFile(reading: url)
    let limit = limit ?? Int.max
    func tooLarge() -> ArchiveError {
      ArchiveError(.limitExceeded, "the file “\(url.path)” has more than the \(limit) bytes that are allowed")
    }
    let status = try file.status()
    guard !status.isRegular || status.size <= limit else { throw tooLarge() }
    // A size is only a hint: a file can claim more than it holds, and grow while it is read.
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

  /// Follows the symbolic links at the end of a path. The last one may be dangling.
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

  /// Returns the parent folder of a path. Dots are left for the system to resolve, because it knows the links.
  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
