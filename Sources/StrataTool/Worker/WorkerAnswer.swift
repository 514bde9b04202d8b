internal import Foundation
internal import StrataCore

/// A worker's answer to one request (Docs/Worker.md, Frames).
struct WorkerAnswer {
  enum Outcome: UInt8 {
    case intact = 1
    case current = 2
    case upgraded = 3
    case converted = 4
    case merged = 5
    case conflicts = 6
    case read = 7
    case damaged = 32
    case refused = 33
    case unsupported = 34
    case unknown = 35
    case unreadable = 36
    case invalid = 37
  }

  let number: UInt64
  private(set) var outcome: Outcome
  /// The version of the model in the archive. `currentVersion` is the version of the same model in the program.
  private(set) var foundVersion: Int?
  private(set) var currentVersion: Int?
  /// The archive that the operation created. Empty if the operation created no archive.
  private(set) var archive = Data()
  private(set) var typeName = ""
  private(set) var details = ArchiveObject()

  init(_ number: UInt64, _ outcome: Outcome, archive: Data = Data(), details: ArchiveObject = ArchiveObject()) {
    (self.number, self.outcome, self.archive, self.details) = (number, outcome, archive, details)
  }

  /// Creates the answer for a failure.
  init(_ number: UInt64, _ outcome: Outcome, _ message: String, code: ArchiveError.Code? = nil) {
    self.init(number, outcome)
    if let code { details["code"] = .string(code.rawValue) }
    details["message"] = .string(message)
  }

  /// Adds the type and version from the stamp of an archive, and the program's version of the same model.
  mutating func add(_ stamp: Stamp, _ type: ArchivedType?) {
    (typeName, foundVersion) = (stamp.typeName, stamp.modelVersion)
    currentVersion = type?.type._rootSchema?.modelVersion
  }

  /// Adds a description of each key that no field has read after the migration steps.
  mutating func add(_ report: DecodingReport) {
    guard !report.unusedKeys.isEmpty else { return }
    details["losses"] = .array(report.unusedKeys.map { .string("no field reads \($0)") })
  }

  mutating func add(losses: [String]) {
    if !losses.isEmpty { details["losses"] = .array(losses.map { .string($0) }) }
  }

  /// Appends the frame of the answer. If the frame would exceed `maxFrame` bytes, appends a failure instead.
  func append(to output: inout [UInt8], maxFrame: Int) throws {
    let text = details.entries.isEmpty ? Data() : try JSONWriter().write(.object(details))
    let parts = [archive, Data(typeName.utf8), text]
    let length = parts.reduce(8 + 1 + 1 + 8 + 8) { $0 + 4 + $1.count }
    guard length <= maxFrame else {
      let message =
        "the response has \(length) bytes, more than the limit of \(maxFrame) bytes; raise the limit with --max-frame"
      var failure = WorkerAnswer(number, .unsupported, message, code: .limitExceeded)
      (failure.foundVersion, failure.currentVersion) = (foundVersion, currentVersion)
      return try failure.append(to: &output, maxFrame: .max)
    }
    output.appendLittleEndian(UInt32(length))
    output.appendLittleEndian(number)
    output.append(outcome.rawValue)
    output.append(UInt8(parts.count))
    for version in [foundVersion, currentVersion] { output.appendLittleEndian(version.map(Int64.init) ?? -1) }
    for part in parts {
      output.appendLittleEndian(UInt32(part.count))
      output.append(contentsOf: part)
    }
  }
}
