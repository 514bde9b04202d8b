import Foundation

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// The temporary files of the writers of one file, which lie in its folder: `.strata-`, a checksum of the file's name in 16
/// hexadecimal digits, `-`, a number, `.tmp`.
///
/// A writer holds the lock of its own from the beginning to the end. So one that nobody holds was left by a writer that was
/// killed, and the next writer of the same file removes it.
package struct TemporaryFiles {
  /// How many writers of one file have numbers. Others take a name that nobody can guess, and nobody removes.
  private static let most = 16

  private let folder: String
  private let mark: String

  /// - Parameters:
  ///   - folder: the folder of the file.
  ///   - name: its name.
  init(in folder: String, of name: String) {
    self.folder = folder
    // FNV-1a with 64 bits: it only has to be the same in every process.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    let digits = String(hash, radix: 16)
    mark = String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Whether a file name is one of a temporary file, of whatever writer.
  package static func isTemporary(_ name: some StringProtocol) -> Bool {
    name.hasPrefix(".strata-") && name.hasSuffix(".tmp")
  }

  private func path(_ end: String) -> String { "\(folder)/.strata-\(mark)-\(end).tmp" }

  /// A new file with its path, locked until it is closed; removes what killed writers left.
  ///
  /// - Parameters:
  ///   - name: the path that error messages name.
  ///   - permissions: those of the new file that the process leaves to new files.
  func make(named name: String, permissions: UInt32) throws -> TemporaryFile {
    var made: TemporaryFile?
    for number in 0..<Self.most {
      let path = path(String(number, radix: 16))
      removeAbandoned(path, named: name)
      // One that exists belongs to another writer, or to nobody who can be asked.
      guard made == nil, let file = try Self.create(path, named: name, permissions: permissions) else { continue }
      if try Self.isOurs(file) { made = TemporaryFile(path: path, file: file) }
    }
    if let made = made.take() { return made }
    let path = path(String(UInt64.random(in: .min ... .max), radix: 16))
    return TemporaryFile(path: path, file: try OpenFile(creating: path, named: name, permissions: permissions))
  }

  /// A new file; `nil` where there is one already.
  private static func create(_ path: String, named name: String, permissions: UInt32) throws -> OpenFile? {
    do { return try OpenFile(creating: path, named: name, permissions: permissions) } catch let error as ArchiveError {
      guard (error.underlyingError as? POSIXError)?.code == .EEXIST else { throw error }
      return nil
    }
  }

  /// Takes the lock of a new file, unless another writer took it for one that was left.
  private static func isOurs(_ file: borrowing OpenFile) throws -> Bool {
    switch try file.lock() {
    case .isHeld: false
    case .taken, .isUnknown: try file.status().linkCount > 0
    }
  }

  private func removeAbandoned(_ path: String, named name: String) {
    // What cannot be asked stays: it may be anybody's, and a new file takes another name.
    guard let file = try? OpenFile(locking: path, named: name), let status = try? file.status(), status.isRegular,
      status.owner == UInt32(geteuid()), case .taken? = try? file.lock(),
      let there = try? FileStatus(ofPath: path), there.isOfSameFile(as: status)
    else { return }
    _ = SystemCall.make(.unlink) { unlink(path) }
  }
}

/// An open temporary file. Its lock lasts until it is closed.
struct TemporaryFile: ~Copyable {
  let path: String
  let file: OpenFile
}
