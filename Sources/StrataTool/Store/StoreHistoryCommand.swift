internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreHistoryCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "List the revisions of a key, oldest first.",
    discussion: """
      Example:

        strata store history models.store issue/7
      """)

  @OptionGroup var store: StoreFile

  @OptionGroup var key: StoreKey

  @OptionGroup var page: PageOption

  func run(on console: Console) throws -> Int32 {
    let (revisions, labels) = try store.use(.reads) { store in
      try store.read { (try $0.history(of: key.name), try $0.labels(of: key.name)) }
    }
    guard !revisions.isEmpty else { throw ToolError("\(store.path): the store has no key “\(key.name)”") }
    let names = Dictionary(grouping: labels.keys) { labels[$0] ?? 0 }
      .mapValues { $0.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
    let document = revisions.map { revision in
      revision.json(adding: [("labels", .array((names[revision.number] ?? []).map { .string($0) }))])
    }
    try page.write("\(key.name) in \(store.path)", console) { page in
      try store.use(.reads) { try $0.read { try addTimeline(of: revisions, names, $0, to: &page) } }
    }
    try store.show(
      ["key": .string(key.name), "revisions": .array(document)], Self.lines(revisions, names), console)
    return 0
  }

  /// Adds the revisions to the page, each with its differences from the previous revision.
  private func addTimeline(
    of revisions: [StoreRevision], _ labels: [Int: [String]], _ transaction: StoreTransaction, to page: inout HTMLPage
  ) throws {
    var before: Document?
    try page.element("ol", [("class", "timeline")]) { page in
      for revision in revisions {
        let archive =
          try revision.isDeletion ? nil : transaction.archive(of: key.name, at: .revision(revision.number))
        let document = try Document(name: "revision \(revision.number)", archive: archive)
        try page.element("li") { page in
          page.element("div") { page in
            page.element("strong", "\(revision.number) \(revision.action) ")
            page.element("span", class: "type", revision.mark)
            page.element("small", " " + revision.timeText)
            for text in [revision.author, revision.note].compactMap(\.self) { page.element("span", " · " + text) }
            for label in labels[revision.number] ?? [] { page.element("strong", " [\(label)]") }
          }
          guard let before else { return page.addTree(document.value, openLevels: 1) }
          let comparison = try Comparison(before, document)
          let changes = ValueDifference(from: comparison.old, to: comparison.new, elementsBy: "id").changes
          page.add(comparison, changes, old: before.name, new: document.name)
        }
        before = document
      }
    }
  }

  /// Returns the history as lines of a table.
  ///
  /// - Parameter showsTime: whether the time of each revision is shown. `false` if every run must print the same text.
  static func lines(_ revisions: [StoreRevision], _ labels: [Int: [String]] = [:], showsTime: Bool = true) -> [String] {
    // Without times, the rows have no header, because the tour prints them inside its own text.
    let header = showsTime ? ["revision", "action", "type", "time", "author", "note"] : []
    var table = TextTable(columns: showsTime ? 5 : 4, header: header)
    for revision in revisions {
      let action = String(describing: revision.action) + (revision.origin.map { " \($0)" } ?? "")
      let names = (labels[revision.number] ?? []).map { " [\($0.onOneLine)]" }.joined()
      table.add(
        ["\(revision.number)", action, revision.mark] + (showsTime ? [revision.timeText] : [])
          + [revision.author?.onOneLine ?? "", (revision.note?.onOneLine ?? "") + names])
    }
    return table.lines
  }
}
