internal import Foundation
internal import StrataCore

/// The journal of earlier runs in an output folder. For each converted file, a line of JSON is appended after the
/// archive has been written.
///
/// A run that was killed can leave an incomplete last line, and archives that have no line yet. The files of these
/// archives are converted again.
final class ConversionJournal {
  struct Entry: Sendable, Equatable {
    let file: String
    let size: Int
    let modified: Int64
    let outputSize: Int
    /// The CRC-32 of the archive, or `nil` in journals that were written before checksums were added.
    let checksum: UInt32?
    /// The options of the conversion, in the form of ``LegacyConversion/text``.
    let conversion: String
  }

  static let name = ".strata-convert.jsonl"

  /// The last entry for each file, by the file's path.
  let entries: [String: Entry]
  private let path: String
  /// The open journal file, or `nil` in a dry run.
  private let file: OpenFile?

  /// Opens the journal of a folder. No other run can write to the journal at the same time.
  ///
  /// - Parameter isDry: whether the journal is only read, and not opened for writing.
  init(folder: String, isDry: Bool) throws {
    path = folder + "/" + Self.name
    let url = URL(fileURLWithPath: path)
    let existing = try FileStatus(ofPath: path)
    guard existing?.isRegular ?? true else {
      throw ToolError(
        "\(path): the journal is not a regular file; move it elsewhere")
    }
    guard !isDry else {
      file = nil
      entries = existing == nil ? [:] : Self.parse(try AtomicFile.read(url))
      return
    }
    let file = try OpenFile(growing: url)
    // The file is locked before it is read, so that no line written by a different run is missed.
    if case .heldByOther = try file.lock() {
      throw ToolError("\(folder): another run of convert is writing to the folder; wait until that run has finished")
    }
    entries = try Self.parse(AtomicFile.read(url))
    // Ends an incomplete last line, so that the next entry is not appended to it.
    if try file.status().size > 0 { try file.writeAll([UInt8(ascii: "\n")].bytes) }
    self.file = consume file
  }

  private static func parse(_ bytes: [UInt8]) -> [String: Entry] {
    var entries: [String: Entry] = [:]
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      // `try?` because damaged lines, and the incomplete line of a killed run, are skipped. The files of these lines
      // are converted again. Their existing archives are replaced only by identical archives.
      guard let value = try? JSONReader().read(Data(line)), let file = value["file"]?.stringValue,
        let size = value["size"]?.intValue, let modified = value["modified"]?.integer(as: Int64.self),
        let outputSize = value["outputSize"]?.intValue, let conversion = value["conversion"]?.stringValue
      else { continue }
      entries[file] = Entry(
        file: file, size: size, modified: modified, outputSize: outputSize,
        checksum: value["checksum"]?.integer(as: UInt32.self), conversion: conversion)
    }
    return entries
  }

  func add(_ entry: Entry) throws {
    guard file != nil else { return }
    var line = try JSONWriter().write([
      "file": .string(entry.file), "size": .integer(entry.size),
      "modified": .integer(entry.modified),
      "outputSize": .integer(entry.outputSize),
      "checksum": .orNull(entry.checksum),
      "conversion": .string(entry.conversion),
    ])
    line.append(UInt8(ascii: "\n"))
    try file?.writeAll(line.bytes)
  }
}
