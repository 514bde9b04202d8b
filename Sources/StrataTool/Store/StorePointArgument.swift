internal import ArgumentParser
internal import Foundation
internal import StrataCore
internal import StrataStore

/// An argument that identifies a revision of a key: `3`, `latest`, `label:NAME` or a time.
struct StorePointArgument: ExpressibleByArgument {
  static let help = "a number, latest, label:NAME, or a time such as 2026-11-22T12:00:00Z"

  let point: StorePoint

  init?(argument: String) {
    let label = "label:"
    if argument == "latest" {
      point = .latest
    } else if argument.hasPrefix(label), argument.count > label.count {
      point = .label(String(argument.dropFirst(label.count)))
    } else if argument.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(argument), number > 0 {
      point = .revision(number)
    } else if let time = ISO8601.date(from: argument) {
      point = .time(time)
    } else {
      return nil
    }
  }

  static var latest: StorePointArgument { StorePointArgument(point: .latest) }

  private init(point: StorePoint) { self.point = point }

  var defaultValueDescription: String { "latest" }
}
