public import Foundation

/// Writes what is intact of a damaged archive to a new one.
///
///     let report = try ArchiveSalvage.salvage(damaged, to: rescued)
///     for gap in report.gaps { print(gap) }
///
/// Of a stream, the members that read well: each has a checksum of its own. Of an archive of one value that breaks off, what
/// is complete before the break: an archive that is damaged elsewhere has no part whose checksum is right, and is refused.
public enum ArchiveSalvage {
  /// What a salvage came to.
  public struct Report: Sendable {
    /// The stamp of the first member that was read.
    public internal(set) var stamp: Stamp
    /// How many models were written.
    public internal(set) var modelCount: UInt64
    /// What is missing of a stream, in the order of the file.
    public internal(set) var gaps: [StreamGap] = []
    /// Where the value of an archive breaks off, and what follows is missing; empty where it breaks off before anything.
    public internal(set) var cutPath: [ArchiveError.PathComponent] = []
    /// Whether nothing is missing.
    public internal(set) var isComplete: Bool
  }

  /// Reads one file and writes another, which takes the place of what is there when it is finished.
  ///
  /// - Parameters:
  ///   - input: the damaged archive. It stays as it is.
  ///   - output: the file to write, which must be another one.
  ///   - limits: what the archive may claim.
  /// - Throws: ``ArchiveError`` with the code `fileSystem`, `fileInUse` or `limitExceeded`; the error of reading where nothing
  ///   of the archive can be read. No file is written then.
  /// - Complexity: linear in the size of the file. Memory holds a member at a time.
  public static func salvage(_ input: URL, to output: URL, limits: ArchiveLimits = ArchiveLimits()) throws -> Report {
    let own = try OpenFile(reading: input).status()
    if let other = try AtomicFile.target(of: OpenFile.path(of: output)).status, other.isOfSameFile(as: own) {
      throw ArchiveError(.fileSystem, "a file cannot be salvaged into itself; name another one to write")
    }
    // Where the first header is damaged, members of a stream may follow; an archive of one value has nothing else.
    var isSingle = false
    do { isSingle = try MemberReader.stamp(ofFile: input).kind == .single } catch let error as ArchiveError {
      guard error.isDamage else { throw error }
    }
    return try isSingle ? salvageValue(input, output, limits) : salvageStream(input, output, limits)
  }

  private static func salvageStream(_ input: URL, _ output: URL, _ limits: ArchiveLimits) throws -> Report {
    var members = try StreamMembers(of: input, limits: limits, damage: .skips)
    let file = try StreamFile(replacing: output, waiting: .zero)
    var total: (count: UInt64, plainSize: UInt64) = (0, 0)
    var number: UInt64 = 0
    let context = DecodingContext(limits: limits)
    while true {
      let member = try members.next { stamp, body, size -> (stamp: Stamp, body: [UInt8], size: Int, count: Int) in
        guard stamp.kind == .member else { return (stamp, [], 0, 0) }
        context.budget.begin(fileSize: size)
        var reader = ArchiveReader(body.bytes, context: context)
        try reader.beginBody()
        let values = try reader.readRootValues()
        try reader.endBody()
        return (stamp, body, size, values.count)
      } count: {
        $0.count
      }
      guard let member else { break }
      guard member.stamp.kind == .member else { continue }
      var stamp = member.stamp
      stamp.sequenceNumber = number
      var bytes: [UInt8] = []
      try Gzip.appendMember(body: member.body.bytes, stamp: stamp, minimumSize: member.size, to: &bytes)
      try file.write(bytes)
      number += 1
      total = (total.count + stamp.count, total.plainSize + stamp.plainSize)
    }
    // Before anything at all was read there would have been an error.
    guard let first = members.first else { throw ArchiveError(.notAnArchive, "the file holds no part of an archive") }
    var end = first
    (end.kind, end.sequenceNumber, end.count, end.plainSize) = (.end, number, total.count, total.plainSize)
    var bytes: [UInt8] = []
    try Gzip.appendMember(body: RawSpan(), stamp: end, to: &bytes)
    try file.write(bytes)
    try file.finish()
    let gaps = members.gaps
    return Report(stamp: first, modelCount: total.count, gaps: gaps, isComplete: gaps.isEmpty)
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
      return Report(stamp: stamp, modelCount: 1, isComplete: true)
    } catch let error as ArchiveError where error.code == .truncated {
      var cut = try MemberReader(url: input, limits: limits)
      let (stamp, body) = try cut.nextCut()
      var reader = ArchiveReader(body.bytes, context: context)
      guard body.count > 3 else { throw error }
      context.budget.begin(fileSize: own)
      try reader.beginBody()
      let (found, isWhole) = try reader.readCutValue()
      guard let value = found.value else { throw error }
      // What a record lacks, its fingerprint would claim.
      var known = stamp
      if !isWhole { known.fingerprint = 0 }
      try write(value, known, output, limits)
      return Report(stamp: stamp, modelCount: 1, cutPath: found.path, isComplete: isWhole)
    }
  }

  private static func write(_ value: ArchiveValue, _ stamp: Stamp, _ output: URL, _ limits: ArchiveLimits) throws {
    try AtomicFile.write(ArchiveEncoder(limits: limits).archive(stamp) { try $0.write(value) }, to: output)
  }
}

extension ArchiveSalvage.Report: CustomStringConvertible {
  /// One line: what was written, and what is missing.
  public var description: String {
    var parts = ["\(isComplete ? "complete" : "partial"): \(modelCount.counting("model")) of \(stamp.typeName)"]
    if !isComplete, stamp.kind == .single {
      parts.append("missing from \(cutPath.isEmpty ? "the beginning" : ArchiveError.describe(cutPath)) on")
    }
    return (parts + gaps.map { "missing \($0)" }).joined(separator: "; ").onOneLine
  }
}
