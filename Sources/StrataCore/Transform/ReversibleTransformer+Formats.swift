public import Foundation

extension ReversibleTransformer where Input == String, Output == Double {
  /// Converts between numbers and strings in a given style and locale, such as `12,345.678`. A number with more digits than a double can
  /// hold is rounded to the nearest double.
  ///
  /// - Parameters:
  ///   - style: the number style; by default `.decimal`.
  ///   - locale: the locale; by default `en_US`.
  public static func number(
    style: NumberFormatter.Style = .decimal, locale: Locale = Locale(identifier: "en_US")
  ) -> Self {
    let numbers = NumberFormatter()
    numbers.numberStyle = style
    numbers.locale = locale
    let formatter = Mutex(numbers)
    return text(
      "the text is not a number in the expected format",
      { text in formatter.withLock { $0.number(from: text)?.doubleValue } }
    ) { number in
      guard let text = formatter.withLock({ $0.string(from: NSNumber(value: number)) }) else {
        throw TransformError("the number cannot be written in the expected format", input: number)
      }
      return text
    }
  }
}

extension ReversibleTransformer where Input == String, Output: Sendable {
  /// Converts between strings and values with two closures, which usually call a formatter.
  ///
  /// - Parameters:
  ///   - type: the type that `parse` must return. If `parse` returns a value of any other type, the conversion throws
  ///     an error.
  ///   - parse: returns the value for a string, or `nil` to reject the string.
  ///   - format: returns the string for a value, or `nil` to reject the value.
  public static func formatter(
    _ type: Output.Type = Output.self, parse: @escaping @Sendable (String) throws -> Any?,
    format: @escaping @Sendable (Output) throws -> String?
  ) -> Self {
    Self(
      { text in
        guard let value = try parse(text) else {
          throw TransformError("the formatter cannot parse the text", input: text)
        }
        guard let output = value as? Output, Swift.type(of: value) == Output.self || !(value is NSNumber) else {
          throw TransformError(
            "the formatter must return a value of type \(Output.self); found \(Swift.type(of: value))", input: text)
        }
        return output
      },
      reverse: { output in
        guard let text = try format(output) else {
          throw TransformError("the formatter cannot convert the value to text", input: output)
        }
        return text
      })
  }
}

extension Transformer where Input == any Sendable {
  /// A transformer that returns values of the given type unchanged and rejects all other values.
  public static func validating(_ type: Output.Type = Output.self) -> Self {
    Self { input in
      guard let output = input as? Output, Swift.type(of: input) == Output.self || Output.self is AnyClass else {
        throw TransformError("the value must be of type \(Output.self); found \(Swift.type(of: input))", input: input)
      }
      return output
    }
  }
}
