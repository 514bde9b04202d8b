internal import StrataCore

/// A line of a tree: what a value is called, and the value in a few words.
struct TreeLine {
  var margin = 0
  var label = ""
  var value = ""
  /// The ink of the value.
  var ink: Ink?

  /// The line, no wider than a terminal.
  func text(width: Int, isColoured: Bool) -> String {
    let whole = (String(repeating: " ", count: margin) + label + value).cut(to: width)
    guard isColoured else { return whole }
    // Colours take no columns, so they come last.
    let head = margin + label.count
    return String(whole.prefix(head)).painted(.cyan, true) + String(whole.dropFirst(head)).painted(ink, true)
  }
}

extension ArchiveValue {
  /// The ink of the value's summary.
  var ink: Ink {
    switch self {
    case .string, .url, .uuid, .data: .green
    case .record: .magenta
    case .null, .reference, .array, .set, .object, .map, .graph: .dim
    default: .yellow
    }
  }
}
