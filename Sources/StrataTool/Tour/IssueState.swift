internal import StrataCore

/// Whether an issue is open. A state that GitHub adds later is read as `unknown`.
enum IssueState: String, Archivable, UnknownCaseRepresentable {
  case open, closed, unknown
  static var unknownCase: IssueState { .unknown }
}
