internal import Foundation
internal import StrataCore

/// The state of the file at the output path of an archive, which determines whether the file may be replaced.
enum ExistingArchive {
  case absent
  /// The file is the archive that the journal records, with the same size and checksum.
  case intact
  /// The file has the recorded size, but the journal entry is too old to contain a checksum.
  case unchecked
  /// The file differs from the journal entry and is not a readable archive.
  case damaged
  /// The file differs from the journal entry but is a readable archive.
  case changed
  /// The journal has no entry for the file.
  case foreign
  /// The path is a symbolic link, a folder, or anything else that is not a regular file.
  case irregular

  /// - Parameters:
  ///   - status: the status of the file, or `nil` if the file does not exist.
  ///   - entry: the journal entry for the archive.
  /// - Throws: an error if the file cannot be read, because its state is then unknown.
  /// - Complexity: linear in the size of the file if the journal has an entry for it.
  init(_ path: String, _ status: FileStatus?, _ entry: ConversionJournal.Entry?) throws {
    guard let status else {
      self = .absent
      return
    }
    guard status.isRegular else {
      self = .irregular
      return
    }
    guard let entry else {
      self = .foreign
      return
    }
    if status.size == entry.outputSize {
      guard let checksum = entry.checksum else {
        self = .unchecked
        return
      }
      if try Self.checksum(ofFile: path) == checksum {
        self = .intact
        return
      }
    }
    self = try Self.isReadable(path) ? .changed : .damaged
  }

  /// The reason why the file must not be replaced by different content, or `nil` if it may be replaced.
  var reasonToKeep: String? {
    switch self {
    case .absent, .intact, .unchecked, .damaged: nil
    case .changed: "the file was changed after convert created it; move it elsewhere"
    case .foreign: "the file already exists and was not created by convert; move it elsewhere"
    case .irregular: "the file already exists and is not a regular file; move it elsewhere"
    }
  }

  private static func checksum(ofFile path: String) throws -> UInt32 {
    let file = try OpenFile(reading: URL(fileURLWithPath: path))
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    var checksum: UInt32 = 0
    while true {
      let count = try file.readSome(into: &buffer, from: 0)
      guard count > 0 else { return checksum }
      checksum = Checksum.crc32(
        of: buffer.bytes.extracting(first: count), continuing: checksum)
    }
  }

  /// Returns whether a file is an archive that can be read to its end. An archive with a newer format or model version,
  /// or beyond the limits, is also treated as readable, because a different program might be able to read it.
  private static func isReadable(_ path: String) throws -> Bool {
    do {
      let file = try InputFile(path: path)
      guard case .archive = file.format else { return false }
      _ = try file.walk { _, _ in }
      return true
    } catch let error as ToolError {
      switch error.code {
      case nil, .fileSystem?: throw error
      case .newerFormat?, .newerModel?, .limitExceeded?: return true
      default: return false
      }
    }
  }
}
