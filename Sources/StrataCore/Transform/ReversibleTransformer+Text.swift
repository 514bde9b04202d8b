public import Foundation

extension ReversibleTransformer where Input == String, Output: Sendable {
  /// Text and what a function makes of it, which refuses a text with `nil`.
  static func text(
    _ reason: String, _ parse: @escaping @Sendable (String) -> Output?,
    write: @escaping @Sendable (Output) throws -> String
  ) -> Self {
    Self(
      { text in
        guard let output = parse(text) else { throw TransformError(reason, input: text) }
        return output
      }, reverse: write)
  }
}

extension ReversibleTransformer where Input == String, Output == URL {
  /// Text and URL. What is no URL as it is, with a space or a letter beyond ASCII, is refused.
  public static var url: Self {
    text("the text is not a URL; escape it first, or use url(percentEncoding: true)", { URL(exactly: $0) }) {
      $0.absoluteString
    }
  }

  /// Text and URL; characters that a URL cannot hold are escaped where `percentEncoding` says so.
  ///
  /// The Foundation of macOS 13 and iOS 16 escapes no characters: there a text with such characters is refused.
  public static func url(percentEncoding: Bool) -> Self {
    guard percentEncoding else { return url }
    return text("the text is not a URL, not even with percent encoding", { URL(string: $0) }) { $0.absoluteString }
  }
}

extension ReversibleTransformer where Input == String, Output == UUID {
  /// Text and UUID; read in either case and written in upper case.
  public static var uuid: Self {
    text("the text is not a UUID, such as E621E1F8-C36C-495A-93FC-0C247A3E6E5F", { UUID(uuidString: $0) }) {
      $0.uuidString
    }
  }
}

/// How ``ReversibleTransformer/boolean`` writes.
public enum BooleanForm: String, Sendable, Hashable {
  /// `true` and `false`.
  case boolean
  /// 1 and 0.
  case number
}

extension ReversibleTransformer where Input == ArchiveValue, Output == Bool {
  /// A number as a boolean: 0 is false, any other number true. Booleans pass; text and null are refused. Written as
  /// `true` and `false`.
  public static var boolean: Self { boolean(writing: .boolean) }

  /// A number as a boolean, written as a boolean or as 1 and 0.
  public static func boolean(writing form: BooleanForm) -> Self {
    Self(
      { value in
        switch value {
        case .bool(let value): return value
        case .int, .uint, .wideInteger: return value != .int(0)
        case .double(let number) where !number.isNaN: return number != 0
        case .float(let number) where !number.isNaN: return number != 0
        case .decimal(let number) where !number.isNaN: return number != 0
        default:
          throw TransformError("found \(value.kind) where a number or a boolean is expected", input: value)
        }
      }, reverse: { form == .number ? .int($0 ? 1 : 0) : .bool($0) })
  }
}
