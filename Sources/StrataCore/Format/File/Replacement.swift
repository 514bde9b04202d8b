import Foundation

/// A new file next to the old one, which it will replace.
struct Replacement: ~Copyable {
  /// The new file, open and locked until it has replaced the old one.
  let temporary: TemporaryFile
  /// The folder of both files; `nil` if it cannot be read.
  private let folder: OpenFile?
  private let path: String
  /// The status of the old file at the beginning.
  let existing: FileStatus?

  init(of url: URL) throws {
    let name = try OpenFile.path(of: url)
    let (path, existing) = try AtomicFile.target(of: name)
    if let existing {
      guard !existing.isFolder else { throw OpenFile.failure("write", name, EISDIR) }
      // A device must not be replaced by a regular file.
      guard existing.isRegular else {
        throw ArchiveError(.fileSystem, "cannot write the file “\(name)”: it is not a regular file")
      }
    }
    // The folder is opened first, so that a folder that cannot be opened fails before anything is changed.
    let folder = try Self.folder(AtomicFile.folder(of: path), named: name)
    // Only the owner may see the content until the permissions of the old file are copied.
    let temporary = try TemporaryFiles(of: path).create(named: name, permissions: existing == nil ? 0o666 : 0o600)
    do {
      if let existing { try temporary.file.adopt(existing) }
    } catch {
      OpenFile.remove(temporary.path)
      throw error
    }
    self.folder = folder
    self.temporary = temporary
    self.path = path
    self.existing = existing
  }

  private static func folder(_ path: String, named name: String) throws -> OpenFile? {
    do { return try OpenFile(folder: path, named: name) } catch let error as ArchiveError {
      // A folder may be writable but not readable. Such a folder cannot be synchronized.
      guard (error.underlyingError as? POSIXError)?.code == .EACCES else { throw error }
      return nil
    }
  }

  /// Removes the new file and returns `error`, so that a caller needs only one line.
  func abandon(_ error: any Error) -> any Error {
    OpenFile.remove(temporary.path)
    return error
  }

  /// Replaces the old file by the new one.
  ///
  /// - Parameter isExclusive: whether to throw if the path now refers to a different file than at the beginning.
  consuming func commit(isExclusive: Bool = false) throws {
    do {
      try temporary.file.synchronize()
      // Network volumes report some errors only when a file is closed. A duplicate is closed, so that the lock lasts.
      try temporary.file.duplicate().finish()
      if isExclusive { try putExclusively() } else { try AtomicFile.move(temporary.path, to: path) }
    } catch { throw abandon(error) }
    // Without a readable folder, the durability of the new name depends on the file system.
    if let folder { try folder.synchronize() } else { try temporary.file.synchronize() }
  }

  private borrowing func putExclusively() throws {
    let found = try FileStatus(ofPath: path)
    if let existing {
      guard let found, found.isOfSameFile(as: existing) else { throw changed() }
      return try AtomicFile.move(temporary.path, to: path)
    }
    guard try found == nil && AtomicFile.move(temporary.path, toNew: path) else { throw changed() }
  }

  private borrowing func changed() -> ArchiveError {
    ArchiveError(
      .fileInUse,
      "the file “\(path)” was replaced by another program after writing began; try again")
  }
}
