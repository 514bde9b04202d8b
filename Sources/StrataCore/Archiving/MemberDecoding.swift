/// Decodes the members of a stream on several threads, ahead of the loop that consumes the models, and returns the models in stream order.
///
/// All members of a stream share one ``WorkBudget``, so the work for earlier members reduces the budget of later ones. When a member is
/// decoded ahead, its remaining budget is not known yet, so it is decoded with the budget that it would have as the first member. The
/// result is used only if decoding with the remaining budget would have given the same result. Otherwise the member is decoded again after
/// the earlier members, and no more members are decoded ahead.
final class MemberDecoding<Element: Archivable & SendableMetatype>: MemberSource {
  /// The result of decoding one member: its models, its report and the remaining budget.
  private struct Decoded {
    let models: Result<[Element], any Error>
    let report: DecodingReport
    let budget: WorkBudget
  }

  /// A member, with its models if they were decoded ahead. `Sendable` is unchecked, because a worker passes the models to the consuming
  /// thread and keeps no reference to them.
  private struct Output: @unchecked Sendable {
    let member: Result<ReadMember, any Error>
    var decoded: Decoded?
  }

  private let decoder: ArchiveDecoder
  private let work: OrderedWork<Output>
  /// A flag that the worker threads check. If its word is not zero, they do not decode members ahead.
  private let isInTurn: InTurn
  /// The work budget that remains after the earlier members.
  private var budget: WorkBudget
  /// The result of decoding the current member; `nil` if the member was not decoded ahead.
  private var ahead: Decoded?
  /// The merged reports of the members decoded so far.
  private(set) var report = DecodingReport()

  private final class InTurn: Sendable { let word = AtomicWord() }

  init(_ file: SharedReader, _ decoder: ArchiveDecoder, threads: Int?) {
    self.decoder = decoder
    budget = WorkBudget(decoder.limits)
    // The members of a pipe are not read ahead, because their models must be delivered as they arrive.
    let threads = file.reader.isSeekable ? threads ?? Cores.count : 1
    let isInTurn = InTurn()
    if threads <= 1 { isInTurn.word.store(1) }
    self.isInTurn = isInTurn
    work = OrderedWork(threads: threads) {
      do {
        guard let member = try file.next() else { return nil }
        return (
          member.body.count,
          {
            var output = Output(member: .success(member))
            if isInTurn.word.load() == 0 {
              let budget = WorkBudget(decoder.limits)
              if member.stamp.kind == .member { budget.begin(fileSize: member.bytes.count) }
              output.decoded = Self.decode(member.stamp, member.body, decoder, budget)
            }
            return output
          }
        )
      } catch { return (0, { Output(member: .failure(error)) }) }
    }
  }

  func next() throws -> ReadMember? {
    ahead = nil
    guard let output = try work.first(goesAhead: !Task.isCancelled) else { return nil }
    work.removeFirst()
    ahead = output.decoded
    return try output.member.get()
  }

  func stop() { work.stop() }

  /// Returns the models of the last member that ``next()`` returned.
  func models(_ stamp: Stamp, _ body: [UInt8], _ size: Int) throws -> [Element] {
    if stamp.kind == .member { budget.begin(fileSize: size) }
    let decoded: Decoded
    if let ahead, stamp.kind != .member || ahead.budget.hasResult(of: budget) {
      decoded = ahead
      if stamp.kind == .member { budget = ahead.budget }
    } else {
      isInTurn.word.store(1)
      decoded = Self.decode(stamp, body, decoder, budget)
    }
    ahead = nil
    report.add(decoded.report)
    return try decoded.models.get()
  }

  private static func decode(
    _ stamp: Stamp, _ body: [UInt8], _ decoder: ArchiveDecoder, _ budget: WorkBudget
  ) -> Decoded {
    let context = DecodingContext(
      limits: decoder.limits, finishing: .gathering(validates: decoder.validates), budget: budget)
    context.subclasses = decoder.subclasses
    context.readsCompleteRecords = true
    context.floors = stamp.floors
    let models = Result { try Self.models(stamp, body, context) }
    return Decoded(models: models, report: context.report, budget: budget)
  }

  private static func models(_ stamp: Stamp, _ body: [UInt8], _ context: DecodingContext) throws -> [Element] {
    guard stamp.kind != .single else {
      throw ArchiveError(
        .typeMismatch,
        "this archive contains one value, not a stream; read the value with ArchiveDecoder", typeName: stamp.typeName)
    }
    try Element._rootSchema?.check(stamp)
    guard stamp.kind == .member else { return [] }
    return try context.checked {
      var archive = ArchiveReader(body.bytes, context: context)
      try archive.beginBody()
      let models: [Element]
      do { models = try archive.readRoots(Element.self) } catch let error as ArchiveError {
        guard error.codingPath.count < 2 else { throw error }
        throw error.naming(stamp, expected: Element._archiveTypeName)
      }
      try archive.endBody()
      return models
    }
  }
}
