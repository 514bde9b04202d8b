/// What a merge came to, key path by key path.
public struct MergeReport: Sendable, Hashable {
  /// One field whose value is another than before.
  public struct Change: Sendable, Hashable {
    /// The key of the field.
    public let key: String
    /// The value before the merge; `nil` where there was none.
    public let old: ArchiveValue?
    /// The value after it; `nil` where there is none.
    public let new: ArchiveValue?
  }

  /// Which side a value came from.
  public enum Outcome: String, Sendable, Hashable, CaseIterable {
    /// The server's value was taken.
    case server
    /// The local value was kept though the server's is another one.
    case local
    /// A value was made of both.
    case merged
    /// Both changed it, and no rule decides. The result has the value that ``MergeOptions/conflicts`` says.
    case conflict
  }

  /// A key path at which the sides differ.
  public struct Entry: Sendable, Hashable {
    /// Where the sides differ.
    public let path: MergePath
    /// Which side counted.
    public let outcome: Outcome
    /// The rule that decided: a policy's ``MergePolicy/description``, or why none was needed.
    public let rule: String
    /// The three values and what became of them; `nil` where one is absent. Objects are shown as records.
    public let base: ArchiveValue?
    /// What the program had.
    public let local: ArchiveValue?
    /// What came in.
    public let server: ArchiveValue?
    /// What became of them.
    public let result: ArchiveValue?
    /// Whether an older version of the model recorded the conflict: its path and its values are those of that version.
    public internal(set) var isOutdated = false
  }

  /// The fields that changed, in the order of the schema.
  public internal(set) var changes: [Change] = []
  /// The keys that were merged, whether they changed anything or not, in the order of the schema.
  public internal(set) var mergedKeys: [String] = []
  /// The key paths at which the sides differ, in the order in which they were merged.
  ///
  /// - Complexity: linear in their number each time, where a list was merged as a whole.
  public internal(set) var entries: [Entry] {
    get { listEntries?.entries ?? ownEntries }
    set { (ownEntries, listEntries) = (newValue, nil) }
  }

  private var ownEntries: [Entry] = []
  /// The entries of a list, which nobody has read yet.
  var listEntries: ListEntries?

  /// Whether elements of a list changed that was merged as a whole.
  var isChangedInside = false

  /// A report of a merge that came to nothing.
  public init() {}

  /// The keys of the fields that changed.
  public var changedKeys: [String] { changes.map(\.key) }
  /// Whether the object is as it was.
  public var isEmpty: Bool { changes.isEmpty && !isChangedInside }
  /// What no rule decided.
  public var conflicts: [Entry] { listEntries?.conflicts ?? ownEntries.filter { $0.outcome == .conflict } }

  public static func == (left: MergeReport, right: MergeReport) -> Bool {
    left.changes == right.changes && left.mergedKeys == right.mergedKeys && left.entries == right.entries
      && left.isEmpty == right.isEmpty
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(changes)
    hasher.combine(mergedKeys)
  }
}

extension MergeReport: CustomStringConvertible {
  /// The report as a table without values.
  public var description: String { table() }

  /// The report as a table, a line a key path. Control characters are written as `\u{1B}`, so that none shifts a
  /// column.
  ///
  /// - Parameter showsValues: whether it has the values, each cut to 40 characters. They may be private.
  public func table(showsValues: Bool = false) -> String {
    guard !entries.isEmpty else { return "no differences" }
    var rows = [["path", "outcome", "rule"] + (showsValues ? ["base", "local", "server", "result"] : [])]
    for entry in entries {
      var row = [entry.path.description, entry.outcome.rawValue, entry.rule]
      if showsValues {
        row += [entry.base, entry.local, entry.server, entry.result].map(Self.text)
      }
      rows.append(row.map(\.onOneLine))
    }
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        line += cell
        if column < row.count - 1 { line += String(repeating: " ", count: widths[column] - cell.count + 2) }
      }
      return line
    }.joined(separator: "\n")
  }

  private static func text(of value: ArchiveValue?) -> String {
    guard let value else { return "—" }
    // What JSON has no form for is shown by its kind. Nothing but the line shown comes of it.
    guard let data = try? JSONWriter().write(value) else { return "(\(value.kind))" }
    let text = String(decoding: data, as: UTF8.self)
    return text.count > 40 ? String(text.prefix(39)) + "…" : text
  }

  /// The report as a JSON value: `entries` of `path`, `outcome` and `rule`, and the numbers of each outcome.
  ///
  /// - Parameter showsValues: whether it has `base`, `local`, `server` and `result` too; a value that is absent has
  ///   no key.
  public func json(showsValues: Bool = false) -> ArchiveValue {
    let counts = Outcome.allCases.map { outcome in
      ArchiveObject.Entry(key: outcome.rawValue, value: .integer(entries.count { $0.outcome == outcome }))
    }
    return [
      "counts": .object(ArchiveObject(counts)),
      "entries": .array(
        entries.map { entry in
          var object = ArchiveObject([
            .init(key: "path", value: .string(entry.path.description)),
            .init(key: "outcome", value: .string(entry.outcome.rawValue)),
            .init(key: "rule", value: .string(entry.rule)),
          ])
          if showsValues {
            object["base"] = entry.base
            object["local"] = entry.local
            object["server"] = entry.server
            object["result"] = entry.result
          }
          return .object(object)
        }),
    ]
  }
}

extension MergeReport {
  /// Throws where there are conflicts and they are to fail.
  func checkConflicts(_ options: MergeOptions, typeName: String?) throws {
    guard options.conflicts == .fail, let first = conflicts.first else { return }
    let paths = conflicts.prefix(10).map { $0.path.keysOnly }.joined(separator: ", ")
    let rest = conflicts.count > 10 ? " and \(conflicts.count - 10) more" : ""
    throw ArchiveError(
      .mergeFailed, "both sides changed \(paths)\(rest), each in its own way; name a policy that decides",
      path: first.path.firstKey.map { [.key($0)] } ?? [], typeName: typeName)
  }
}

extension MergeReport.Entry: CustomStringConvertible {
  /// `title: server (only changed by the server)`, without the values.
  public var description: String {
    "\(path): \(outcome.rawValue) (\(rule)\(isOutdated ? ", recorded by an older version" : ""))".onOneLine
  }
}

extension MergeReport.Change: CustomStringConvertible {
  /// `title changed`, without the values.
  public var description: String { "\(key) changed".onOneLine }
}
