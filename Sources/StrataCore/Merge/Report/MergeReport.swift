/// The report of a merge: the fields that changed, and the decision at each path where the local and the server's values differ.
public struct MergeReport: Sendable, Hashable {
  /// A field whose value changed.
  public struct Change: Sendable, Hashable {
    /// The key of the field.
    public let key: String
    /// The value before the merge; `nil` if there was none.
    public let old: ArchiveValue?
    /// The value after the merge; `nil` if there is none.
    public let new: ArchiveValue?
  }

  /// Where a merged value comes from.
  public enum Outcome: String, Sendable, Hashable, CaseIterable {
    /// The server's value was used.
    case server
    /// The local value was kept, although the server's value is different.
    case local
    /// The value was combined from both sides.
    case merged
    /// Both sides changed the value, and no policy decides between them. The result depends on ``MergeOptions/conflicts``.
    case conflict
  }

  /// The decision of the merge at one path where the local and the server's values differ.
  public struct Entry: Sendable, Hashable {
    /// The path where the values differ.
    public let path: ValuePath
    /// Where the merged value comes from.
    public let outcome: Outcome
    /// The rule that decided the result: the ``MergePolicy/description`` of a policy, or the reason why no policy was needed.
    public let rule: String
    /// The value in the base; also `nil` if the base is not known. Here and in ``local``, ``server`` and ``result``, `nil` means that the
    /// value is absent, and objects are shown as records. If an array of models was merged by itself, the entry for the order of its
    /// elements may omit all four values.
    public let base: ArchiveValue?
    /// The local value before the merge.
    public let local: ArchiveValue?
    /// The incoming value of the server.
    public let server: ArchiveValue?
    /// The value after the merge.
    public let result: ArchiveValue?
    /// Whether the entry is a conflict that an older version of the model recorded. If so, the path and the values are those of that
    /// version.
    public internal(set) var isOutdated = false
  }

  /// The fields that changed, in the order of the schema.
  public internal(set) var changes: [Change] = []
  /// The keys that were merged, including those whose values did not change, in the order of the schema.
  public internal(set) var mergedKeys: [String] = []
  /// The decisions at all key paths where the local and the server's values differ, in the order in which they were made.
  ///
  /// - Complexity: linear in the number of entries on each access, if a list was merged as a whole.
  public internal(set) var entries: [Entry] {
    get { listEntries?.entries ?? ownEntries }
    set { (ownEntries, listEntries) = (newValue, nil) }
  }

  private var ownEntries: [Entry] = []
  /// The entries of a list that was merged as a whole, decoded on demand; `nil` if there are none, or if `entries` was set.
  var listEntries: ListEntries?

  /// Whether elements changed in a list that was merged as a whole. Such changes are not in `changes`, which contains only fields.
  var isChangedInside = false

  /// Creates the report of a merge without differences.
  public init() {}

  /// The keys of the fields that changed.
  public var changedKeys: [String] { changes.map(\.key) }
  /// Whether the merge changed no value. The report may still have entries for values that were kept.
  public var isEmpty: Bool { changes.isEmpty && !isChangedInside }
  /// The entries for values that both sides changed, if no policy decides between the two values.
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

  /// Returns the report as a table with one line per key path. Control characters are written as `\u{1B}`, so that they cannot shift the
  /// columns.
  ///
  /// - Parameter showsValues: whether the table contains the values, each truncated to 40 characters. The values may be private.
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
    // A value that JSON cannot represent is shown by its kind.
    guard let data = try? JSONWriter().write(value) else { return "(\(value.kind))" }
    let text = String(decoding: data, as: UTF8.self)
    return text.count > 40 ? String(text.prefix(39)) + "…" : text
  }

  /// Returns the report as a JSON value. `entries` contains the `path`, `outcome` and `rule` of each entry, and `counts` the number of
  /// entries with each outcome.
  ///
  /// - Parameter showsValues: whether each entry also has `base`, `local`, `server` and `result`. Absent values are omitted.
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
  /// Throws `mergeFailed` if the report has conflicts and ``MergeOptions/conflicts`` treats them as errors.
  func checkConflicts(_ options: MergeOptions, typeName: String?) throws {
    guard options.conflicts == .fail, let first = conflicts.first else { return }
    let paths = conflicts.prefix(10).map { $0.path.keysOnly }.joined(separator: ", ")
    let rest = conflicts.count > 10 ? " and \(conflicts.count - 10) more" : ""
    throw ArchiveError(
      .mergeFailed, "both sides changed the values at \(paths + rest) differently; specify a policy for the conflict",
      path: first.path.firstKey.map { [.key($0)] } ?? [], typeName: typeName)
  }
}

extension MergeReport.Entry: CustomStringConvertible {
  /// A description without the values, such as `title: server (changed only by the server)`.
  public var description: String {
    "\(path): \(outcome.rawValue) (\(rule)\(isOutdated ? ", recorded by an older version" : ""))".onOneLine
  }
}

extension MergeReport.Change: CustomStringConvertible {
  /// A description without the values, such as `title changed`.
  public var description: String { "\(key) changed".onOneLine }
}
