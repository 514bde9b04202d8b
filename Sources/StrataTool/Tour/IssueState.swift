internal import StrataCore

/// Whether an issue is open. If GitHub adds a state later, it is read as `unknown`.
enum IssueState: String, Archivable, UnknownCaseRepresentable {
  case open, closed, unknown
  static var unknownCase: IssueState { .unknown }
}
