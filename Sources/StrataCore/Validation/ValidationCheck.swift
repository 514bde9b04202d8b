/// A ready-made check of one value.
public struct ValidationCheck<Value>: Sendable {
  @usableFromInline let run: @Sendable (Value) throws -> Void

  /// Creates a check of your own. It throws an ``InvalidValue`` or any other error if the value is invalid.
  @inlinable
  public init(_ run: @escaping @Sendable (Value) throws -> Void) { self.run = run }

  /// Checks a condition. `reason` describes the problem if it does not hold.
  @inlinable
  public static func that(_ reason: String, _ holds: @escaping @Sendable (Value) throws -> Bool) -> Self {
    Self { if try !holds($0) { throw InvalidValue(reason) } }
  }
}

extension ValidationCheck where Value: Collection & SendableMetatype {
  /// At least one element, or one character.
  @inlinable
  public static var nonEmpty: Self {
    Self { if $0.isEmpty { throw InvalidValue("is empty", code: .nonEmpty) } }
  }

  /// A number of elements in the range.
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
  /// A number of characters in the range.
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
  /// Within bounds. NaN is never within bounds.
  @inlinable
  public static func range(_ range: some RangeExpression<Value> & Sendable) -> Self {
    Self { value in
      if !range.contains(value) { throw InvalidValue("is not in \(describe(range))", code: .range) }
    }
  }
}

extension ValidationCheck where Value: BidirectionalCollection & SendableMetatype, Value.SubSequence == Substring {
  /// The whole text matches a regular expression.
  public static func matches(_ regex: sending Regex<some Any>) -> Self {
    // A regular expression may contain code that is not safe to share.
    let pattern = Mutex(regex)
    return Self { text in
      let text = text[...]
      if try pattern.withLock({ try $0.wholeMatch(in: text) == nil }) {
        throw InvalidValue("has the wrong form", code: .matches)
      }
    }
  }
}

// The compiler's own message for a value of another type asks for a constraint.
extension ValidationCheck {
  /// Reports the remedy for a value that is no collection.
  @available(*, unavailable, message: "it checks a collection or text; use .range for a number, or .that")
  @_disfavoredOverload
  public static var nonEmpty: Self { Self { _ in } }

  /// Reports the remedy for a value that is no collection.
  @available(*, unavailable, message: "it checks the elements of a collection; use .range for a number, or .that")
  @_disfavoredOverload
  public static func count(_ range: some RangeExpression<Int> & Sendable) -> Self { Self { _ in } }

  /// Reports the remedy for a value that is no text.
  @available(*, unavailable, message: "it checks text; use .count for a collection, .range for a number, or .that")
  @_disfavoredOverload
  public static func length(_ range: some RangeExpression<Int> & Sendable) -> Self { Self { _ in } }
}

/// A range in the spelling of code.
@usableFromInline
func describe(_ range: some RangeExpression) -> String { (range as? any OneSidedRange)?.spelling ?? "\(range)" }

/// Describes a count that is out of its range.
@usableFromInline
func describe(_ range: some RangeExpression<Int>, of things: String) -> String {
  switch range {
  case let range as PartialRangeThrough<Int>: "has more than \(range.upperBound) \(things)"
  case let range as PartialRangeUpTo<Int>: "has not fewer than \(range.upperBound) \(things)"
  case let range as PartialRangeFrom<Int>: "has fewer than \(range.lowerBound) \(things)"
  default: "has not \(describe(range)) \(things)"
  }
}

/// A range with one bound. Its own description shows its storage.
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
