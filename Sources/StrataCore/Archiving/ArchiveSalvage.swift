public import Foundation

/// Writes the intact parts of a damaged archive to a new archive.
///
///     let report = try ArchiveSalvage.salvage(damaged, to: rescued)
///     for gap in report.gaps { print(gap) }
///
/// A salvaged stream contains every member that can be read, because each member has its own checksum. A truncated archive of
/// one value is salvaged up to the truncation. An archive of one value that is damaged in any other way is rejected, because
/// its parts have no checksums of their own.
public enum ArchiveSalvage {
  /// Whether the output contains all values of the input, and whether checksums have verified them.
  public enum Outcome: String, Sendable {
    /// The output contains all models, and checksums verify them.
    case complete
    /// The output contains all values, but the checksum at the end of the archive is missing, so any value can be wrong.
    case unverified
    /// Models or values are missing, or bytes follow an archive of one value. If the input is a truncated archive of one value, the values
    /// in the output are also not verified, because the only checksum is at the end of an archive.
    case partial
  }

  /// The result of a salvage.
  public struct Report: Sendable {
    /// The stamp of the first member that was read.
    public internal(set) var stamp: Stamp
    /// The number of models that were written to the output.
    public internal(set) var modelCount: UInt64
    /// The missing parts of a stream, in file order. For an archive of one value, this is the range of bytes after the archive, if there
    /// are any.
    public internal(set) var gaps: [StreamGap] = []
    /// The path at which a truncated value ends. Everything after that path is missing. The path is empty if the value is
    /// complete, or if it is truncated before its first part or inside a key.
    public internal(set) var cutPath: [ArchiveError.PathComponent] = []
    /// The file with the readable members that are not known to belong to the stream; `nil` if there are no such members.
    public internal(set) var unprovenFile: URL?
    /// The number of models in ``unprovenFile``.
    public internal(set) var unprovenCount: UInt64 = 0
    /// How complete the output is, compared with the input.
    public internal(set) var outcome: Outcome

    /// Whether the output contains all models of the input, and checksums verify them.
    public var isComplete: Bool { outcome == .complete }
  }

  /// Reads a damaged archive and writes its intact parts to a new file. An existing output file is replaced once the new file
  /// is complete.
  ///
  /// After damage, bytes inside a model can look like members of the stream. Members that are not known to belong to the stream
  /// are therefore written to a separate stream next to the output, named `OUTPUT.unproven`. An existing file with that name is
  /// replaced. If no member is known to belong to the stream, the output itself is not written.
  ///
  /// - Parameters:
  ///   - input: the damaged archive, which is not changed.
  ///   - output: the file to write, which must be a different file.
  ///   - limits: limits on the content of the archive, such as the length of a string.
  /// - Throws: ``ArchiveError`` with the code `fileSystem`, `fileInUse` or `limitExceeded`, or the error thrown while reading the archive
  ///   if no part of it can be read. No file is written in that case.
  /// - Complexity: linear in the size of the file. One member at a time is held in memory.
  public static func salvage(_ input: URL, to output: URL, limits: ArchiveLimits = ArchiveLimits()) throws -> Report {
    let own = try OpenFile(reading: input).status()
    let path = try OpenFile.path(of: output)
    for path in [path, path + unprovenSuffix] {
      if let other = try AtomicFile.target(of: path).status, other.isOfSameFile(as: own) {
        throw ArchiveError(
          .fileSystem, "the output path \(path) is the damaged archive itself; choose a different path")
      }
    }
    // A file whose first header is damaged is read as a stream, because more members may follow. An archive of one value has only
    // one member.
    var isSingle = false
    do { isSingle = try MemberReader.stamp(ofFile: input).kind == .single } catch let error as ArchiveError {
      guard error.isDamage else { throw error }
    }
    return try isSingle ? salvageValue(input, output, limits) : salvageStream(input, output, limits)
  }

  private static let unprovenSuffix = ".unproven"

  private static func salvageStream(_ input: URL, _ output: URL, _ limits: ArchiveLimits) throws -> Report {
    var members = try StreamMembers(of: input, limits: limits, damage: .skips)
    let proven = SalvagedStream(at: output)
    let unproven = SalvagedStream(at: URL(fileURLWithPath: try OpenFile.path(of: output) + unprovenSuffix))
    let context = DecodingContext(limits: limits)
    func count(_ stamp: Stamp, _ body: [UInt8], _ size: Int) throws -> Int {
      guard stamp.kind == .member else { return 0 }
      context.budget.begin(fileSize: size)
      var reader = ArchiveReader(body.bytes, context: context)
      try reader.beginBody()
      let values = try reader.readRootValues()
      try reader.endBody()
      return values.count
    }
    members.unproven = { stamp, body, size in
      do {
        guard try UInt64(count(stamp, body, size)) == stamp.count else { return }
        try unproven.add(stamp, body, size)
      } catch let error as ArchiveError where error.isDamage {}
    }
    var failure: ArchiveError?
    do {
      while let member = try members.next({ ($0, $1, $2, try count($0, $1, $2)) }, count: { $0.3 }) {
        try proven.add(member.0, member.1, member.2)
      }
    } catch let error as ArchiveError {
      guard members.first == nil, error.isDamage else { throw error }
      failure = error
    }
    guard let first = members.first ?? unproven.first else {
      throw failure ?? ArchiveError(.notAnArchive, "the file contains no readable part of an archive")
    }
    if members.first != nil { try proven.finish(first) }
    if let first = unproven.first { try unproven.finish(first) }
    let gaps = members.gaps
    return Report(
      stamp: first, modelCount: proven.count, gaps: gaps, unprovenFile: unproven.first.map { _ in unproven.url },
      unprovenCount: unproven.count, outcome: gaps.isEmpty && failure == nil ? .complete : .partial)
  }

  private static func salvageValue(_ input: URL, _ output: URL, _ limits: ArchiveLimits) throws -> Report {
    let own = try OpenFile(reading: input).status().size
    var whole = try MemberReader(url: input, limits: limits)
    let context = DecodingContext(limits: limits)
    do {
      guard let (stamp, body) = try whole.next() else { throw ArchiveError(.truncated, "the file is empty") }
      context.budget.begin(fileSize: own)
      var reader = ArchiveReader(body.bytes, context: context)
      try reader.beginBody()
      let value = try reader.readValue()
      try reader.endBody()
      try write(value, stamp, output, limits)
      // Bytes after the archive are reported but not read, because they may be another archive.
      let end = whole.offset
      let rest = StreamGap(
        bytes: end..<max(end, own), memberCount: nil,
        error: ArchiveError(.damaged, "the file has bytes after the end of the archive", byteOffset: end))
      return Report(
        stamp: stamp, modelCount: 1, gaps: rest.bytes.isEmpty ? [] : [rest],
        outcome: rest.bytes.isEmpty ? .complete : .partial)
    } catch let error as ArchiveError where error.code == .truncated {
      var cut = try MemberReader(url: input, limits: limits)
      let (stamp, body) = try cut.nextCut()
      var reader = ArchiveReader(body.bytes, context: context)
      guard body.count > 3 else { throw error }
      context.budget.begin(fileSize: own)
      try reader.beginBody()
      let (found, isWhole) = try reader.readCutValue()
      guard let value = found.value, isWhole || !value.isEmptyCollection else { throw error }
      // The fingerprint and the count in the archive's stamp describe the complete value, so a truncated value needs a different
      // fingerprint and count.
      var known = stamp
      if !isWhole { known.fingerprint = 0 }
      known.setCount(of: value)
      try write(value, known, output, limits)
      return Report(
        stamp: stamp, modelCount: 1, cutPath: found.path, outcome: isWhole ? .unverified : .partial)
    }
  }

  private static func write(_ value: ArchiveValue, _ stamp: Stamp, _ output: URL, _ limits: ArchiveLimits) throws {
    try AtomicFile.write(ArchiveEncoder(limits: limits).archive(stamp) { try $0.write(value) }, to: output)
  }
}

extension ArchiveValue {
  /// Whether the value consists only of collections, objects and records, without any scalar values.
  fileprivate var isEmptyCollection: Bool {
    switch self {
    case .array(let elements), .set(let elements): elements.allSatisfy(\.isEmptyCollection)
    case .object(let object): object.entries.allSatisfy { $0.value.isEmptyCollection }
    case .record(let record): record.values.allSatisfy(\.isEmptyCollection)
    case .map(let entries): entries.isEmpty
    case .graph(let graph): graph.root.isEmptyCollection
    case .null, .bool, .int, .uint, .wideInteger, .float, .double, .decimal, .number, .string, .data, .date, .url,
      .uuid,
      .reference:
      false
    }
  }
}

extension ArchiveSalvage.Report: CustomStringConvertible {
  /// A one-line summary of the written and the missing parts.
  public var description: String {
    var parts = ["\(outcome.rawValue): \(modelCount.counting("model")) of \(stamp.typeName)"]
    switch outcome {
    case .unverified: parts.append("the checksum at the end is missing, so any value can be wrong")
    case .partial where stamp.kind == .single && gaps.isEmpty:
      parts.append("truncated at \(cutPath.isEmpty ? "the beginning" : ArchiveError.describe(cutPath))")
    case .partial, .complete: break
    }
    if unprovenFile != nil {
      parts.append("\(unprovenCount.counting("model")) that may not belong to the stream, in a separate file")
    }
    return (parts + gaps.map { "missing \($0)" }).joined(separator: "; ").onOneLine
  }
}
