internal import Foundation
internal import StrataCore

/// The result of `verify` for one file.
struct VerifyResult {
  enum Outcome: String, CaseIterable {
    case intact
    /// Begins like an archive, a keyed archive or a property list, and is invalid.
    case damaged
    case missing
    /// The system cannot read the file.
    case unreadable
    /// Another format, a newer format version, or beyond the limits.
    case unsupported
    /// A file of another format in a folder, which is skipped.
    case other

    var ink: Ink {
      switch self {
      case .intact: .green
      case .damaged: .red
      case .missing, .unreadable, .unsupported: .yellow
      case .other: .dim
      }
    }

    /// Whether the command fails because of this outcome.
    var isFailure: Bool { self != .intact && self != .other }
  }

  /// The content of an intact file.
  struct Content {
    let kind: String
    var type: String?
    var modelVersion: Int?
    let count: UInt64
    /// The unit of `count`.
    let noun: String
    let size: Int

    /// The type and version, or else the kind of file.
    var name: String { type.map { type in modelVersion.map { "\(type)@\($0)" } ?? type } ?? kind }
  }

  let path: String
  let outcome: Outcome
  private(set) var content: Content?
  private(set) var message: String?
  private(set) var code: ArchiveError.Code?

  init(_ path: String, _ content: Content) {
    (self.path, outcome, self.content) = (path, .intact, content)
  }

  init(_ path: String, _ outcome: Outcome, _ message: String) {
    (self.path, self.outcome, self.message) = (path, outcome, message)
  }

  /// The result for an error that reading the file threw.
  init(_ path: String, _ error: any Error) {
    let code = (error as? ArchiveError)?.code ?? (error as? ToolError)?.code
    let message = ToolError.message(of: error)
    // The output line already names the path.
    let start = (path == "-" ? "standard input" : path).onOneLine + ": "
    let outcome = Self.outcome(code, path)
    self.init(
      path, outcome, message.hasPrefix(start) ? String(message.dropFirst(start.count)) : message)
    self.code = code
    if outcome == .missing { self.message = String(cString: strerror(ENOENT)) }
  }

  private static func outcome(_ code: ArchiveError.Code?, _ path: String) -> Outcome {
    switch code {
    case .notAnArchive?, .newerFormat?, .limitExceeded?: .unsupported
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
    }
    if let code { object["code"] = .string("\(code)") }
    if let message { object["message"] = .string(message) }
    return .object(object)
  }
}
