internal import Foundation
internal import StrataCore

/// What earlier runs have put into a folder: a line of JSON for each file that was converted, added when it is.
///
/// A run that is killed leaves at worst half a line at the end, and an archive without a line, which is made again.
final class ConversionJournal {
  struct Entry: Sendable, Equatable {
    let file: String
    let size: Int
    let modified: Int64
    let outputSize: Int
    /// The CRC-32 of the archive; `nil` in a journal of before there were any.
    let checksum: UInt32?
    /// The text of the conversion.
    let conversion: String
  }

  static let name = ".strata-convert.jsonl"

  /// The last line of each file.
  let entries: [String: Entry]
  private let path: String
  /// The open journal; `nil` where it is only read.
  private let file: OpenFile?

  /// The journal of a folder, which no other run may write at the same time.
  ///
  /// - Parameter isDry: whether it is only read.
  init(folder: String, isDry: Bool) throws {
    path = folder + "/" + Self.name
    let url = URL(fileURLWithPath: path)
    let existing = try FileStatus(ofPath: path)
    guard existing?.isRegular ?? true else { throw ToolError("\(path): the journal is no regular file") }
    guard !isDry else {
      file = nil
      entries = existing == nil ? [:] : Self.parse(try AtomicFile.read(url))
      return
    }
    let file = try OpenFile(growing: url)
    // Before it is read: what another run adds must not be missed.
    if case .isHeld = try file.lock() {
      throw ToolError("\(folder): another run is converting into this folder")
    }
    entries = try Self.parse(AtomicFile.read(url))
    // What follows half a line must not become a part of it.
    if try file.status().size > 0 { try file.writeAll([UInt8(ascii: "\n")].bytes) }
    self.file = consume file
  }

  private static func parse(_ bytes: [UInt8]) -> [String: Entry] {
    var entries: [String: Entry] = [:]
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      // Half a line is what a killed run leaves, and a damaged one says nothing that can be trusted. Its file is converted
      // once more, and an archive that is in its place stays unless it holds the same.
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
      "checksum": entry.checksum.map { .integer($0) } ?? .null,
      "conversion": .string(entry.conversion),
    ])
    line.append(UInt8(ascii: "\n"))
    try file?.writeAll(line.bytes)
  }
}
