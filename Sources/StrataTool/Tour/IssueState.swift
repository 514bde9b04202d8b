internal import StrataCore

/// The state of an issue. A state that GitHub adds later is decoded as `unknown`.
enum IssueState: String, Archivable, UnknownCaseRepresentable {
  case open, closed, unknown
  static var unknownCase: IssueState { .unknown }
}
