internal import Foundation
internal import StrataCore

/// The result of `verify` or `upgrade` for one file.
struct FileResult {
  enum Outcome: String {
    case intact
    /// The file had an older version and was upgraded to the current version.
    case upgraded
    /// The file is already in the current version.
    case current
    /// The file starts like an archive, a keyed archive or a property list but is invalid.
    case damaged
    /// The archive is intact, but its model rejects it.
    case refused
    case missing
    /// The operating system cannot read the file.
    case unreadable
    /// The file has a different format or a newer format version, or exceeds the limits.
    case unsupported
    /// No model of the program is registered for the archive.
    case unknown
    /// The output file already exists and was not replaced.
    case exists
    /// The file was found in a folder and is skipped because it has a different format.
    case other

    var style: TextStyle {
      switch self {
      case .intact, .upgraded, .current: .green
      case .damaged, .refused: .red
      case .missing, .unreadable, .unsupported, .unknown, .exists: .yellow
      case .other: .dim
      }
    }

    /// Whether this outcome makes the command fail.
    var isFailure: Bool { style != .green && style != .dim }
  }

  /// The content of an intact file.
  struct Content {
    let kind: String
    var type: String?
    var modelVersion: Int?
    let count: UInt64
    /// The unit of `count`, as a noun in the singular.
    let noun: String
    let size: Int
    /// The type and version of the decoded values; `nil` if no model is registered for the archive's type.
    var model: String?
    /// The version of the model in the program.
    var currentVersion: Int?
    /// Descriptions of the values that the models discarded.
    var losses: [String] = []

    /// The type and version of the file, or its kind if it has no type. If the file was decoded, the type and version
    /// of the decoded values follow.
    var name: String {
      let name = type.map { type in modelVersion.map { "\(type)@\($0)" } ?? type } ?? kind
      return model.map { $0 == name ? "\(name) decoded" : "\(name) → \($0)" } ?? name
    }

    /// Adds the type of the decoded values, and their decoding report.
    mutating func add(_ type: ArchivedType, _ report: DecodingReport) {
      currentVersion = type.type._rootSchema?.modelVersion
      model = currentVersion.map { "\(type.name)@\($0)" } ?? type.name
      losses = report.unusedKeys.map { "no field reads \($0)" }
    }
  }

  let path: String
  let outcome: Outcome
  private(set) var content: Content?
  private(set) var message: String?
  private(set) var code: ArchiveError.Code?

  init(_ path: String, _ content: Content, _ outcome: Outcome = .intact) {
    (self.path, self.outcome, self.content) = (path, outcome, content)
  }

  init(_ path: String, _ outcome: Outcome, _ message: String) {
    (self.path, self.outcome, self.message) = (path, outcome, message)
  }

  /// Creates the result for an error that was thrown while the file was read.
  ///
  /// - Parameter isIntact: whether the file was read from start to end before the error, which means that the model
  ///   rejected the file.
  init(_ path: String, _ error: any Error, isIntact: Bool = false) {
    let code = (error as? ArchiveError)?.code ?? (error as? ToolError)?.code
    let message = ToolError.message(of: error)
    // The line of output already contains the path, so the path is removed from the start of the message.
    let start = (path == "-" ? "standard input" : path).onOneLine + ": "
    let found = Self.outcome(code, path)
    let outcome = isIntact && found == .damaged ? .refused : found
    self.init(
      path, outcome, message.hasPrefix(start) ? String(message.dropFirst(start.count)) : message)
    self.code = code
    if outcome == .missing { self.message = String(cString: strerror(ENOENT)) }
  }

  private static func outcome(_ code: ArchiveError.Code?, _ path: String) -> Outcome {
    switch code {
    case .notAnArchive?, .newerFormat?, .newerModel?, .limitExceeded?: .unsupported
    case .fileSystem?: FileTree.isMissing(path) ? .missing : .unreadable
    case nil: .unreadable
    default: .damaged
    }
  }

  var json: ArchiveValue {
    var object = ArchiveObject()
    object["file"] = .string(path)
    object["outcome"] = .string(outcome.rawValue)
    if let content {
      object["kind"] = .string(content.kind)
      if let type = content.type {
        object["type"] = .string(type)
        object["modelVersion"] = .orNull(content.modelVersion)
      }
      object["count"] = .integer(content.count)
      object["size"] = .integer(content.size)
      if let model = content.model {
        object["model"] = .string(model)
        object["losses"] = .array(content.losses.map { .string($0) })
      }
    }
    if let code { object["code"] = .string("\(code)") }
    if let message { object["message"] = .string(message) }
    return .object(object)
  }
}
