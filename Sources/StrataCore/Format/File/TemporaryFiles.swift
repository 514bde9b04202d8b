package import Foundation

/// Creates and removes the temporary files and folders that writers of one file use. They are in the same folder as that file. A temporary
/// file is named `.strata-CHECKSUM-NUMBER.tmp`, where `CHECKSUM` is a checksum of the written file's name in 16 hexadecimal digits.
///
/// A writer holds the lock of its temporary file until it has finished. If a temporary file is not locked, a killed writer left it behind,
/// and the next writer of the same file removes it.
package struct TemporaryFiles {
  /// The number of numbered temporary names for each file. Additional simultaneous writers of the file use random names, and their
  /// temporary files are not removed after a crash.
  private static let most = 16

  private let folder: String
  private let mark: String

  /// Creates a manager for the temporary files of one file.
  ///
  /// - Parameter path: the path of the file to write, not of a temporary file.
  init(of path: String) {
    folder = AtomicFile.folder(of: path)
    let name = path.split(separator: "/").last.map(String.init) ?? path
    // 64-bit FNV-1a. The hash must be the same in every process.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    let digits = String(hash, radix: 16)
    mark = String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Returns whether `name` is the name of a temporary file of any writer.
  package static func isTemporary(_ name: some StringProtocol) -> Bool {
    name.hasPrefix(".strata-") && name.hasSuffix(".tmp")
  }

  private func path(_ end: String) -> String { "\(folder)/.strata-\(mark)-\(end).tmp" }

  /// Calls `body` with a new temporary folder next to a file. Afterwards, the folder and its files are removed. Use a folder if the work
  /// needs several files or a SQLite database. A single temporary file is locked, which could interfere with SQLite's own locks.
  ///
  /// - Throws: any error that `body` throws, and ``ArchiveError`` with the code `fileSystem`.
  package static func withFolder<R>(beside url: URL, _ body: (URL) throws -> R) throws -> R {
    let name = try OpenFile.path(of: url)
    let made = try TemporaryFiles(of: name).create(named: name) { path in
      guard SystemCall.perform(.makeFolder, { mkdir(path, 0o700) }) == 0 else { throw OpenFile.failure("write", name) }
      return try OpenFile(folder: path, named: name)
    }
    defer { removeFolder(made.path) }
    return try body(URL(fileURLWithPath: made.path, isDirectory: true))
  }

  /// Creates a temporary file. The file is locked until it is closed. Also removes temporary files that killed writers left behind.
  ///
  /// - Parameters:
  ///   - name: the path for error messages.
  ///   - permissions: the permissions of the new file. The umask of the process restricts them.
  func create(named name: String, permissions: UInt32) throws -> TemporaryFile {
    try create(named: name) { try OpenFile(creating: $0, named: name, permissions: permissions) }
  }

  private func create(named name: String, _ open: (String) throws -> OpenFile) throws -> TemporaryFile {
    removeAbandoned(named: name)
    for number in 0..<Self.most {
      let path = path(String(number, radix: 16))
      guard let file = try Self.openNew(path, open) else { continue }
      if try Self.isOurs(file, path) { return TemporaryFile(path: path, file: file) }
    }
    let path = path(String(UInt64.random(in: .min ... .max), radix: 16))
    return TemporaryFile(path: path, file: try open(path))
  }

  /// Creates a file or folder. Returns `nil` if another writer has just created or removed a file with the same name.
  private static func openNew(_ path: String, _ open: (String) throws -> OpenFile) throws -> OpenFile? {
    do { return try open(path) } catch let error as ArchiveError {
      guard [.EEXIST, .ENOENT].contains((error.underlyingError as? POSIXError)?.code) else { throw error }
      return nil
    }
  }

  /// Locks a new file. Returns `false` if another writer mistook the file for an abandoned one and has already locked or removed it.
  private static func isOurs(_ file: borrowing OpenFile, _ path: String) throws -> Bool {
    switch try file.lock() {
    case .heldByOther: false
    case .acquired, .unsupported: try FileStatus(ofPath: path)?.isOfSameFile(as: file.status()) ?? false
    }
  }

  /// Removes temporary files that killed writers left behind.
  ///
  /// - Parameter name: the path for error messages.
  func removeAbandoned(named name: String) {
    for number in 0..<Self.most { removeAbandoned(path(String(number, radix: 16)), named: name) }
  }

  private func removeAbandoned(_ path: String, named name: String) {
    // If any check fails, the file is kept, because it may not belong to the library. A new file then gets a different name.
    guard let file = try? OpenFile(locking: path, named: name), let status = try? file.status(),
      status.isRegular || status.isFolder, status.owner == UInt32(geteuid()), case .acquired? = try? file.lock(),
      let there = try? FileStatus(ofPath: path), there.isOfSameFile(as: status)
    else { return }
    if status.isFolder { return Self.removeFolder(path) }
    OpenFile.remove(path)
  }

  /// Removes a folder and the files in it. A folder with a subfolder is kept, because the library does not create subfolders.
  private static func removeFolder(_ path: String) {
    // If the folder cannot be listed, it is kept, and the next writer tries to remove it again.
    for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
      OpenFile.remove(path + "/" + name)
    }
    _ = SystemCall.perform(.unlink) { rmdir(path) }
  }
}

/// An open temporary file or folder. It is locked until it is closed.
struct TemporaryFile: ~Copyable {
  let path: String
  let file: OpenFile
}
