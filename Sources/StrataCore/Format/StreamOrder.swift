/// Checks the order of members in an archive (Docs/Format.md, section 11). All readers use this type, because they must
/// accept the same files.
package struct StreamOrder {
  /// The stamp of the first member.
  package private(set) var first: Stamp?
  /// The expected sequence number of the next member.
  package private(set) var next: UInt64 = 0
  /// The number of models in the members so far, and the total size of the bodies in bytes.
  package private(set) var total: (count: UInt64, plainSize: UInt64) = (0, 0)
  /// Whether the last member was an end member.
  package private(set) var isAtEnd = false
  /// The totals that the next end member must record, if no members are missing.
  private var sums: (count: UInt64, plainSize: UInt64) = (0, 0)
  /// Whether members after the last end member are missing. If so, the next end member may record larger totals.
  private var hasGaps = false

  package init() {}

  /// Creates a checker for the members that follow the end member with this stamp.
  init(after end: Stamp) {
    (first, next, isAtEnd) = (end, end.sequenceNumber &+ 1, true)
    total = (end.count, end.plainSize)
    sums = total
  }

  /// Checks that the member with this stamp may follow the previous members and advances past it.
  ///
  /// - Throws: ``ArchiveError`` with the code `damaged` if the member cannot follow the previous members.
  package mutating func accept(_ stamp: Stamp, _ place: StreamPlace = .unstated) throws {
    if let first {
      guard first.kind != .single else { throw Self.damage("the file has another member after the end of the archive") }
      guard stamp.kind != .single else { throw Self.damage("a member of the stream is a separate archive") }
      guard stamp.typeName == first.typeName else {
        throw Self.damage(
          "member \(next) of the stream contains models of type \(stamp.typeName), but the first member contains "
            + "models of type \(first.typeName)")
      }
    }
    try stamp.checkCount()
    // In an archive of one value, the position is not checked, because there is only one member.
    guard place != .wrong || stamp.kind == .single else {
      throw Self.damage(
        "member \(stamp.sequenceNumber) of the stream is at the wrong offset because bytes before it are missing or "
          + "were added")
    }
    guard stamp.sequenceNumber == next else {
      throw Self.damage(
        "found member \(stamp.sequenceNumber) of the stream where member \(next) is expected, so members are missing "
          + "or out of order")
    }
    if stamp.kind == .end {
      let isEqual = (stamp.count, stamp.plainSize) == sums
      guard isEqual || hasGaps && stamp.count >= sums.count && stamp.plainSize >= sums.plainSize else {
        throw Self.damage(
          "the end member specifies \(stamp.count) models in \(stamp.plainSize) bytes, but the stream has "
            + "\(sums.count) models in \(sums.plainSize) bytes")
      }
      (sums, hasGaps) = ((stamp.count, stamp.plainSize), false)
    } else {
      (sums, total) = try (Self.sum(sums, stamp), Self.sum(total, stamp))
    }
    if first == nil { first = stamp }
    isAtEnd = stamp.kind == .end
    next &+= 1
  }

  /// Skips the missing members before the member with the given stamp.
  ///
  /// - Throws: ``ArchiveError`` with the code `damaged` if the member cannot follow the previous members.
  package mutating func skipGap(to stamp: Stamp) throws {
    guard stamp.kind != .single, stamp.sequenceNumber >= next else {
      throw Self.damage("a member of the stream is duplicated or out of order")
    }
    hasGaps = hasGaps || stamp.sequenceNumber > next
    next = stamp.sequenceNumber
  }

  /// Checks that the archive is complete after its last member.
  ///
  /// - Throws: ``ArchiveError`` if the archive is incomplete. The code is `notAnArchive` if the file is empty, and
  ///   `truncated` if the file is a stream without an end member.
  package func finish() throws {
    guard let first else {
      throw ArchiveError(.notAnArchive, "the file is not an archive because it is empty", byteOffset: 0)
    }
    guard first.kind == .single || isAtEnd else {
      throw ArchiveError(
        .truncated, "the stream is incomplete because the file was truncated or the writer did not finish")
    }
  }

  private static func sum(
    _ sums: (count: UInt64, plainSize: UInt64), _ stamp: Stamp
  ) throws -> (count: UInt64, plainSize: UInt64) {
    let count = sums.count.addingReportingOverflow(stamp.count)
    let size = sums.plainSize.addingReportingOverflow(stamp.plainSize)
    guard !count.overflow, !size.overflow else {
      throw damage("the number of models or bytes in the stream exceeds the largest 64-bit number")
    }
    return (count.partialValue, size.partialValue)
  }

  private static func damage(_ reason: String) -> ArchiveError { ArchiveError(.damaged, reason) }
}
