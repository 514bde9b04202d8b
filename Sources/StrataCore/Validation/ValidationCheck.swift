/// A check of a single value.
public struct ValidationCheck<Value>: Sendable {
  @usableFromInline let run: @Sendable (Value) throws -> Void

  /// Creates a custom check from a closure. If the value is invalid, the closure throws an error, such as an ``InvalidValue``.
  @inlinable
  public init(_ run: @escaping @Sendable (Value) throws -> Void) { self.run = run }

  /// Checks a condition. If the condition does not hold, `reason` describes the problem.
  @inlinable
  public static func that(_ reason: String, _ holds: @escaping @Sendable (Value) throws -> Bool) -> Self {
    Self { if try !holds($0) { throw InvalidValue(reason) } }
  }
}

extension ValidationCheck where Value: Collection & SendableMetatype {
  /// Checks that a collection or a string is not empty.
  @inlinable
  public static var nonEmpty: Self {
    Self { if $0.isEmpty { throw InvalidValue("must not be empty", code: .nonEmpty) } }
  }

  /// Checks that the number of elements of a collection is in the given range.
  @inlinable
  public static func count(_ range: some RangeExpression<Int> & Sendable) -> Self {
    Self { value in
      if !range.contains(value.count) {
        throw InvalidValue(describe(range, of: "elements"), code: .count)
      }
    }
  }
}

extension ValidationCheck where Value: StringProtocol & SendableMetatype {
  /// Checks that the number of characters of a string is in the given range.
  @inlinable
  public static func length(_ range: some RangeExpression<Int> & Sendable) -> Self {
    Self { value in
      if !range.contains(value.count) {
        throw InvalidValue(describe(range, of: "characters"), code: .length)
      }
    }
  }
}

extension ValidationCheck where Value: Comparable & SendableMetatype {
  /// Checks that the value is in the given range. NaN is not in any range.
  @inlinable
  public static func range(_ range: some RangeExpression<Value> & Sendable) -> Self {
    Self { value in
      if !range.contains(value) { throw InvalidValue("must be in the range \(describe(range))", code: .range) }
    }
  }
}

extension ValidationCheck where Value: BidirectionalCollection & SendableMetatype, Value.SubSequence == Substring {
  /// Checks that the whole string matches a regular expression.
  public static func matches(_ regex: sending Regex<some Any>) -> Self {
    // A lock protects the regular expression, because it may contain closures that are not safe to call from several threads.
    let pattern = Mutex(regex)
    return Self { text in
      let text = text[...]
      if try pattern.withLock({ try $0.wholeMatch(in: text) == nil }) {
        throw InvalidValue("must match the pattern", code: .matches)
      }
    }
  }
}

// These unavailable overloads make the compiler explain the mistake if a check is used for an unsuitable type. Without them, the compiler
// would only report a missing constraint.
extension ValidationCheck {
  /// Unavailable for a value that is not a collection. The compiler's error suggests a fix.
  @available(
    *, unavailable,
    message: "nonEmpty applies only to collections and text; use .range for a number, or .that for other checks"
  )
  @_disfavoredOverload
  public static var nonEmpty: Self { Self { _ in } }

  /// Unavailable for a value that is not a collection. The compiler's error suggests a fix.
  @available(
    *, unavailable, message: "count applies only to collections; use .range for a number, or .that for other checks"
  )
  @_disfavoredOverload
  public static func count(_ range: some RangeExpression<Int> & Sendable) -> Self { Self { _ in } }

  /// Unavailable for a value that is not text. The compiler's error suggests a fix.
  @available(
    *, unavailable,
    message: "length applies only to text; use .count for a collection, .range for a number, or .that for other checks"
  )
  @_disfavoredOverload
  public static func length(_ range: some RangeExpression<Int> & Sendable) -> Self { Self { _ in } }
}

/// Returns a range as it is written in Swift code, such as `...80`, for use in messages.
@usableFromInline
func describe(_ range: some RangeExpression) -> String { (range as? any OneSidedRange)?.spelling ?? "\(range)" }

/// Returns the message for a collection or a text whose number of elements or characters is out of range.
@usableFromInline
func describe(_ range: some RangeExpression<Int>, of things: String) -> String {
  switch range {
  case let range as PartialRangeThrough<Int>: "must have at most \(range.upperBound) \(things)"
  case let range as PartialRangeUpTo<Int>: "must have fewer than \(range.upperBound) \(things)"
  case let range as PartialRangeFrom<Int>: "must have at least \(range.lowerBound) \(things)"
  case let range as ClosedRange<Int>: "must have \(range.lowerBound) to \(range.upperBound) \(things)"
  case let range as Range<Int>:
    "must have at least \(range.lowerBound) and fewer than \(range.upperBound) \(things)"
  default: "must have \(describe(range)) \(things)"
  }
}

/// A range with only one bound. Messages contain `spelling`, because the range's own description shows its stored properties.
private protocol OneSidedRange {
  var spelling: String { get }
}

extension PartialRangeFrom: OneSidedRange {
  fileprivate var spelling: String { "\(lowerBound)..." }
}

extension PartialRangeThrough: OneSidedRange {
  fileprivate var spelling: String { "...\(upperBound)" }
}

extension PartialRangeUpTo: OneSidedRange {
  fileprivate var spelling: String { "..<\(upperBound)" }
}
