public import Foundation

/// The models of a stream, read from a file in constant memory.
///
///     for try await issue in ArchiveSequence(Issue.self, from: url) { … }
///
/// Each model is upgraded like any other. Damage is noticed at the member where it lies, after the models before it
/// were delivered; a stream without an end throws `truncated` after the last model. Or it is passed over, and the iterator
/// tells what is missing:
///
///     var issues = ArchiveSequence(Issue.self, from: url, damage: .skips).makeAsyncIterator()
///     while let issue = try issues.next() { … }
///     for gap in issues.gaps { print(gap) }
///
/// Beside a writer that appends to the file at the same time, the stream ends where it did before that one began.
public struct ArchiveSequence<Element: Archivable>: AsyncSequence {
  private let url: URL
  private let limits: ArchiveLimits
  private let validates: Bool
  private let subclasses: [any VersionedModel.Type]
  private let damage: StreamDamage

  /// The models of a file. It is opened with the first model.
  ///
  /// - Parameters:
  ///   - type: the type of the models.
  ///   - url: the file of a stream.
  ///   - limits: what the file may claim.
  ///   - validates: whether models must keep their rules (see ``Validating``).
  ///   - subclasses: as ``ArchiveDecoder/subclasses``.
  ///   - damage: what happens where bytes of the file cannot be read.
  public init(
    _ type: Element.Type = Element.self, from url: URL, limits: ArchiveLimits = ArchiveLimits(),
    validates: Bool = true, subclasses: [any VersionedModel.Type] = [], damage: StreamDamage = .fails
  ) {
    self.damage = damage
    self.url = url
    self.limits = limits
    self.validates = validates
    self.subclasses = subclasses
  }

  /// The models for code without concurrency: a plain sequence, whose last element is an error where reading failed.
  ///
  ///     for result in ArchiveSequence(Issue.self, from: url).results { let issue = try result.get() … }
  public var results: some Sequence<Result<Element, any Error>> {
    sequence(state: (iterator: makeAsyncIterator(), isFinished: false)) { state in
      guard !state.isFinished else { return nil }
      do { return try state.iterator.next().map { .success($0) } } catch {
        state.isFinished = true
        return .failure(error)
      }
    }
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(
      url: url, decoder: ArchiveDecoder(limits: limits, validates: validates, subclasses: subclasses), damage: damage)
  }

  /// Reads one model after the other. Its ``next()`` also serves where there is no concurrency.
  public struct Iterator: AsyncIteratorProtocol {
    private let url: URL
    private let decoder: ArchiveDecoder
    private let damage: StreamDamage
    private var source: Source?
    private var batch: [Element] = []
    private var place = 0
    private var isFinished = false

    init(url: URL, decoder: ArchiveDecoder, damage: StreamDamage) {
      self.url = url
      self.decoder = decoder
      self.damage = damage
    }

    /// What was upgraded so far.
    public var report: DecodingReport { source?.report ?? DecodingReport() }

    /// What could not be read so far and was passed over, in the order of the file.
    public var gaps: [StreamGap] { source?.gaps ?? [] }

    /// The next model, or `nil` at the end.
    ///
    /// - Throws: as ``ArchiveDecoder``. After an error there is no next model.
    public mutating func next() throws -> Element? {
      while place == batch.count {
        if isFinished { return nil }
        do {
          batch = try ArchiveError.naming(url) {
            let source = try source ?? Source(url, decoder, Element._rootSchema, damage)
            self.source = source
            return try source.nextBatch(Element.self) ?? []
          }
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
    private var members: StreamMembers
    private let context: DecodingContext
    private let schema: ModelSchema?

    var report: DecodingReport { context.report }
    var gaps: [StreamGap] { members.gaps }

    init(_ url: URL, _ decoder: ArchiveDecoder, _ schema: ModelSchema?, _ damage: StreamDamage) throws {
      members = try StreamMembers(of: url, limits: decoder.limits, damage: damage)
      context = DecodingContext(
        limits: decoder.limits, finishing: .gathering(validates: decoder.validates))
      context.subclasses = decoder.subclasses
      context.readsCompleteRecords = true
      self.schema = schema
    }

    /// The models of the next member that has any; `nil` at the end of the stream.
    func nextBatch<T: Archivable>(_ type: T.Type) throws -> [T]? {
      while true {
        let models = try members.next { [context, schema] stamp, body, size in
          guard stamp.kind != .single else {
            throw ArchiveError(
              .typeMismatch, "this archive holds one value; read it with ArchiveDecoder", typeName: stamp.typeName)
          }
          try schema?.check(stamp)
          guard stamp.kind == .member else { return [T]() }
          context.budget.begin(fileSize: size)
          return try context.checked {
            var archive = ArchiveReader(body.bytes, context: context)
            try archive.beginBody()
            let models: [T]
            do { models = try archive.readRoots(T.self) } catch let error as ArchiveError {
              guard error.codingPath.count < 2 else { throw error }
              throw error.naming(stamp, expected: T._archiveTypeName)
            }
            try archive.endBody()
            return models
          }
        } count: {
          $0.count
        }
        guard let models else { return nil }
        if !models.isEmpty { return models }
      }
    }
  }
}

extension ArchiveSequence: Sendable {}

extension Stamp {
  /// Reads the stamp of an archive file.
  ///
  /// The stamp of a stream is that of its end, which holds the totals. A stream without a complete end has that of its first member.
  ///
  /// Only headers are read, unless the members of a stream do not state their places (Docs/Format.md, section 11). Then all
  /// of it is read, because the end of the file can be the content of a model.
  ///
  /// - Throws: as ``init(of:)``, and ``ArchiveError`` with the code `fileSystem`.
  public init(ofFile url: URL) throws {
    self = try ArchiveError.naming(url) {
      let first = try MemberReader.stamp(ofFile: url)
      return first.kind == .single ? first : try MemberReader.endStamp(ofFile: url) ?? first
    }
  }
}
