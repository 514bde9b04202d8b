internal import Foundation
internal import StrataCore

/// The description of an archive: its stamp and, if the body was read, its types and values.
struct Inspection {
  let path: String
  let stamp: Stamp
  let fileSize: Int
  /// The number of models and of uncompressed bytes in the whole file; `nil` if the end of a stream was not found.
  private(set) var total: (count: UInt64, plainSize: UInt64)?
  /// The number of records of each type and version, in order of first occurrence; `nil` if no body was read.
  private(set) var types: [(mark: String, type: String, version: Int?, count: Int)]?
  /// The value of the archive, or the first models of a stream.
  private(set) var values: [ArchiveValue]?

  /// - Parameter mostValues: the maximum number of models that are kept from a stream.
  init(_ file: InputFile, mostValues: Int, limits: ArchiveLimits) throws {
    path = file.path
    var kept: [ArchiveValue] = []
    var census = TypeCensus()
    let walk = try file.walk(limits: limits) { _, values in
      for value in values { census.add(value) }
      // The value of a single-value archive is always kept.
      kept += values.prefix(max(kept.isEmpty ? 1 : 0, mostValues - kept.count))
    }
    guard let first = walk.first else { throw ToolError("\(path): the file is empty") }
    stamp = first
    fileSize = walk.fileSize
    total = (walk.count, walk.plainSize)
    types = census.types
    values = kept
  }

  /// Reads only the stamps, without inflating the file.
  init(stampOf file: DataFile) throws {
    path = file.path
    (stamp, fileSize, total) = try ToolError.at(path) {
      let stamp = try MemberReader.stamp(ofFile: file.url)
      let end = stamp.kind == .single ? stamp : try MemberReader.endStamp(ofFile: file.url)
      return (stamp, try OpenFile(reading: file.url).status().size, end.map { ($0.count, $0.plainSize) })
    }
  }

  var count: UInt64 { total?.count ?? 0 }

  /// The fields of the stamp, and the sizes, as rows of text.
  var rows: [(name: String, text: String)] {
    var rows: [(name: String, text: String)] = [
      ("file", path.onOneLine),
      ("format", "\(stamp.formatVersion)\(stamp.kind == .single ? "" : ", a stream")"),
      ("type", stamp.typeName.onOneLine),
      ("model version", stamp.modelVersion.map(String.init) ?? "none"),
      ("fingerprint", hexadecimal(stamp.fingerprint)),
    ]
    if let total {
      rows += [
        ("count", total.count.grouped),
        ("plain size", total.plainSize.counted("byte")),
        ("file size", fileSize.counted("byte")),
        ("ratio", ratio(total.plainSize, UInt64(fileSize)) + " : 1"),
      ]
    } else {
      rows += [("file size", fileSize.counted("byte")), ("count", "unknown because the stream has no end member")]
    }
    return rows
  }

  /// The types of the records, with the number of records of each type, as rows of text.
  var typeRows: [(name: String, text: String)] {
    (types ?? []).enumerated().map { place, type in
      (place == 0 ? "types" : "", "\(type.mark.onOneLine)  \(type.count.counted("record"))")
    }
  }

  /// Returns the header lines that precede the values. No line is wider than `width`.
  func lines(width: Int, isColoured: Bool) -> [String] {
    func row(_ name: String, _ text: String) -> String { LegacyDocument.row(name, text, width, isColoured) }
    var lines = rows.map { row($0.0, $0.1) }
    if let types {
      let marks = types.map(\.mark.onOneLine)
      // The names are padded to at most 42 terminal columns. A longer name shifts only the count in its own line.
      let column = min(marks.map(\.terminalWidth).max() ?? 0, 40) + 2
      lines += types.isEmpty ? [row("types", "none")] : []
      for (place, type) in types.enumerated() {
        let count = type.count.counted("record")
        // A long name is cut so that the count remains visible.
        let mark = width < .max ? marks[place].cut(to: max(width - 17 - count.count, 1)) : marks[place]
        let room = width < .max ? min(column, max(width - 15 - count.count, 0)) : column
        lines.append(row(place == 0 ? "types" : "", mark.padded(to: max(room, mark.terminalWidth + 2)) + count))
      }
    }
    return lines
  }

  var json: ArchiveValue {
    var stampValue: ArchiveObject = [
      "format": .integer(stamp.formatVersion),
      "kind": .string("\(stamp.kind)"),
      "type": .string(stamp.typeName),
      "modelVersion": .orNull(stamp.modelVersion),
      "fingerprint": .string(hexadecimal(stamp.fingerprint)),
      "count": .orNull(total?.count),
      "plainSize": .orNull(total?.plainSize),
      "fileSize": .integer(fileSize),
    ]
    if let total, fileSize > 0 { stampValue["ratio"] = .double(Double(total.plainSize) / Double(fileSize)) }
    var result: ArchiveObject = ["file": .string(path), "stamp": .object(stampValue)]
    if let types {
      result["types"] = .array(
        types.map {
          [
            "type": .string($0.type), "modelVersion": .orNull($0.version),
            "count": .integer($0.count),
          ]
        })
    }
    if let values {
      let described = values.map(\.describedForJSON)
      result["value"] = stamp.kind == .single ? described.first ?? .null : .array(described)
    }
    return .object(result)
  }
}

extension ArchiveValue {
  /// The value in a form that JSON can represent. Records become `{"record": "Issue@3", "fields": {…}}`.
  fileprivate var describedForJSON: ArchiveValue {
    switch self {
    case .record(let record):
      return ["record": .string(record.shape.mark), "fields": ArchiveValue.object(record.object).describedForJSON]
    case .reference(let number): return ["reference": .integer(number)]
    case .graph(let graph):
      return ["objects": .array(graph.objects.map(\.describedForJSON)), "root": graph.root.describedForJSON]
    case .double(let number) where !number.isFinite: return .string(number.description)
    case .float(let number) where !number.isFinite: return .string(number.description)
    default: return mapInside(\.describedForJSON)
    }
  }
}
