public import Foundation

/// Writes a stream of models to a file in constant memory. The stream consists of members with up to a few thousand models each.
///
/// Models are encoded on the caller's thread. Members are compressed on all cores, unless `threads` sets a lower number. At most two
/// members for each thread are in memory, and fewer if members are large.
///
///     var writer = try ArchiveStreamWriter<Issue>(creating: url)
///     for issue in issues { try writer.append(issue) }
///     try writer.finish()
///
/// A new stream replaces an existing file only when it is finished. Appending adds members after the existing bytes, which do not change. A
/// writer that is released without a call to ``finish()`` removes the bytes that it appended. Until a writer is released, no other writer
/// of this type, in any process, can write to the file. Concurrent readers see the content from before the writer was created.
public struct ArchiveStreamWriter<Element: Archivable>: ~Copyable {
  /// The body size in bytes at which a member is closed. A body of this size is large enough for deflate to find repetitions and small
  /// enough to be held in memory.
  private static var memberSize: Int { 256 << 10 }
  private static var bufferSize: Int { memberSize + (64 << 10) }

  /// The file, named `NAME.cut`, with a copy of the bytes that recovery removed from the end of the stream; `nil` if no bytes were removed.
  ///
  /// ``finish()`` removes the copy if it contains only readable members, followed by at most one truncated member. A killed process leaves
  /// such bytes behind. Any other content is the result of a power failure or damage, so the copy is kept.
  public let cutFile: URL?

  private let file: StreamFile
  private var writer: ArchiveWriter
  private let compression: CompressionLevel
  private var pending: UInt32 = 0
  /// Whether the next model begins a new member, because encoding a model for the current member failed.
  private var isClosed = false
  /// The queue in which complete members are compressed before they are written to the file.
  private let members: OrderedWork<[UInt8]>
  private var next: Stamp
  private var total: (count: UInt64, plainSize: UInt64)

  /// Creates a stream that replaces the file when it is finished.
  ///
  /// - Parameters:
  ///   - url: the file. No other writer can write to it until this writer is released.
  ///   - waiting: how long to wait if another writer has the file open.
  ///   - compression: the compression level.
  ///   - limits: limits on the content of the stream. A decoder with the same limits can read every stream that the writer writes.
  ///   - subclasses: see ``ArchiveEncoder/subclasses``.
  ///   - threads: the number of threads, including the caller's, that compress members; `nil` means one for each core. With one thread,
  ///     the caller's thread does all the work. The number of threads does not affect the bytes of the file.
  /// - Throws: ``ArchiveError`` with the code `fileSystem`, or `fileInUse` if another writer still uses the file after `waiting`.
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
    for schema in SchemaCatalog(of: Element.self, and: subclasses).schemas { next.floors.add(schema.archivedShape) }
    writer.knownFloors = next.floors
    total = (0, 0)
    beginMember()
  }

  /// Creates a writer that appends to an existing stream.
  ///
  /// The existing stream is verified first. Otherwise models could be appended after damage, and readers would not reach them.
  ///
  /// A killed writer or a power failure can leave bytes after the end of the stream. By default, a file with such bytes is rejected. With
  /// `recovering`, the bytes are cut off if the whole stream before them is intact and they contain no end member. Without an end member,
  /// no call to ``finish()`` has committed the models in these bytes. The bytes are first copied to ``cutFile``. If they contain an end
  /// member, the stream is damaged and is not changed. Use ``ArchiveSalvage`` instead.
  ///
  /// - Parameters:
  ///   - url: the file. No other writer can write to it until this writer is released.
  ///   - recovering: whether to cut off bytes that an earlier writer left behind after the end of the stream.
  ///   - verifying: whether the checksums of all members are verified. If not, only the first header and the last end are read, so the cost
  ///     does not depend on the size of the file. A stream whose members do not record their positions (Docs/Format.md, section 11) is
  ///     always verified.
  ///   - waiting: how long to wait if another writer has the file open.
  ///   - compression: the compression level.
  ///   - limits: limits on the content of the stream.
  ///   - subclasses: see ``ArchiveEncoder/subclasses``.
  ///   - threads: the number of threads that compress members, as for a new stream.
  /// - Throws: ``ArchiveError`` with the code `fileSystem`; `fileInUse` if another writer still uses the file after `waiting`;
  ///   `typeMismatch` if the file holds models of a different type or is not a stream; `newerModel` if a newer program wrote it;
  ///   `truncated` if it has no end; `damaged`, `limitExceeded` or any other error thrown while reading the stream. The file is unchanged
  ///   in these cases.
  /// - Complexity: linear in the size of the file if it is verified or recovered, otherwise constant.
  public init(
    appendingTo url: URL, recovering: Bool = false, verifying: Bool = true, waiting: Duration = .zero,
    compression: CompressionLevel = .balanced, limits: ArchiveLimits = ArchiveLimits(),
    subclasses: [any VersionedModel.Type] = [], threads: Int? = nil
  ) throws {
    let file = try WriterLock.acquire(url, waiting: waiting) { try OpenFile(appending: $0) }
    try AtomicFile.removeAbandoned(beside: url)
    let header = try MemberReader.firstHeader(of: file)
    let first = header.stamp
    guard first.kind != .single, first.typeName == Self.stamp(0).typeName else {
      let element = Element._archiveTypeName
      throw ArchiveError(
        .typeMismatch,
        first.kind == .single
          ? "the file contains a single value instead of a stream, so models of type \(element) cannot be appended; "
            + "choose a different file"
          : "the file is a stream of \(first.typeName), so models of type \(element) cannot be appended; choose a "
            + "different file",
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
      // Bytes are cut off only after all checks, because a rejected stream must not be changed.
      try Element._rootSchema?.check(found.stamp)
      if found.offset < size {
        cut = try CutBytes(of: file, from: found.offset, to: size, beside: url)
        keepsCut = !found.breaksOff
        try file.truncate(to: found.offset)
      }
      (end, size) = (found.stamp, found.offset)
    } else {
      throw ArchiveError(
        .truncated,
        "the stream is incomplete because its last writer did not finish; open it with recovering: true to remove the "
          + "unfinished part"
      )
    }
    self.file = StreamFile(
      growing: file, at: url, from: size, isLinked: header.link != nil, trailer: trailer, cut: keepsCut ? nil : cut)
    cutFile = cut.map { URL(fileURLWithPath: $0.path) }
    self.compression = compression
    writer = ArchiveWriter(limits: limits, minimumCapacity: Self.bufferSize)
    members = OrderedWork(threads: threads)
    writer.subclasses = subclasses
    next = Self.stamp(end.sequenceNumber &+ 1)
    // All headers of a stream must have the same length, so every header contains the same floors (the oldest readers and writers of the
    // stream's models).
    next.floors = first.floors
    writer.knownFloors = next.floors
    total = (end.count, end.plainSize)
    beginMember()
  }

  /// Adds a model to the stream. The model is committed only by ``finish()``, although later calls to this method already write compressed
  /// members to the file.
  ///
  /// After an error, the writer is in the same state as before the call: the stream contains all earlier models, but not the failed one.
  /// The call can be repeated, with the same model or a different one, and no model is added twice.
  ///
  /// - Throws: the same errors as ``ArchiveEncoder``. Also ``ArchiveError`` with the code `fileSystem` if earlier models cannot be written
  ///   to the file, and `fileInUse` if another program has written to the file. If a failed write cannot be undone, every later call throws
  ///   `fileSystem`. In that case, add the models since the last ``finish()`` to a new writer.
  public mutating func append(_ element: Element) throws {
    // Full members are written before the model is encoded. If the disk is full, the error is thrown before the model becomes part of the
    // stream.
    if isClosed || writer.buffer.count >= Self.memberSize || pending >= writer.limits.count { endMember() }
    while try !members.hasRoom && writeMember() {}
    let mark = writer.mark()
    do {
      try writer.writeElement(element)
      try writer.checkLimits()
    } catch {
      // The strings and record definitions of the failed model already have numbers, and later models could refer to them. The current
      // member therefore accepts no more models.
      writer.cut(to: mark)
      isClosed = true
      // On its own, the model may be within the limits, so it is added again, as the first model of the next member.
      guard pending > 0, (error as? ArchiveError)?.code == .limitExceeded else { throw error }
      return try append(element)
    }
    pending += 1
  }

  /// Writes the end of the stream and flushes the file to the disk. Without this call, the file does not change.
  ///
  /// After an error, the file does not contain the models of this writer, so they can be added again with a new writer. There are two
  /// exceptions. First, the new file may have replaced the old file, although the folder could not be flushed. The old file may then
  /// reappear after a power failure. Second, the error may report that the file could not be truncated to its old size. The file then
  /// contains either all models of this writer, or bytes after the previous end that `recovering` can cut off. In both cases, read the file
  /// to find out whether it contains the models.
  ///
  /// - Throws: ``ArchiveError`` with the code `fileSystem`, and `fileInUse` if another program wrote to the file or replaced it.
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
    Stamp(of: Element.self, kind: .member, sequenceNumber: number)
  }

  private mutating func beginMember() {
    writer.reset()
    writer.beginCountedArray()
    (pending, isClosed) = (0, false)
  }

  /// Queues the current member for compression, unless it is empty, and begins the next member.
  private mutating func endMember() {
    if pending > 0 {
      writer.setCount(pending)
      next.count = UInt64(pending)
      let least = writer.leastFileSize
      let body = writer.buffer.takeData()
      writer.buffer = ByteBuffer(minimumCapacity: Self.bufferSize)
      // `writeMember()` sets the position of the member later, because the sizes of the earlier members are not known yet.
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

  /// Writes the first queued member to the file and removes it from the queue. After an error, it stays in the queue.
  ///
  /// - Returns: whether there was a queued member.
  private func writeMember() throws -> Bool {
    guard var bytes = try members.first() else { return false }
    if let link = file.link { try Gzip.setLink(link, ofMember: &bytes) }
    try file.write(bytes)
    members.removeFirst()
    return true
  }
}

extension ArchiveWriter {
  /// Starts an array whose head has a fixed width, because ``setCount(_:)`` later overwrites the number of elements in the head.
  package mutating func beginCountedArray() {
    counts.addCollection(0)
    countPlace = buffer.count + 1
    buffer.append(CBOR.countedArrayByte, UInt32(0))
  }

  package mutating func setCount(_ count: UInt32) { buffer.overwrite(at: countPlace, with: count) }

  /// Writes an element of the array that ``beginCountedArray()`` started.
  package mutating func writeElement<T: Archivable>(_ element: T) throws {
    counts.addElement()
    try writeRoot(element)
  }

  /// Returns the current position, to which ``cut(to:)`` can truncate the body later.
  func mark() -> Mark { Mark(count: buffer.count, depth: depth, counts: counts) }

  /// Removes the bytes that were written after the call to ``mark()``. Nothing may be written to the body afterwards, because later bytes
  /// could refer to removed strings.
  mutating func cut(to mark: Mark) {
    buffer.removeLast(from: mark.count)
    depth = mark.depth
    counts = mark.counts
    closeValues()
  }

  /// A position to which ``cut(to:)`` can truncate the body, and the state of the writer at that position.
  struct Mark {
    let count: Int
    let depth: Int
    let counts: ReadingCounts
  }
}
