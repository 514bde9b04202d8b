/// What a field does with the value of an enum case that this program does not know.
public enum UnknownCasePolicy: String, Sendable, Hashable {
  /// Decoding throws `unknownCase`.
  case fail
  /// The field takes its default when a model is read, and stays as it is when a model is merged: nobody knows what the
  /// case means, so it replaces nothing.
  case useDefault
}

/// What an enum with raw values does with one that it does not know.
///
/// Without a conformance to this protocol an unknown raw value is an error, or the default of a field that asks for
/// it with `unknown: .useDefault`.
public protocol UnknownCaseRepresentable {
  /// The case that stands for every raw value which no case has.
  static var unknownCase: Self { get }
}

/// An enum whose cases had other raw values before.
public protocol CaseAliasing: RawRepresentable where RawValue: Hashable {
  /// Former raw values and the cases that they stand for now.
  static var formerRawValues: [RawValue: Self] { get }
}
