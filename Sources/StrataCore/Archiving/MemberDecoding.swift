/// Decodes the members of a stream before their turn comes, and gives their models in the order of the stream.
///
/// The members of a stream share one ``WorkBudget``, so how much a member may do depends on those before it. A member that is decoded before its
/// turn has the budget of the first member. Its result counts if the members before it left enough for the same result. Otherwise it is decoded
/// again in its turn, as are all members after it.
final class MemberDecoding<Element: Archivable & SendableMetatype>: WorkAhead {
  /// What decoding one member gave. No other reference to it exists, so it may go from thread to thread.
  private struct Decoded: @unchecked Sendable {
    let models: Result<[Element], any Error>
    let report: DecodingReport
    let budget: WorkBudget
  }

  private let decoder: ArchiveDecoder
  private let work: OrderedWork<Decoded>
  /// What the members so far left.
  private var budget: WorkBudget
  /// Whether members are decoded only in their turn.
  private var isInTurn: Bool
  /// What was noticed in the members so far.
  private(set) var report = DecodingReport()

  init(_ decoder: ArchiveDecoder, threads: Int) {
    self.decoder = decoder
    budget = WorkBudget(decoder.limits)
    work = OrderedWork(threads: threads)
    isInTurn = threads <= 1
  }

  var hasRoom: Bool { work.hasRoom && !isInTurn && !Task.isCancelled }

  func begin(_ stamp: Stamp, _ body: [UInt8], _ size: Int) {
    if isInTurn { return }
    work.add(weight: body.count) { [decoder] in
      let budget = WorkBudget(decoder.limits)
      if stamp.kind == .member { budget.begin(fileSize: size) }
      return Self.decode(stamp, body, decoder, budget)
    }
  }

  func forgetAll() { work.removeAll() }

  /// The models of the first member that was begun.
  func models(_ stamp: Stamp, _ body: [UInt8], _ size: Int) throws -> [Element] {
    let ahead = try work.first()
    work.removeFirst()
    if stamp.kind == .member { budget.begin(fileSize: size) }
    let decoded: Decoded
    if let ahead, stamp.kind != .member || ahead.budget.hasResult(of: budget) {
      decoded = ahead
      if stamp.kind == .member { budget = ahead.budget }
    } else {
      isInTurn = true
      decoded = Self.decode(stamp, body, decoder, budget)
    }
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
    let models = Result { try Self.models(stamp, body, context) }
    return Decoded(models: models, report: context.report, budget: budget)
  }

  private static func models(_ stamp: Stamp, _ body: [UInt8], _ context: DecodingContext) throws -> [Element] {
    guard stamp.kind != .single else {
      throw ArchiveError(
        .typeMismatch, "this archive holds one value; read it with ArchiveDecoder", typeName: stamp.typeName)
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
