import Foundation

/// A new file in the same folder as an old file, which the new file will replace.
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
      // A device, for example, must not be replaced by a regular file.
      guard existing.isRegular else {
        throw ArchiveError(.fileSystem, "the file “\(name)” cannot be written because it is not a regular file")
      }
    }
    // The folder is opened first, so that a folder that cannot be opened fails before anything is changed.
    let folder = try Self.folder(AtomicFile.folder(of: path), named: name)
    // Only the owner may read the content until the permissions of the old file have been copied.
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
      // A folder that is writable but not readable cannot be opened for synchronizing.
      guard (error.underlyingError as? POSIXError)?.code == .EACCES else { throw error }
      return nil
    }
  }

  /// Removes the new file. Returns `error`, so that a caller can throw it in the same statement.
  func abandon(_ error: any Error) -> any Error {
    OpenFile.remove(temporary.path)
    return error
  }

  /// Replaces the old file with the new file.
  ///
  /// - Parameter isExclusive: whether to throw `fileInUse` if the path no longer refers to the old file.
  consuming func commit(isExclusive: Bool = false) throws {
    do {
      try temporary.file.synchronize()
      // Network volumes report some errors only when a file is closed. Only a duplicate is closed, so that the file
      // stays locked.
      try temporary.file.duplicate().finish()
      if isExclusive { try putExclusively() } else { try AtomicFile.move(temporary.path, to: path) }
    } catch { throw abandon(error) }
    // If the folder cannot be synchronized, it depends on the file system whether the new name survives a power
    // failure.
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
      "another program replaced the file “\(path)” during the write; try again")
  }
}
