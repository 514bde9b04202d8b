public import Foundation

extension ReversibleTransformer where Input == String, Output: Sendable {
  /// Creates a transformer between strings and values. If `parse` returns `nil`, the string is rejected with `reason` as the description of
  /// the error.
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
  /// Converts between strings and URLs. A string is rejected if it contains unescaped characters that are not allowed in a URL, such as
  /// spaces or non-ASCII letters.
  public static var url: Self {
    text("the text is not a URL; percent-encode it, or use url(percentEncoding: true)", { URL(exactly: $0) }) {
      $0.absoluteString
    }
  }

  /// Converts between strings and URLs. If `percentEncoding` is true, characters that are not allowed in a URL are escaped.
  ///
  /// On macOS 13 and iOS 16, Foundation does not escape characters, so a string with such characters is rejected.
  public static func url(percentEncoding: Bool) -> Self {
    guard percentEncoding else { return url }
    return text("the text is not a URL, even after percent-encoding", { URL(string: $0) }) { $0.absoluteString }
  }
}

extension ReversibleTransformer where Input == String, Output == UUID {
  /// Converts between strings and UUIDs. Accepts uppercase and lowercase letters, but writes only uppercase letters.
  public static var uuid: Self {
    text("the text is not a UUID in the form E621E1F8-C36C-495A-93FC-0C247A3E6E5F", { UUID(uuidString: $0) }) {
      $0.uuidString
    }
  }
}

/// The form in which ``ReversibleTransformer/boolean(writing:)`` writes booleans.
public enum BooleanForm: String, Sendable, Hashable {
  /// `true` and `false`.
  case boolean
  /// `1` and `0`.
  case number
}

extension ReversibleTransformer where Input == ArchiveValue, Output == Bool {
  /// Converts numbers to booleans: 0 is false, and any other number is true. Booleans are accepted unchanged. Strings and null are
  /// rejected. Booleans are written as `true` and `false`.
  public static var boolean: Self { boolean(writing: .boolean) }

  /// Converts numbers to booleans like ``boolean``, but writes booleans to JSON in the given form.
  public static func boolean(writing form: BooleanForm) -> Self {
    Self(
      { value in
        switch value {
        case .bool(let value): return value
        case .int, .uint, .wideInteger, .number: return value != .int(0)
        case .double(let number) where !number.isNaN: return number != 0
        case .float(let number) where !number.isNaN: return number != 0
        case .decimal(let number) where !number.isNaN: return number != 0
        default:
          throw TransformError("the value must be a number or a boolean; found \(value.kind)", input: value)
        }
      }, reverse: { form == .number ? .int($0 ? 1 : 0) : .bool($0) })
  }
}
