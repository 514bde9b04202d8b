internal import StrataCore

/// Whether an issue is open; a state that GitHub invents later is kept apart.
enum IssueState: String, Archivable, UnknownCaseRepresentable {
  case open, closed, unknown
  static var unknownCase: IssueState { .unknown }
}
