internal import Foundation
internal import StrataCore
internal import StrataStore

extension StoreRevision {
  /// The revision as JSON, in which every key is always present.
  var json: ArchiveValue { .object(ArchiveObject(entries)) }

  func json(adding more: [(String, ArchiveValue)]) -> ArchiveValue {
    .object(ArchiveObject(entries + more.map { ArchiveObject.Entry(key: $0, value: $1) }))
  }

  private var entries: [ArchiveObject.Entry] {
    [
      .init(key: "key", value: .string(key)), .init(key: "revision", value: .integer(number)),
      .init(key: "sequence", value: .integer(sequence)),
      .init(key: "time", value: .string(timeText)),
      .init(key: "action", value: .string(String(describing: action))), .init(key: "origin", value: .orNull(origin)),
      .init(key: "author", value: .orNull(author)), .init(key: "note", value: .orNull(note)),
      .init(key: "type", value: .orNull(typeName)), .init(key: "modelVersion", value: .orNull(modelVersion)),
    ]
  }

  /// The time with a resolution of one millisecond, such as `2026-11-22T12:00:00.250Z`. A time that ISO 8601 cannot
  /// represent is given in seconds since 1970.
  var timeText: String {
    let interval = time.timeIntervalSince1970
    guard abs(interval) < 1e12 else { return "\(interval) seconds since 1970" }
    let milliseconds = (interval * 1000).rounded()
    let seconds = (milliseconds / 1000).rounded(.down)
    guard let text = ISO8601.string(from: Date(timeIntervalSince1970: seconds)) else {
      return "\(interval) seconds since 1970"
    }
    return text.dropLast() + "." + String(String(Int(milliseconds - seconds * 1000) + 1000).dropFirst()) + "Z"
  }

  /// The type and version of the value, such as `Issue@3`, or `deleted` if there is no value.
  var mark: String {
    guard let typeName else { return "deleted" }
    return (modelVersion.map { "\(typeName)@\($0)" } ?? typeName).onOneLine
  }

  /// The action and its revision on one line, such as `saved  issue/7  revision 3`.
  var line: String {
    let verb =
      switch action {
      case .save: "saved"
      case .restore: "restored"
      case .undo: "undone"
      case .redo: "redone"
      case .delete: "deleted"
      }
    let source = origin.map { ", with the state of revision \($0)" } ?? ""
    return "\(verb)  \(key.onOneLine)  revision \(number)" + source
  }
}
