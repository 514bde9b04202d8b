public import Foundation

/// Writes a stream of models to a file, a few thousand to a member, in constant memory.
///
/// Models are encoded on the caller's thread. Members are compressed on all cores, unless `threads` names fewer: at most two members for
/// each thread are in memory, and of large members fewer.
///
///     var writer = try ArchiveStreamWriter<Issue>(creating: url)
///     for issue in issues { try writer.append(issue) }
///     try writer.finish()
///
/// A new stream takes the place of an old file only when it is finished. Appending leaves every byte of the file as
/// it is and adds members after them; a writer that goes away unfinished takes its own bytes back. A writer has the file
/// for itself from its beginning to its end, among all processes that write with this type; readers beside it see what was
/// there before.
public struct ArchiveStreamWriter<Element: Archivable>: ~Copyable {
  /// A member is closed when its body has this number of bytes: enough for deflate to find what repeats, and little enough
  /// to be held in memory and read alone.
  private static var memberSize: Int { 256 << 10 }
  private static var bufferSize: Int { memberSize + (64 << 10) }

  /// The file with the bytes that recovering cut off, called `NAME.cut`; `nil` where nothing was cut off.
  ///
  /// ``finish()`` removes it where it holds only members without an end, of which the last one breaks off. Otherwise it stays:
  /// a loss of power or damage made it what it is.
  public let cutFile: URL?

  private let file: StreamFile
  private var writer: ArchiveWriter
  private let compression: CompressionLevel
  private var pending: UInt32 = 0
  /// Whether the member takes no more models.
  private var isClosed = false
  /// Compresses the members that are complete and not in the file yet.
  private let members: OrderedWork<[UInt8]>
  private var next: Stamp
  private var total: (count: UInt64, plainSize: UInt64)

  /// Starts a stream that replaces the file when it is finished.
  ///
  /// - Parameters:
  ///   - url: the file. No other stream is written to it meanwhile.
  ///   - waiting: how long to wait for another writer of the file.
  ///   - compression: how much time compressing may take.
  ///   - limits: what the stream may hold. A decoder with the same limits reads all that is written.
  ///   - subclasses: as ``ArchiveEncoder/subclasses``.
  ///   - threads: how many threads compress members at once, the caller's among them; `nil` means one for each core. With one,
  ///     the caller's thread does all the work. The bytes of the file are the same with any number.
  /// - Throws: ``ArchiveError`` with the code `fileSystem`, and `fileInUse` where another writer has the file.
  public init(
    creating url: URL, waiting: Duration = .zero, compression: CompressionLevel = .balanced,
    limits: ArchiveLimits = ArchiveLimits(), subclasses: [any VersionedModel.Type] = [],
    threads: Int? = nil
  ) throws {
    file = try StreamFile(replacing: url, waiting: waiting)
    cutFile = nil
    self.compression = compression
    writer = ArchiveWriter(limits: limits, minimumCapacity: Self.bufferSize)
    members = OrderedWork(threads: threads)
    writer.subclasses = subclasses
    next = Self.stamp(0)
    total = (0, 0)
    beginMember()
  }

  /// Goes on with a stream that is there.
  ///
  /// The stream is read through first, since nothing is acknowledged after damage.
  ///
  /// A writer that was killed, or a machine that lost power, leaves bytes behind the last end of the stream, and such a file
  /// is refused. With `recovering` they are cut off, if the whole stream before them reads well and no end follows: nothing
  /// in them was acknowledged. They are copied to a file first (``cutFile``). If an end follows, the stream is damaged, and
  /// stays as it is: see ``ArchiveSalvage``.
  ///
  /// - Parameters:
  ///   - url: the file. No other stream is written to it meanwhile.
  ///   - recovering: whether to cut off what a writer left behind the last end.
  ///   - verifying: whether the checksums of all members are checked. Without it only the first header and the last end are
  ///     looked at, so that the cost does not grow with the file. A stream whose members do not state their places
  ///     (Docs/Format.md, section 11) is checked all the same.
  ///   - waiting: how long to wait for another writer of the file.
  ///   - compression: how much time compressing may take.
  ///   - limits: what the stream may hold, as above.
  ///   - subclasses: as ``ArchiveEncoder/subclasses``.
  ///   - threads: how many threads compress members at once, as above.
  /// - Throws: ``ArchiveError`` with the code `fileSystem`; `fileInUse` where another writer has the file; `typeMismatch`
  ///   where the file holds another type or no stream; `newerModel` where a newer program wrote it; `truncated` where it has
  ///   no end; `damaged`, `limitExceeded` or whatever else reading it throws. The file is then as it was.
  /// - Complexity: linear in the size of the file where it is verified or recovered, else constant.
  public init(
    appendingTo url: URL, recovering: Bool = false, verifying: Bool = true, waiting: Duration = .zero,
    compression: CompressionLevel = .balanced, limits: ArchiveLimits = ArchiveLimits(),
    subclasses: [any VersionedModel.Type] = [], threads: Int? = nil
  ) throws {
    let file = try WriterLock.take(url, waiting: waiting) { try OpenFile(appending: $0) }
    try AtomicFile.removeAbandoned(beside: url)
    let header = try MemberReader.firstHeader(of: file)
    let first = header.stamp
    guard first.kind != .single, first.typeName == Self.stamp(0).typeName else {
      let found = first.kind == .single ? "an archive of one value" : "a stream of \(first.typeName)"
      throw ArchiveError(
        .typeMismatch, "the file is \(found), and no stream of \(Element._archiveTypeName) to append to",
        typeName: first.typeName)
    }
    var size = try file.status().size
    let recovery = StreamRecovery(of: url, limits)
    let end: Stamp, trailer: [UInt8]
    var cut: CutBytes?
    var keepsCut = false
    if let tail = try MemberReader.tailEnd(of: file, header, at: size), tail.isProven || !recovering {
      end = tail.stamp
      trailer = try MemberReader.trailer(before: size, in: file)
      try Element._rootSchema?.check(end)
      if verifying || !tail.isProven { try recovery.check() }
    } else if recovering {
      let found = try recovery.lastEnd()
      trailer = try MemberReader.trailer(before: found.offset, in: file)
      // Nothing is cut off before all this: a stream that is refused stays as it is.
      try Element._rootSchema?.check(found.stamp)
      if found.offset < size {
        cut = try CutBytes(of: file, from: found.offset, to: size, beside: url)
        keepsCut = !found.breaksOff
        try file.truncate(to: found.offset)
      }
      (end, size) = (found.stamp, found.offset)
    } else {
      throw ArchiveError(
        .truncated, "the stream has no end: its last writer did not finish; append with recovering to cut that off")
    }
    self.file = StreamFile(
      growing: file, at: url, from: size, isLinked: header.link != nil, trailer: trailer, cut: keepsCut ? nil : cut)
    cutFile = cut.map { URL(fileURLWithPath: $0.path) }
    self.compression = compression
    writer = ArchiveWriter(limits: limits, minimumCapacity: Self.bufferSize)
    members = OrderedWork(threads: threads)
    writer.subclasses = subclasses
    next = Self.stamp(end.sequenceNumber &+ 1)
    total = (end.count, end.plainSize)
    beginMember()
  }

  /// Adds a model. Once this returns, ``finish()`` writes it. Members that are compressed are written to the file by later calls.
  ///
  /// After an error the writer is as it was before the call: the model is not part of the stream, those that were added
  /// before stay part of it, and the same or another model can be added. So a retry never adds a model twice.
  ///
  /// - Throws: as ``ArchiveEncoder``. ``ArchiveError`` with the code `fileSystem` where models that were added before cannot be
  ///   written to the file, and `fileInUse` where another program wrote to it. Where a failed write cannot be taken back,
  ///   every later call throws `fileSystem`; the models since the last ``finish()`` are then to be added to a new writer.
  public mutating func append(_ element: Element) throws {
    // Before the model, so that a disk that is full does not concern it.
    if isClosed || writer.buffer.count >= Self.memberSize || pending >= writer.limits.count { endMember() }
    while try !members.hasRoom && writeMember() {}
    let mark = writer.mark()
    do {
      try writer.writeElement(element)
      try writer.checkLimits()
    } catch {
      // Strings and definitions of the failed model are already numbered, so the member ends before it.
      writer.cut(to: mark)
      isClosed = true
      // What the limits allow for a member may be enough without the models before it.
      guard pending > 0, (error as? ArchiveError)?.code == .limitExceeded else { throw error }
      return try append(element)
    }
    pending += 1
  }

  /// Ends the stream and makes sure that it is on the disk. Without this call nothing was written.
  ///
  /// After an error the models of this writer are not in the file, and the session can be repeated with a new writer. There
  /// are two exceptions, which the models that are in the file tell apart. A new stream may have taken its place, and only the
  /// folder could not be synchronized: after a loss of power the old file may be there. And the disk may have refused to take
  /// back what was appended, which the error says: all of the session is in the file, or what follows the end before it is
  /// for `recovering`.
  ///
  /// - Throws: ``ArchiveError`` with the code `fileSystem`, and `fileInUse` where another program wrote to the file or
  ///   replaced it.
  public consuming func finish() throws {
    endMember()
    while try writeMember() {}
    next.kind = .end
    next.count = total.count
    next.plainSize = total.plainSize
    var bytes: [UInt8] = []
    try Gzip.appendMember(body: RawSpan(), stamp: next, link: file.link, to: &bytes)
    try file.write(bytes)
    try file.finish()
  }

  // MARK: Inside

  private static func stamp(_ number: UInt64) -> Stamp {
    Stamp(
      kind: .member, sequenceNumber: number, typeName: Element._archiveTypeName,
      modelVersion: Element._rootSchema?.modelVersion, fingerprint: Element._rootSchema?.fingerprint ?? 0)
  }

  private mutating func beginMember() {
    writer.reset()
    writer.beginCountedArray()
    (pending, isClosed) = (0, false)
  }

  /// Hands over the member that is being filled, if it has models, and begins another.
  private mutating func endMember() {
    if pending > 0 {
      writer.setCount(pending)
      next.count = UInt64(pending)
      let least = writer.leastFileSize
      let body = writer.buffer.takeData()
      writer.buffer = ByteBuffer(minimumCapacity: Self.bufferSize)
      // The place is known only when the members before are written.
      let link = file.link.map { _ in StreamLink(at: 0, after: []) }
      members.add(weight: body.count) { [next, compression] in
        var bytes: [UInt8] = []
        try Gzip.appendMember(
          body: body.bytes, stamp: next, level: compression, minimumSize: least, link: link, to: &bytes)
        return bytes
      }
      total.count += UInt64(pending)
      total.plainSize += UInt64(body.count)
      next.sequenceNumber += 1
    }
    beginMember()
  }

  /// Writes the first of the complete members. After an error it is still in the queue.
  ///
  /// - Returns: whether there was one.
  private func writeMember() throws -> Bool {
    guard var bytes = try members.first() else { return false }
    if let link = file.link { try Gzip.setLink(link, ofMember: &bytes) }
    try file.write(bytes)
    members.removeFirst()
    return true
  }
}

extension ArchiveWriter {
  /// Starts an array whose count follows once it is known: its head has a fixed width.
  package mutating func beginCountedArray() {
    counts.addCollection(0)
    countPlace = buffer.count + 1
    buffer.append(CBOR.countedArrayByte, UInt32(0))
  }

  package mutating func setCount(_ count: UInt32) { buffer.overwrite(at: countPlace, with: count) }

  /// Writes an element of that array.
  package mutating func writeElement<T: Archivable>(_ element: T) throws {
    counts.addElement()
    try writeRoot(element)
  }

  /// Where the next value will stand, to take it back.
  func mark() -> Mark { Mark(count: buffer.count, depth: depth, counts: counts) }

  /// Takes back what was written since a mark. Its strings stay numbered, so nothing may follow.
  mutating func cut(to mark: Mark) {
    buffer.removeLast(from: mark.count)
    depth = mark.depth
    counts = mark.counts
    closeValues()
  }

  /// How far a body was written.
  struct Mark {
    let count: Int
    let depth: Int
    let counts: ReadingCounts
  }
}
