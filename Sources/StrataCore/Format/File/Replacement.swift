import Foundation

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// A new file beside the old one, which it will replace.
struct Replacement: ~Copyable {
  /// Open and locked until it has its name.
  let temporary: TemporaryFile
  /// `nil` where the folder cannot be read.
  private let folder: OpenFile?
  private let path: String
  /// What lay there when this began.
  let existing: FileStatus?

  init(of url: URL) throws {
    let name = try OpenFile.path(of: url)
    let (path, existing) = try AtomicFile.target(of: name)
    if let existing {
      guard !existing.isFolder else { throw OpenFile.failure("write", name, EISDIR) }
      // A device would be replaced by a file of that name.
      guard existing.isRegular else {
        throw ArchiveError(.fileSystem, "cannot write the file “\(name)”: it is not a regular file")
      }
    }
    // Opened first, so that a folder which cannot be synchronized fails before anything is changed.
    let folder = try Self.folder(AtomicFile.folder(of: path), named: name)
    // Until the permissions of the old file are taken over, only the owner sees the content.
    let temporary = try TemporaryFiles(of: path).make(named: name, permissions: existing == nil ? 0o666 : 0o600)
    do {
      if let existing { try temporary.file.adopt(existing) }
    } catch {
      _ = SystemCall.make(.unlink) { unlink(temporary.path) }
      throw error
    }
    self.folder = folder
    self.temporary = temporary
    self.path = path
    self.existing = existing
  }

  private static func folder(_ path: String, named name: String) throws -> OpenFile? {
    do { return try OpenFile(folder: path, named: name) } catch let error as ArchiveError {
      // One may write to a folder and not read it. It cannot be synchronized then.
      guard (error.underlyingError as? POSIXError)?.code == .EACCES else { throw error }
      return nil
    }
  }

  /// Removes the new file and returns `error`, so that a caller can throw both in one line.
  func abandon(_ error: any Error) -> any Error {
    _ = SystemCall.make(.unlink) { unlink(temporary.path) }
    return error
  }

  /// Puts the new file in the place of the old one.
  ///
  /// - Parameter isExclusive: whether what lies there now must be what lay there when this began.
  consuming func commit(isExclusive: Bool = false) throws {
    do {
      try temporary.file.synchronize()
      // Network volumes tell some failures only when a file is closed, and the lock must last longer.
      try temporary.file.duplicate().finish()
      if isExclusive { try putExclusively() } else { try AtomicFile.move(temporary.path, to: path) }
    } catch { throw abandon(error) }
    // A folder that cannot be read is not synchronized; what the file system does for a file that was renamed remains.
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
      "the file “\(path)” is not the one that was there when writing began; another program wrote it meanwhile")
  }
}
