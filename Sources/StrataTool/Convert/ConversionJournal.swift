internal import Foundation
internal import StrataCore

/// The record of earlier runs in an output folder: one line of JSON per converted file, appended after its archive.
///
/// A killed run leaves at most one partial line at the end, and archives without a line, which are converted again.
final class ConversionJournal {
  struct Entry: Sendable, Equatable {
    let file: String
    let size: Int
    let modified: Int64
    let outputSize: Int
    /// The CRC-32 of the archive; `nil` in journals written before checksums were added.
    let checksum: UInt32?
    /// The options of the conversion, as ``LegacyConversion/text``.
    let conversion: String
  }

  static let name = ".strata-convert.jsonl"

  /// The last entry of each file.
  let entries: [String: Entry]
  private let path: String
  /// The open journal; `nil` if it is only read.
  private let file: OpenFile?

  /// Opens the journal of a folder. No other run may write to it at the same time.
  ///
  /// - Parameter isDry: whether the journal is only read.
  init(folder: String, isDry: Bool) throws {
    path = folder + "/" + Self.name
    let url = URL(fileURLWithPath: path)
    let existing = try FileStatus(ofPath: path)
    guard existing?.isRegular ?? true else { throw ToolError("\(path): the journal is not a regular file") }
    guard !isDry else {
      file = nil
      entries = existing == nil ? [:] : Self.parse(try AtomicFile.read(url))
      return
    }
    let file = try OpenFile(growing: url)
    // The lock is taken before reading, so that no line of another run is missed.
    if case .heldByOther = try file.lock() {
      throw ToolError("\(folder): another run is converting into this folder")
    }
    entries = try Self.parse(AtomicFile.read(url))
    // Ends a partial last line, so that the next entry does not become a part of it.
    if try file.status().size > 0 { try file.writeAll([UInt8(ascii: "\n")].bytes) }
    self.file = consume file
  }

  private static func parse(_ bytes: [UInt8]) -> [String: Entry] {
    var entries: [String: Entry] = [:]
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      // Skips damaged lines and the partial line of a killed run. Their files are converted again, and an existing
      // archive stays unless the new one has the same bytes.
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
