internal import Foundation
internal import StrataCore

/// Formats differences as lines with a mark and a key path.
struct DifferenceText {
  let width: Int
  let showsValues: Bool

  func line(_ change: ValueDifference.Change) -> String {
    let mark =
      switch change.kind {
      case .added: "+"
      case .removed: "-"
      case .changed: "~"
      case .reordered: "↕"
      }
    let head = mark + " " + change.path.description.onOneLine
    guard showsValues else { return head }
    let rest = max(width - head.terminalWidth - 2, 20)
    switch (change.old, change.new) {
    case (let old?, let new?):
      // If one text is short, its unused columns are available for the other text.
      let (old, new) = (text(old), text(new))
      let room = rest - 3
      let left = min(old.terminalWidth, max(room / 2, room - new.terminalWidth))
      return "\(head)  \(old.cut(to: left)) → \(new.cut(to: room - left))"
    case (let value?, nil), (nil, let value?): return "\(head)  \(text(value).cut(to: rest))"
    case (nil, nil): return head
    }
  }

  private func text(_ value: ArchiveValue) -> String {
    // A value that JSON cannot represent, such as NaN, is described in words, because the text is only displayed.
    guard let data = try? JSONWriter().write(value) else {
      return value.summary(mostCharacters: width)
    }
    let text = String(decoding: data.prefix(8 * width), as: UTF8.self)
    return (text + (data.count > 8 * width ? "…" : "")).onOneLine
  }
}

extension ValueDifference.Change {
  /// The change as JSON. If a value is absent, its key is omitted.
  var json: ArchiveValue {
    var object = ArchiveObject([
      .init(key: "path", value: .string(path.description)), .init(key: "kind", value: .string(kind.rawValue)),
    ])
    object["old"] = old
    object["new"] = new
    return .object(object)
  }
}
