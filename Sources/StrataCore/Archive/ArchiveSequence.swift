public import Foundation

/// The models of a stream, read from a file in constant memory.
///
///     for try await issue in ArchiveSequence(Issue.self, from: url) { … }
///
/// Each model is upgraded like any other. Damage is noticed at the member where it lies, after the models before it
/// were delivered; a stream without an end throws `truncated` after the last model.
public struct ArchiveSequence<Element: Archivable>: AsyncSequence {
  private let url: URL
  private let limits: ArchiveLimits
  private let validates: Bool
  private let subclasses: [any Model.Type]

  /// The models of a file. It is opened with the first model.
  ///
  /// - Parameters:
  ///   - type: the type of the models.
  ///   - url: the file of a stream.
  ///   - limits: what the file may claim.
  ///   - validates: whether models must keep their rules (see ``Validating``).
  ///   - subclasses: as ``ArchiveDecoder/subclasses``.
  public init(
    _ type: Element.Type = Element.self, from url: URL, limits: ArchiveLimits = ArchiveLimits(),
    validates: Bool = true, subclasses: [any Model.Type] = []
  ) {
    self.url = url
    self.limits = limits
    self.validates = validates
    self.subclasses = subclasses
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(url: url, decoder: ArchiveDecoder(limits: limits, validates: validates, subclasses: subclasses))
  }

  /// Reads one model after the other. Its ``next()`` also serves where there is no concurrency.
  public struct Iterator: AsyncIteratorProtocol {
    private let url: URL
    private let decoder: ArchiveDecoder
    private var source: Source?
    private var batch: [Element] = []
    private var place = 0
    private var isFinished = false

    init(url: URL, decoder: ArchiveDecoder) {
      self.url = url
      self.decoder = decoder
    }

    /// What was upgraded so far.
    public var report: DecodingReport { source?.report ?? DecodingReport() }

    /// The next model, or `nil` at the end.
    ///
    /// - Throws: as ``ArchiveDecoder``. After an error there is no next model.
    public mutating func next() throws -> Element? {
      while place == batch.count {
        if isFinished { return nil }
        do {
          let source = try source ?? Source(url, decoder, Element.rootSchema)
          self.source = source
          batch = try source.nextBatch(Element.self) ?? []
          place = 0
          if batch.isEmpty { isFinished = true }
        } catch {
          isFinished = true
          throw error
        }
      }
      defer { place += 1 }
      return batch[place]
    }
  }

  /// The open file. A class, so that copies of an iterator share it.
  private final class Source {
    private var reader: MemberReader
    private let context: DecodingContext
    private let schema: ModelSchema?
    private var number: UInt64 = 0
    private var total: (count: UInt64, plainSize: UInt64) = (0, 0)
    private var endsHere = false

    var report: DecodingReport { context.report }

    init(_ url: URL, _ decoder: ArchiveDecoder, _ schema: ModelSchema?) throws {
      reader = try MemberReader(url: url, limits: decoder.limits)
      context = DecodingContext(
        limits: decoder.limits, validates: decoder.validates, collectsFailures: true)
      context.subclasses = decoder.subclasses
      self.schema = schema
    }

    /// The models of the next member that has any; `nil` at the end of the stream.
    func nextBatch<T: Archivable>(_ type: T.Type) throws -> [T]? {
      while true {
        let offset = reader.offset
        guard let (stamp, body) = try reader.next() else { break }
        try check(stamp)
        number &+= 1
        endsHere = stamp.kind == .end
        guard !endsHere else { continue }
        context.budget.begin(fileSize: reader.offset - offset)
        var archive = ArchiveReader(body.span.bytes, context: context)
        try archive.beginBody()
        let models = try archive.readRoots(T.self)
        try archive.endBody()
        try context.checkFailures(of: models)
        guard UInt64(models.count) == stamp.count else {
          throw ArchiveError(.damaged, "a member does not hold as many models as its stamp says")
        }
        total.count += stamp.count
        total.plainSize += stamp.plainSize
        if !models.isEmpty { return models }
      }
      guard endsHere else {
        throw number == 0
          ? ArchiveError(.notAnArchive, "the file is empty; an archive has at least a header", byteOffset: 0)
          : ArchiveError(.truncated, "the stream has no end: the file was cut, or its writer did not finish")
      }
      return nil
    }

    private func check(_ stamp: Stamp) throws {
      guard stamp.kind != .single else {
        throw ArchiveError(
          .typeMismatch, "this archive holds one value; read it with ArchiveDecoder", typeName: stamp.typeName)
      }
      guard stamp.sequenceNumber == number else {
        throw ArchiveError(.damaged, "a member of the stream is missing or out of order")
      }
      if stamp.kind == .end, (stamp.count, stamp.plainSize) != total {
        throw ArchiveError(.damaged, "the end of the stream does not agree with its members")
      }
      try schema?.check(stamp)
    }
  }
}

extension ArchiveSequence: Sendable {}

extension Stamp {
  /// The stamp of an archive file; of a stream, that of its end, which holds the totals. Nothing is inflated.
  ///
  /// - Throws: as ``init(of:)``, and ``ArchiveError`` with the code `fileSystem`.
  public init(ofFile url: URL) throws {
    let first = try MemberReader.stamp(ofFile: url)
    self = first.kind == .single ? first : try MemberReader.endStamp(ofFile: url) ?? first
  }
}
