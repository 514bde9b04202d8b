public import Foundation

extension ArchiveError: CustomStringConvertible, LocalizedError {
  /// A one-line message with the problem, the path and the remedy. The wording may change between releases.
  public var description: String {
    var text = fileName.map { "“\($0)”: \(reason)" } ?? reason
    // If there are several failures, no path is appended here, because the text of each failure contains its own path.
    if !codingPath.isEmpty, failures.count < 2 {
      text += " (at \(Self.shortDescription(codingPath))"
      text += jsonPath == codingPath ? ")" : ", in JSON at \(Self.shortDescription(jsonPath)))"
    }
    if let typeName { text += " [\(typeName)]" }
    if failures.count > 1 { return text + ": " + failures.map(\.description).joined(separator: "; ") }
    // The reason of a file system error already contains the operating system's message, so the underlying error is not repeated.
    if let underlyingError, !(code == .fileSystem && underlyingError is POSIXError) {
      text += ": \(Self.wording(of: underlyingError))"
    }
    for other in details.others { text += "; \(other)" }
    return text
  }

  public var errorDescription: String? { description }

  /// The path in Swift notation, such as `owner.users[3].name`.
  public var pathDescription: String { Self.describe(codingPath) }

  /// Returns a path as a string for a message. If the path has more than 20 components, only the first ten and the last ten are included.
  private static func shortDescription(_ path: [PathComponent]) -> String {
    guard path.count > 20 else { return describe(path) }
    return "\(describe(Array(path.prefix(10)))) … \(path.count - 20) more … \(describe(Array(path.suffix(10))))"
  }

  package static func describe(_ path: [PathComponent]) -> String {
    var text = ""
    for component in path {
      switch component {
      case .key(let key): text += text.isEmpty ? key : "." + key
      case .index(let index): text += "[\(index)]"
      }
    }
    return text
  }

  /// Returns a description of an underlying error for a message. Errors of decoders, encoders and transformers are described without the
  /// values that their own descriptions contain.
  package static func wording(of error: any Error) -> String {
    // The debug text of a `DecodingError` contains values, so the message only names the kind of error.
    switch error {
    case DecodingError.typeMismatch(let type, _): "a value is not of type \(type)"
    case DecodingError.valueNotFound(let type, _): "a value of type \(type) is missing"
    case DecodingError.keyNotFound(let key, _): "the key \(key.stringValue) is missing"
    case DecodingError.dataCorrupted: "the data does not represent a valid value"
    case EncodingError.invalidValue: "a value cannot be encoded"
    // The `ArchiveError` has the same reason as the `TransformError`, so only the type of the error that caused the `TransformError` is
    // named.
    case let error as TransformError:
      error.underlyingError.map { "\(type(of: $0))" } ?? "a transformer rejected the value"
    default: String(describing: error)
    }
  }
}
