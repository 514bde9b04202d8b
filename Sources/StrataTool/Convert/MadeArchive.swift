internal import Foundation
internal import StrataCore

/// What is at the path where a folder's conversion puts an archive, and whether it may be replaced.
enum MadeArchive {
  case absent
  /// What the journal says that a run has written.
  case intact
  /// A journal of before checksums names an archive of this size.
  case unchecked
  /// A run has written an archive here, and what is here now cannot be read as one.
  case damaged
  /// A run has written another archive here.
  case changed
  /// No run has written anything here.
  case foreign
  /// A link, a folder or the like.
  case irregular

  /// - Parameters:
  ///   - status: what the system knows of the file; `nil` where there is none.
  ///   - entry: what the journal has for it.
  /// - Throws: where the file cannot be read, which says nothing of what it is.
  /// - Complexity: linear in the size of the file, where the journal knows it.
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

  /// Why the file must not be replaced by other bytes; `nil` where it may.
  var reasonToStay: String? {
    switch self {
    case .absent, .intact, .unchecked, .damaged: nil
    case .changed: "has been changed since a run of convert made it; move it away"
    case .foreign: "is there already, and no run of convert has made it; move it away"
    case .irregular: "is there already, and is no regular file"
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

  /// Whether a file is an archive that reads from end to end, or may be one for who knows more: of a newer format, or
  /// beyond the limits.
  private static func isReadable(_ path: String) throws -> Bool {
    do {
      let file = try InputFile(path: path)
      guard case .archive = file.kind else { return false }
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
