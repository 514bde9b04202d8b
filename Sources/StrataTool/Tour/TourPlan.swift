internal import Foundation
internal import StrataCore

/// Computes the complete tour before anything is printed or written.
enum TourPlan {
  static func stages(of responses: [IssueResponse], width: Int) throws -> [TourStage] {
    guard let first = responses.first else { return [] }
    for response in responses.dropFirst() where response.number != first.number {
      throw ToolError(
        "\(response.path): the response is for issue \(response.number), but the first response is for issue "
          + "\(first.number)")
    }
    return try ToolError.at(first.path) {
      let old = try oldArchive(first, width)
      let opened = try opening(old, first, width)
      var stages = [old, opened]
      var issue = opened.issue
      var server = issue
      for response in responses.dropFirst() {
        let place = stages.count + 1
        stages.append(
          try merging(response, into: &issue, base: place > 3 ? server : nil, isEdited: place == 4, place: place, width)
        )
        _ = try server.merge(.json(response.json))
      }
      return stages
    }
  }

  private static func oldArchive(_ response: IssueResponse, _ width: Int) throws -> TourStage {
    let record = try response.version1()
    let archive = try ArchiveEncoder().encode(record)
    var tree = ValueTree(width: width - 3, depth: 1, elements: .max)
    tree.add(.record(record))
    let keys = response.json.objectValue?.count ?? 0
    let note = "\(record.keys.count.counted("value")) from a response with \(keys.counted("key"))"
    return TourStage(
      title: "Version 1 of the model archives \(response.path) (\(response.size.counted("byte")) of JSON)",
      lines: tree.lines + [note], fileName: "1-version-1.strata", archive: archive,
      issue: try ArchiveDecoder().decode(Issue.self, from: archive),
      isIntact: { try ArchiveDecoder().decodeValue(from: $0) == .record(record) }, jsonSize: response.size)
  }

  private static func opening(
    _ old: TourStage, _ response: IssueResponse, _ width: Int
  ) throws -> TourStage {
    var report = DecodingReport()
    let issue = try ArchiveDecoder().decode(Issue.self, from: old.archive, report: &report)
    var lines: [String] = []
    for step in Issue.migration.steps {
      lines.append("step \(step.fromVersion) → \(step.toVersion)")
      lines += step.operations.map { "  " + $0.description }
    }
    lines += report.upgrades.map {
      "report: upgraded \($0.count.counted("object")) of the type \($0.typeName) from version \($0.fromVersion) to "
        + "\($0.toVersion)"
    }
    lines += report.typesWithoutVersion.map { "report: objects of the type \($0) had no version" }
    var tree = ValueTree(width: width - 3, depth: 2, elements: .max)
    tree.add(.record(try issue.record()))
    return TourStage(
      title: "Version 3 of the model opens this archive", lines: lines + tree.lines, fileName: "2-version-3.strata",
      archive: try ArchiveEncoder().encode(issue), issue: issue, isIntact: { try opened($0, as: issue) },
      jsonSize: response.size)
  }

  /// - Parameters:
  ///   - base: the last state of the server; `nil` if no user has edited the issue.
  ///   - isEdited: whether a user edits the title before the merge.
  private static func merging(
    _ response: IssueResponse, into issue: inout Issue, base: Issue?, isEdited: Bool, place: Int, _ width: Int
  ) throws -> TourStage {
    var lines: [String] = []
    if isEdited {
      issue.title += " (edited)"
      let line = "before the merge, a user edits the title: " + shortened(.string(issue.title), width)
      lines.append(line.cut(to: width - 3))
    }
    let report = try ToolError.at(response.path) { try issue.merge(.json(response.json), base: base) }
    for entry in report.entries where base != nil && entry.path == "title" {
      lines.append("title: the user's edit is kept (\(entry.rule))")
    }
    lines += report.changes.map { change in
      let names = (shortened(change.old, width), shortened(change.new, width))
      guard names.0 == names.1 else { return "\(change.key): \(names.0) → \(names.1)" }
      return "\(change.key): \(names.0), with different nested values"
    }
    if report.changes.isEmpty { lines.append("nothing changed") }
    let changed = Set(report.changedKeys)
    let same = report.mergedKeys.filter { !changed.contains($0) }
    let absent = Issue.schema.fields.map(\.key).filter { !report.mergedKeys.contains($0) }
    lines += list("unchanged", same, width - 3)
    lines += list("not in the response, so not changed", absent, width - 3)
    lines.append("in the response, but not in the model: " + response.unreadKeys.count.counted("key"))
    return TourStage(
      title: "\(response.path) is merged into the issue (\(response.size.counted("byte")) of JSON)", lines: lines,
      fileName: "\(place)-merged.strata", archive: try ArchiveEncoder().encode(issue), issue: issue,
      isIntact: { [issue] in try opened($0, as: issue) }, jsonSize: response.size)
  }

  private static func opened(_ archive: Data, as issue: Issue) throws -> Bool {
    try ArchiveDecoder().decode(Issue.self, from: archive) == issue
  }

  /// Returns lines that list the keys and are not wider than the terminal.
  private static func list(_ title: String, _ keys: [String], _ width: Int) -> [String] {
    var lines = ["\(title): \(keys.first ?? "none")"]
    for key in keys.dropFirst() {
      lines[lines.count - 1] += ","
      let line = lines[lines.count - 1] + " " + key
      // One column is left for the comma that may follow.
      if line.terminalWidth < width { lines[lines.count - 1] = line } else { lines.append("  " + key) }
    }
    return lines
  }

  /// Returns a short description of a value. A record is represented by its login, name or title.
  private static func shortened(_ value: ArchiveValue?, _ width: Int) -> String {
    guard let value else { return "absent" }
    let most = max((width - 20) / 2, 12)
    switch value {
    case .array(let elements):
      return ("[" + elements.map { shortened($0, width) }.joined(separator: ", ") + "]").cut(to: most)
    case .record(let record):
      let name = ["login", "name", "title"].lazy.compactMap { record[$0]?.stringValue }.first
      return (name ?? record.typeName).onOneLine.cut(to: most)
    default: return value.summary(mostCharacters: 2 * most).cut(to: most)
    }
  }
}
