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
/// Members are decoded before their turn, on all cores unless `threads` names fewer: at most two members for each thread are in memory,
/// and of large members fewer. Models, errors, gaps and reports come in the order of the file, the same with any number of threads. Hooks
/// of models, such as steps and rules, run on these threads, with the task-local values of the task that reads. They can run for models that
/// are never delivered, because an error or the end of the loop comes first. Once the task is cancelled, or the iterator goes away, no
/// further member is begun before its turn. A pipe is read one member at a time.
///
/// Beside a writer that appends to the file at the same time, the stream ends where it did before that one began.
public struct ArchiveSequence<Element: Archivable & SendableMetatype>: AsyncSequence {
  private let url: URL
  private let limits: ArchiveLimits
  private let validates: Bool
  private let subclasses: [any VersionedModel.Type]
  private let damage: StreamGap.Handling
  private let threads: Int?

  /// The models of a file. It is opened with the first model.
  ///
  /// - Parameters:
  ///   - type: the type of the models.
  ///   - url: the file of a stream.
  ///   - limits: what the file may claim.
  ///   - validates: whether models must keep their rules (see ``Validating``).
  ///   - subclasses: as ``ArchiveDecoder/subclasses``.
  ///   - damage: what happens where bytes of the file cannot be read.
  ///   - threads: how many threads decode members at once, the reader's among them; `nil` means one for each core. With one, the
  ///     reader's thread does all the work, and only when it asks for a model.
  public init(
    _ type: Element.Type = Element.self, from url: URL, limits: ArchiveLimits = ArchiveLimits(),
    validates: Bool = true, subclasses: [any VersionedModel.Type] = [], damage: StreamGap.Handling = .fails,
    threads: Int? = nil
  ) {
    self.threads = threads
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
    Results(iterator: makeAsyncIterator())
  }

  private struct Results: Sequence, IteratorProtocol {
    var iterator: Iterator

    mutating func next() -> Result<Element, any Error>? {
      do { return try iterator.next().map { .success($0) } } catch { return .failure(error) }
    }
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(
      url: url, decoder: ArchiveDecoder(limits: limits, validates: validates, subclasses: subclasses), damage: damage,
      threads: threads)
  }

  /// Reads one model after the other. Its ``next()`` also serves where there is no concurrency.
  public struct Iterator: AsyncIteratorProtocol {
    private let url: URL
    private let decoder: ArchiveDecoder
    private let damage: StreamGap.Handling
    private let threads: Int?
    private var source: Source?
    private var batch: [Element] = []
    private var place = 0
    private var isFinished = false

    init(url: URL, decoder: ArchiveDecoder, damage: StreamGap.Handling, threads: Int?) {
      self.threads = threads
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
            let source = try source ?? Source(url, decoder, damage, threads: threads)
            self.source = source
            return try source.nextBatch() ?? []
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
    private let decoding: MemberDecoding<Element>

    var report: DecodingReport { decoding.report }
    var gaps: [StreamGap] { members.gaps }

    init(_ url: URL, _ decoder: ArchiveDecoder, _ damage: StreamGap.Handling, threads: Int?) throws {
      members = try StreamMembers(of: url, limits: decoder.limits, damage: damage)
      decoding = MemberDecoding(members.file, decoder, threads: threads)
      members.source = decoding
    }

    /// The models of the next member that has any; `nil` at the end of the stream.
    func nextBatch() throws -> [Element]? {
      while let models = try members.next(decoding.models, count: { $0.count }) {
        if !models.isEmpty { return models }
      }
      return nil
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
