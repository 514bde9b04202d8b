internal import StrataCore

extension HTMLPage {
  /// Adds a value as a tree that the reader can expand and collapse. References to objects become links.
  ///
  /// - Parameters:
  ///   - graph: a number that identifies the graph on the page.
  ///   - object: the number of the value in the graph, or `nil` if the value is not an object.
  ///   - openLevels: the number of levels that are initially expanded.
  mutating func addTree(
    _ value: ArchiveValue, label: String = "", graph: Int = 0, object: Int? = nil, openLevels: Int = 2
  ) {
    let anchor: [Attribute] = object.map { [("id", "object-\(graph)-\($0)")] } ?? []
    func line(_ page: inout HTMLPage, _ style: String) {
      if !label.isEmpty { page.element("span", class: "key", label) }
      if case .reference(let number) = value {
        page.element("a", [("href", "#object-\(graph)-\(number)")]) { $0.add("→ #\(number)") }
      } else {
        page.element("span", class: style, value.summary(mostCharacters: .max))
      }
    }
    let parts = value.children(atMost: .max)
    guard !parts.isEmpty else { return element("div", anchor) { line(&$0, "") } }
    element("details", openLevels > 0 ? anchor + [("open", "")] : anchor) { page in
      let isRecord = if case .record = value { true } else { false }
      page.element("summary") { line(&$0, isRecord ? "type" : "soft") }
      let isGraph = if case .graph = value { true } else { false }
      for (index, part) in parts.enumerated() {
        // The first part of a graph is the root. The other parts are the graph's objects.
        page.addTree(
          part.value, label: part.label, graph: graph, object: isGraph && index > 0 ? index - 1 : nil,
          openLevels: openLevels - 1)
      }
    }
  }

  /// Adds a table cell with a value, or with a dash if there is no value.
  mutating func addCell(_ value: ArchiveValue?, class style: String = "") {
    element("td", [("class", style + " tree")]) { page in
      if let value { page.addTree(value, openLevels: 1) } else { page.add("—") }
    }
  }

  mutating func add(_ rows: [(name: String, text: String)]) {
    element("table") { page in
      page.element("tbody") { page in
        for row in rows {
          page.element("tr") { page in
            page.element("th", row.name)
            page.element("td", row.text)
          }
        }
      }
    }
  }

  /// Adds a table with column headers. The closure adds the rows.
  mutating func addTable(_ columns: [String], _ rows: (inout HTMLPage) -> Void) {
    element("div", [("class", "scroll")]) { page in
      page.element("table") { page in
        page.element("thead") { $0.element("tr") { for column in columns { $0.element("th", column) } } }
        page.element("tbody", [], rows)
      }
    }
  }

  /// Adds the differences between two documents, side by side.
  mutating func add(_ comparison: Comparison, _ changes: [ValueDifference.Change], old: String, new: String) {
    for note in comparison.notes { element("p", note) }
    guard !changes.isEmpty else { return element("p", class: "soft", "no differences") }
    addTable(["path", "", old, new]) { page in
      for change in changes {
        page.element("tr") { page in
          page.element("th", change.path.description)
          page.element("td", class: change.kind.rawValue, change.kind.rawValue)
          page.addCell(change.old, class: change.kind == .removed ? "removed" : "")
          page.addCell(change.new, class: change.kind == .added ? "added" : "")
        }
      }
    }
  }

  /// Adds a table with the entries of a merge report, one row for each key path.
  mutating func add(_ report: MergeReport) {
    guard !report.entries.isEmpty else { return element("p", class: "soft", "no differences") }
    addTable(["path", "outcome", "rule", "base", "local", "server", "result"]) { page in
      for entry in report.entries {
        page.element("tr") { page in
          page.element("th", entry.path.description)
          page.element("td", class: entry.outcome.rawValue, entry.outcome.rawValue)
          page.element("td", entry.rule)
          for value in [entry.base, entry.local, entry.server] { page.addCell(value) }
          page.addCell(entry.result, class: entry.outcome.rawValue)
        }
      }
    }
  }
}
