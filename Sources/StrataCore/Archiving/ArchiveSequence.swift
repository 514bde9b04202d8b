public import Foundation

/// The models of a stream, read from a file in constant memory.
///
///     for try await issue in ArchiveSequence(Issue.self, from: url) { … }
///
/// Each model is upgraded like any other archived model. If a member is damaged, all models before it are delivered before the error is
/// thrown. A stream without an end throws `truncated` after the last model. With `damage: .skips`, damaged members are skipped instead, and
/// the iterator's `gaps` list them:
///
///     var issues = ArchiveSequence(Issue.self, from: url, damage: .skips).makeAsyncIterator()
///     while let issue = try issues.next() { … }
///     for gap in issues.gaps { print(gap) }
///
/// Members are decoded ahead of the loop, on all cores unless `threads` sets a lower number. At most two members for each thread are in
/// memory, and fewer if members are large. Models, errors, gaps and reports are delivered in file order, regardless of the number of
/// threads. Migration steps, hooks and validation rules of models run on these threads, with the task-local values of the reading task.
/// This code can also run for models that are never delivered, because the loop or an error can end the iteration first. After the task is
/// cancelled or the iterator is released, no further member is decoded ahead. The members of a pipe are read one at a time.
///
/// If a writer is appending to the file, the sequence ends where the stream ended before the writer was created.
public struct ArchiveSequence<Element: Archivable & SendableMetatype>: AsyncSequence {
  private let url: URL
  private let limits: ArchiveLimits
  private let validates: Bool
  private let subclasses: [any VersionedModel.Type]
  private let damage: StreamGap.Handling
  private let threads: Int?

  /// Creates a sequence of the models in a file. The file is opened when the first model is requested.
  ///
  /// - Parameters:
  ///   - type: the type of the models.
  ///   - url: the file of the stream.
  ///   - limits: limits on the content of the file, such as the length of a string.
  ///   - validates: whether models are checked against their rules (see ``Validating``).
  ///   - subclasses: see ``ArchiveDecoder/subclasses``.
  ///   - damage: whether the sequence skips bytes that cannot be read, or throws an error.
  ///   - threads: the number of threads, including the reader's, that decode members; `nil` means one for each core. With one thread, the
  ///     reader's thread does all the work, and decodes a member only when it needs the next model.
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

  /// The models as a synchronous sequence. If reading fails, the last element of the sequence is the error.
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

  /// Iterates over the models in file order. ``next()`` can also be called from synchronous code.
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

    /// A report on the upgrades of the models delivered so far.
    public var report: DecodingReport { source?.report ?? DecodingReport() }

    /// The unreadable parts of the file skipped so far, in file order.
    public var gaps: [StreamGap] { source?.gaps ?? [] }

    /// Returns the next model, or `nil` at the end of the stream.
    ///
    /// - Throws: the same errors as ``ArchiveDecoder``. After an error, ``next()`` returns `nil`.
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

  /// An open file with its reading position. This is a class, because copies of an iterator must share the file and the position.
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

    /// Returns the models of the next member that contains at least one model; `nil` at the end of the stream.
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
  /// For a stream, this is the stamp of the stream's end, which contains the totals of all members. For a stream without a complete end,
  /// it is the stamp of the first member.
  ///
  /// Only headers are read, unless the file is a stream whose members do not record their positions (Docs/Format.md, section 11). In that
  /// case the whole file is read, because bytes of a model can look like an end.
  ///
  /// - Throws: the same errors as ``init(of:)``, and ``ArchiveError`` with the code `fileSystem`.
  public init(ofFile url: URL) throws {
    self = try ArchiveError.naming(url) {
      let first = try MemberReader.stamp(ofFile: url)
      return first.kind == .single ? first : try MemberReader.endStamp(ofFile: url) ?? first
    }
  }
}
