internal import ArgumentParser
internal import Foundation
internal import StrataCore
internal import StrataTesting

struct SchemaHTMLCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "html", abstract: "Write an HTML page that shows the recorded versions of all models.",
    discussion: """
      The page has a table for each model, with a column for each version and a row for each field or case. Steps are \
      drawn as arrows between the columns. The page is a single file.

      Example:

        strata schema html Tests/AppTests/Schemas -o schemas.html
      """)

  @OptionGroup var folder: SchemaFolderArgument

  @Option(
    name: .shortAndLong, help: "The HTML page to write, or - for standard output.",
    completion: .file(extensions: ["html"]))
  var output: String

  func run(on console: Console) throws -> Int32 {
    let folder = try LockFolder(folder.path).intact()
    var page = HTMLPage(title: "Models of " + folder.path)
    for model in folder.models { page.add(model) }
    try DataFile(output).write(page.data, console)
    return 0
  }
}

extension HTMLPage {
  /// Adds a table with the recorded versions of a model.
  fileprivate mutating func add(_ model: LockFolder.Model) {
    // `kinds` contains the kind of the schema in each version. `cells` contains the fields and cases of each version,
    // by name.
    let kinds = model.versions.map { schema in
      SchemaCell(text: schema.kind.rawValue + (schema.superclass.map { ": " + $0 } ?? ""))
    }
    let cells = model.versions.map { schema in
      schema.fields.mapValues(SchemaCell.init).merging(
        (schema.cases ?? [:]).map { ("case " + $0, SchemaCell($1)) }
      ) { one, _ in one }
    }
    var seen: Set<String> = []
    let keys = cells.flatMap { $0.keys.sorted() }.filter { seen.insert($0).inserted }
    element("section") { page in
      page.element("h2", model.name)
      page.element("div", [("class", "scroll")]) { page in
        page.element("table") { page in
          page.element("thead") { $0.element("tr") { $0.addHead(model.versions) } }
          page.element("tbody") { page in
            page.addRow("", kinds)
            for key in keys { page.addRow(key, cells.map { $0[key] }) }
          }
        }
      }
    }
  }

  private mutating func addHead(_ versions: [RecordedSchema]) {
    element("th", [("scope", "col")]) { $0.add("key") }
    for (index, schema) in versions.enumerated() {
      if index > 0 {
        element("th", [("class", "step")]) { page in
          page.addArrow("step")
          guard !schema.steps.isEmpty else { return }
          page.element("ul") { for step in schema.steps { $0.element("li", step) } }
        }
      }
      element("th", [("scope", "col")]) { $0.add("version \(schema.version)") }
    }
  }

  /// - Parameter cells: the cell of each version, or `nil` if a version does not have the key.
  private mutating func addRow(_ name: String, _ cells: [SchemaCell?]) {
    element("tr") { page in
      page.element("th", [("scope", "row")]) { $0.add(name) }
      for (index, cell) in cells.enumerated() {
        if index > 0 {
          let mark =
            switch (cells[index - 1], cell) {
            case (nil, .some): "added"
            case (.some, nil): "removed"
            case (let old, let new): old == new ? "" : "changed"
            }
          page.element("td", class: "step " + mark, mark)
        }
        page.element("td") { page in
          page.add(cell?.text ?? "")
          for note in cell?.notes ?? [] {
            page.element("br", [])
            page.element("small", note)
          }
        }
      }
    }
  }
}

/// A field or a case in a single version.
private struct SchemaCell: Equatable {
  let text: String
  var notes: [String] = []
}

extension SchemaCell {
  init(_ field: RecordedSchema.Field) {
    text = field.type
    notes = [
      field.initial.map { "= " + $0 }, field.formerly.map { "formerly " + $0.joined(separator: ", ") },
      field.archive.map { "archived: " + $0 }, field.json.map { "JSON: " + $0 },
    ].compactMap(\.self)
  }

  init(_ info: RecordedSchema.Case) {
    text = "(" + info.payload.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ") + ")"
    if let formerly = info.formerly { notes = ["formerly " + formerly.joined(separator: ", ")] }
  }
}
