internal import StrataCore

/// A line of a tree, which consists of a label and a short description of the value.
struct TreeLine {
  var margin = 0
  var label = ""
  var value = ""
  /// The text style of the value.
  var style: TextStyle?

  /// Returns the line, cut to a width in columns.
  func text(width: Int, isColoured: Bool) -> String {
    let whole = (String(repeating: " ", count: margin) + label + value).cut(to: width)
    guard isColoured else { return whole }
    // Color codes occupy no columns, so they are added after the text has been cut.
    let head = margin + label.count
    return String(whole.prefix(head)).painted(.cyan, true) + String(whole.dropFirst(head)).painted(style, true)
  }
}

extension ArchiveValue {
  /// The text style for the value's summary.
  var style: TextStyle {
    switch self {
    case .string, .url, .uuid, .data: .green
    case .record: .magenta
    case .null, .reference, .array, .set, .object, .map, .graph: .dim
    default: .yellow
    }
  }
}
