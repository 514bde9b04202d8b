internal import Foundation
internal import StrataCore
internal import StrataStore

/// The last part of the tour, which saves the stages as revisions in a store.
struct TourStore {
  private static let name = "issues.store"

  /// The path of the store, as messages show it.
  let path: String
  private let url: URL

  /// - Parameters:
  ///   - folder: the folder of the tour, to which `path` refers.
  init(in folder: URL, _ path: String) {
    self.path = (path.hasSuffix("/") ? path : path + "/") + Self.name
    url = folder.appendingPathComponent(Self.name)
  }

  /// Saves a revision for each stage, then restores an old revision, and then undoes the restoration.
  ///
  /// - Returns: the lines to print.
  func run(_ stages: [TourStage], key: String) throws -> [String] {
    try ToolError.at(path) {
      try removeEarlier()
      let store = try SnapshotStore(url: url)
      let sizes = try store.write { transaction in
        for stage in stages {
          try transaction.saveArchive(stage.archive, as: key, author: "tour", note: stage.fileName)
        }
        return try transaction.history(of: key).count
      }
      var lines = ["\(sizes.counted("save")) under the key \(key), each as a new revision:"]
      lines += try history(store, key)

      // Revision 1 was saved by version 1 of the model and is opened with the current version.
      let first = try store.read { try $0.value(Issue.self, for: key, at: .revision(1)) }
      guard let first, first == stages.first?.issue else {
        throw ToolError("\(path): revision 1 does not contain the saved value")
      }
      lines.append("revision 1 can be opened with the current model; its state is \(first.state.rawValue)")
      let restored = try store.write {
        try $0.restore(key, to: .revision(1), author: "tour", note: "back to the first state")
      }
      let difference = ValueDifference(
        from: try stages.last.map { .record(try $0.issue.record()) } ?? .null, to: .record(try first.record()))
      lines.append(
        "restored revision 1 as revision \(restored.number); these fields differ from revision \(stages.count): "
          + differences(difference))
      try store.write { transaction in
        try transaction.undo(key, author: "tour", note: "the restore was not needed")
        guard try transaction.value(Issue.self, for: key) == stages.last?.issue else {
          throw ToolError("\(path): undo did not restore the earlier value")
        }
      }
      lines.append("undid the restore, so the last revision has the state of revision \(stages.count) again:")
      lines += try history(store, key)
      let report = try store.check(.full)
      guard report.isClean else {
        throw ToolError("\(path): " + (report.findings.first.map { String(describing: $0) } ?? "the store is damaged"))
      }
      lines.append("check: \(report.checkedRevisions.counted("revision")) decoded, no damage found")
      try store.close()
      return lines
    }
  }

  /// Removes the store of an earlier tour.
  private func removeEarlier() throws {
    guard FileManager.default.fileExists(atPath: url.path) else { return }
    var options = StoreOptions()
    options.isReadOnly = true
    // Opening the file throws if it is not a store, so that a user's own file is kept.
    try SnapshotStore(url: url, options: options).close()
    for end in ["-wal", "-shm", ""] where FileManager.default.fileExists(atPath: url.path + end) {
      try FileManager.default.removeItem(atPath: url.path + end)
    }
  }

  private func history(_ store: SnapshotStore, _ key: String) throws -> [String] {
    let revisions = try store.read { try $0.history(of: key) }
    return StoreHistoryCommand.lines(revisions, showsTime: false).map { "  " + $0 }
  }

  private func differences(_ difference: ValueDifference) -> String {
    difference.changes.map { String($0.path.description.prefix { $0 != "." && $0 != "[" }) }
      .reduce(into: [String]()) { if $0.last != $1 { $0.append($1) } }.joined(separator: ", ")
  }
}
