import Foundation

/// A new file that will replace an old file in the same folder.
struct Replacement: ~Copyable {
  /// The new file, open and locked until it has replaced the old file.
  let temporary: TemporaryFile
  /// The folder of both files; `nil` if the folder cannot be read.
  private let folder: OpenFile?
  private let path: String
  /// The status of the old file when this value was created; `nil` if there was no old file.
  let existing: FileStatus?

  init(of url: URL) throws {
    let name = try OpenFile.path(of: url)
    let (path, existing) = try AtomicFile.target(of: name)
    if let existing {
      guard !existing.isFolder else { throw OpenFile.failure("write", name, EISDIR) }
      // Only a regular file may be replaced. Other kinds of files, such as devices, are rejected.
      guard existing.isRegular else {
        throw ArchiveError(.fileSystem, "the file “\(name)” cannot be written because it is not a regular file")
      }
    }
    // The folder is opened first, because nothing may be changed if the folder cannot be opened.
    let folder = try Self.folder(AtomicFile.folder(of: path), named: name)
    // Until the permissions of the old file have been copied, only the owner may read the content.
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
      // A folder that is writable but not readable cannot be opened. The file is then replaced without synchronizing the folder.
      guard (error.underlyingError as? POSIXError)?.code == .EACCES else { throw error }
      return nil
    }
  }

  /// Removes the new file and returns `error` for the caller to throw.
  func abandon(_ error: any Error) -> any Error {
    OpenFile.remove(temporary.path)
    return error
  }

  /// Replaces the old file with the new file.
  ///
  /// - Parameter isExclusive: whether to throw `fileInUse` if a different file is now at the path of the old file.
  consuming func commit(isExclusive: Bool = false) throws {
    do {
      try temporary.file.synchronize()
      // Network volumes report some errors only when a descriptor is closed. Closing a duplicate descriptor reports them and keeps the file
      // locked.
      try temporary.file.duplicate().finish()
      if isExclusive { try putExclusively() } else { try AtomicFile.move(temporary.path, to: path) }
    } catch { throw abandon(error) }
    // A folder that could not be opened cannot be synchronized. The file is then synchronized instead, but on some file
    // systems its new name may not survive a power failure.
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
      "another program replaced the file “\(path)” while it was being written; try again")
  }
}
