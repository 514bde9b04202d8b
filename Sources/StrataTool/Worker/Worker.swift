internal import Foundation
internal import StrataCore

/// Answers requests from another program, using the models of this program (Docs/Worker.md).
struct Worker {
  static let protocolVersion = 1
  /// The number of buffered bytes at which the answers are written to the output.
  private static let outputSize = 1 << 16

  let models: ToolModels
  let limits: ArchiveLimits
  let mergeOptions: MergeOptions
  let maxFrame: Int

  /// Answers requests until the input ends.
  ///
  /// - Throws: `ToolError` if the input ends inside a frame or cannot be read, or any error thrown while writing
  ///   the answers.
  func run(on console: Console) throws {
    var output: [UInt8] = []
    func flush() throws {
      guard !output.isEmpty else { return }
      try console.write(Data(output))
      output.removeAll(keepingCapacity: true)
    }
    let greeting = try greeting()
    output.appendLittleEndian(UInt32(greeting.count))
    output.append(contentsOf: greeting)
    var input = WorkerInput(maxFrame: maxFrame, console.readSome)
    while let frame = try input.next(flush) {
      try answer(frame).append(to: &output, maxFrame: maxFrame)
      if output.count >= Self.outputSize { try flush() }
    }
    try flush()
  }

  private func greeting() throws -> Data {
    var greeting = ArchiveObject()
    greeting["protocol"] = .integer(Self.protocolVersion)
    greeting["program"] = .string("strata \(Tool.version)")
    greeting["maxFrame"] = .integer(maxFrame)
    greeting["models"] = .array(
      models.types.map { type in
        var model = ArchiveObject()
        model["name"] = .string(type.schema.name)
        model["version"] = .integer(type.schema.modelVersion)
        return .object(model)
      })
    return try JSONWriter().write(.object(greeting))
  }

  private func answer(_ frame: WorkerInput.Frame) -> WorkerAnswer {
    switch frame {
    case .tooLong(let number, let length):
      let message =
        "the request has \(length) bytes, more than the limit of \(maxFrame) bytes; raise the limit with --max-frame"
      return WorkerAnswer(number, .unsupported, message, code: .limitExceeded)
    case .request(let bytes):
      do { return answer(try WorkerRequest(bytes)) } catch let error as WorkerRequest.Malformed {
        return WorkerAnswer(error.number, .invalid, error.reason)
      } catch { return WorkerAnswer(.max, .invalid, ToolError.message(of: error)) }
    }
  }

  private func answer(_ request: WorkerRequest) -> WorkerAnswer {
    let files: [InputFile]
    do { files = try request.parts.map(file) } catch {
      return WorkerAnswer(request.number, .unreadable, ToolError.message(of: error), code: Self.code(of: error))
    }
    do {
      switch request.operation {
      case .verify: return verify(request.number, files[0])
      case .upgrade: return try upgrade(request.number, files[0])
      case .convert: return try convert(request.number, files)
      case .merge: return try merge(request.number, files)
      case .stamp: return try stamp(request.number, files[0])
      }
    } catch { return failure(request.number, error, files[0]) }
  }

  // MARK: Operations

  private func verify(_ number: UInt64, _ file: InputFile) -> WorkerAnswer {
    let result = models.verify(file, limits: limits)
    var answer = WorkerAnswer(number, WorkerAnswer.Outcome(result.outcome))
    if result.outcome.isFailure {
      answer = WorkerAnswer(number, answer.outcome, result.message ?? "", code: result.code)
    }
    // `try?` because the outcome already reports a stamp that cannot be read.
    if let stamp = try? file.stamp() { answer.add(stamp, models.type(of: stamp)) }
    answer.add(losses: result.content?.losses ?? [])
    return answer
  }

  private func upgrade(_ number: UInt64, _ file: InputFile) throws -> WorkerAnswer {
    let stamp = try archiveStamp(of: file)
    guard let type = models.type(of: stamp) else { return unknown(number, stamp) }
    let data = try file.data()
    var report = DecodingReport()
    let upgraded: Data
    let isCurrent: Bool
    if stamp.kind == .single {
      upgraded = try models.upgrade(data, stamp, limits: limits, report: &report)
      isCurrent = upgraded == data
    } else {
      (upgraded, isCurrent) = try upgradedStream(file, type, &report)
    }
    var answer = WorkerAnswer(number, isCurrent ? .current : .upgraded, archive: isCurrent ? Data() : upgraded)
    answer.add(stamp, type)
    answer.add(report)
    return answer
  }

  /// Upgrades a complete stream, using temporary files.
  private func upgradedStream(
    _ file: InputFile, _ type: ArchivedType, _ report: inout DecodingReport
  ) throws -> (upgraded: Data, isCurrent: Bool) {
    let output = FileManager.default.temporaryDirectory.appendingPathComponent("strata-" + UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: output) }  // If this fails, the system deletes the file later.
    let wasOlder: Bool
    (_, report, wasOlder) = try models.upgrade(file, as: type, to: DataFile(output.path), limits: limits)
    return (Data(try AtomicFile.read(output)), !wasOlder)
  }

  private func convert(_ number: UInt64, _ files: [InputFile]) throws -> WorkerAnswer {
    let archive: Data
    switch files[0].format {
    case .propertyList(let isBinary):
      guard files.count == 1 else {
        return WorkerAnswer(number, .invalid, "only a JSON document is converted with a model; omit the second part")
      }
      archive = try LegacyConversion(limits: limits).archive(
        files[0].legacyDocument(isBinary: isBinary, limits: limits))
    case .archive: throw Self.unconvertible(try files[0].archiveName)
    case .other(let found):
      guard InputFile.mayBeJSON(found) else { throw Self.unconvertible(found) }
      guard files.count == 2, let name = String(validUTF8: try files[1].data()) else {
        return WorkerAnswer(number, .invalid, "a JSON document requires a second part with the name of its model")
      }
      let document = try DataFile(files[0].path).document(in: files[0].data())
      archive = try models.archive(ofJSON: document, as: models.type(ofOption: name), ignoresUnknownKeys: false)
    }
    var answer = WorkerAnswer(number, .converted, archive: archive)
    let stamp = try Stamp(of: archive)
    answer.add(stamp, models.type(of: stamp))
    return answer
  }

  private func merge(_ number: UInt64, _ files: [InputFile]) throws -> WorkerAnswer {
    let stamp = try archiveStamp(of: files[0])
    guard let type = models.type(of: stamp) else { return unknown(number, stamp) }
    guard let model = type.type as? any VersionedModel.Type else {
      return WorkerAnswer(
        number, .unsupported, "the local archive contains \(stamp.typeName), but a worker can merge only single models")
    }
    let result = try models.merge(
      model, files[0], base: files.count > 2 ? files[2] : nil, .document(files[1].path), files[1], mergeOptions,
      ignoresUnknownKeys: false, limits: limits)
    var details = ArchiveObject()
    let conflicts = result.report.conflicts
    if !conflicts.isEmpty { details["conflicts"] = .array(conflicts.map { .string($0.path.description) }) }
    var answer = WorkerAnswer(
      number, conflicts.isEmpty ? .merged : .conflicts, archive: try result.data(nil), details: details)
    answer.add(stamp, type)
    return answer
  }

  private func stamp(_ number: UInt64, _ file: InputFile) throws -> WorkerAnswer {
    let stamp = try archiveStamp(of: file)
    var details = ArchiveObject()
    details["kind"] = .string("\(stamp.kind)")
    details["sequenceNumber"] = .integer(stamp.sequenceNumber)
    details["fingerprint"] = .string(String(stamp.fingerprint, radix: 16))
    details["plainSize"] = .integer(stamp.plainSize)
    details["count"] = .integer(stamp.count)
    var answer = WorkerAnswer(number, .read, details: details)
    answer.add(stamp, models.type(of: stamp))
    return answer
  }

  // MARK: Inputs and failures

  /// Returns the input for a part of a request. If the part is a byte range that contains one member of a stream,
  /// the input is an archive whose value is the array of the member's models.
  private func file(_ part: WorkerRequest.Part) throws -> InputFile {
    switch part {
    case .bytes(let data): return InputFile(named: "the archive", content: data)
    case .range(let range):
      var data = try range.data(limit: maxFrame)
      // A range that is not an intact member is passed on unchanged, so that the operation reports the damage.
      if !range.isWhole, let list = try? Self.list(ofMember: data, limits) { data = list }
      return InputFile(named: range.location, content: data)
    }
  }

  /// - Returns: an archive whose value is the array of the member's models, or `nil` if the data is not a member of
  ///   a stream.
  private static func list(ofMember data: Data, _ limits: ArchiveLimits) throws -> Data? {
    var stamp = try Stamp(of: data)
    guard stamp.kind == .member else { return nil }
    let member = try Gzip.inflateMember(at: 0, in: data.bytes, limits: limits)
    guard member.nextOffset == data.count else { return nil }
    (stamp.kind, stamp.sequenceNumber, stamp.typeName) = (.single, 0, "[\(stamp.typeName)]")
    var list: [UInt8] = []
    try Gzip.appendMember(body: member.body.bytes, stamp: stamp, minimumSize: data.count, to: &list)
    return Data(list)
  }

  /// - Throws: `ArchiveError` if the file is not an archive.
  private func archiveStamp(of file: InputFile) throws -> Stamp {
    switch file.format {
    case .archive:
      guard try !file.isEmpty else { throw ArchiveError(.truncated, "the archive is empty") }
      return try file.stamp()
    case .propertyList:
      throw ArchiveError(
        .notAnArchive, "the file is a property list; convert it to an archive with strata convert")
    case .other(let found): throw InputFile.unknown(found)
    }
  }

  /// Returns the error for a file in a format that cannot be converted.
  private static func unconvertible(_ found: String) -> ArchiveError {
    ArchiveError(
      .notAnArchive, "found \(found) where a keyed archive, a property list or a JSON document is expected",
      byteOffset: 0)
  }

  private func unknown(_ number: UInt64, _ stamp: Stamp) -> WorkerAnswer {
    var answer = WorkerAnswer(number, .unknown, models.unknown(stamp).message)
    answer.add(stamp, nil)
    return answer
  }

  private static func code(of error: any Error) -> ArchiveError.Code? {
    (error as? ArchiveError)?.code ?? (error as? ToolError)?.code
  }

  /// Returns the answer for a failed operation on an archive. If the archive can be read to its end, the outcome is
  /// "refused" instead of "damaged".
  private func failure(_ number: UInt64, _ error: any Error, _ file: InputFile) -> WorkerAnswer {
    let result = FileResult(file.path, error)
    var outcome = WorkerAnswer.Outcome(result.outcome)
    if outcome == .damaged || outcome == .unreadable {
      // `try?` because the answer reports the error of the operation. The walk only shows whether the archive can be
      // read to its end.
      let isIntact = (try? file.walk(limits: limits) { _, _ in }) != nil
      outcome = isIntact ? .refused : .damaged
    }
    var answer = WorkerAnswer(number, outcome, result.message ?? "", code: result.code)
    // `try?` because the outcome already reports a stamp that cannot be read.
    if let stamp = try? file.stamp() { answer.add(stamp, models.type(of: stamp)) }
    return answer
  }
}

extension WorkerAnswer.Outcome {
  /// Converts the outcome of a command to the outcome of a worker.
  fileprivate init(_ outcome: FileResult.Outcome) {
    switch outcome {
    case .intact: self = .intact
    case .upgraded: self = .upgraded
    case .current: self = .current
    case .damaged: self = .damaged
    case .refused: self = .refused
    case .unsupported, .other: self = .unsupported
    case .unknown: self = .unknown
    case .missing, .unreadable, .exists: self = .unreadable
    }
  }
}
