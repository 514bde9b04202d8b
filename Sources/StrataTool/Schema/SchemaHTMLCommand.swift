internal import ArgumentParser
internal import Foundation
internal import StrataCore
internal import StrataTesting

struct SchemaHTMLCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "html", abstract: "Draw the recorded versions of the models as one HTML page.",
    discussion: """
      A table for each model: its versions are columns, its fields and cases are rows, and its steps are arrows. The page \
      needs no other file.

      Example:

        strata schema html Tests/AppTests/Schemas -o schemas.html
      """)

  @OptionGroup var folder: SchemaFolderArgument

  @Option(
    name: .shortAndLong, help: "The page to write; - is standard output.", completion: .file(extensions: ["html"]))
  var output: String

  func run(on console: Console) throws -> Int32 {
    let page = SchemaPage(try LockFolder(folder.path).intact())
    try DataFile(output).write(Data(page.html.utf8), console)
    return 0
  }
}

/// The recorded versions of models as an HTML page.
private struct SchemaPage {
  private let title: String
  private let models: [LockFolder.Model]

  init(_ folder: LockFolder) {
    title = "Models of " + folder.path
    models = folder.models
  }

  private static let style = """
    :root{color-scheme:light dark;--line:#d0d7de;--soft:#6e7781;--added:#116329;--removed:#cf222e;--changed:#7d4e00}
    @media(prefers-color-scheme:dark){:root{--line:#3d444d;--soft:#9198a1;--added:#7ee787;--removed:#ff7b72;--changed:#e3b341}}
    body{font:15px/1.4 system-ui,sans-serif;margin:2em}.scroll{overflow-x:auto}
    table{border-collapse:collapse}th,td{border:1px solid var(--line);padding:.3em .6em;text-align:left;vertical-align:top}
    tbody th{font-weight:600}td{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px}
    .step{border-style:none;color:var(--soft);font-weight:400;font-size:12px;text-align:center}
    .step ul{list-style:none;margin:0;padding:0}svg{width:4em;height:1em;fill:none;stroke:currentColor}
    .added{color:var(--added)}.removed{color:var(--removed)}.changed{color:var(--changed)}small{color:var(--soft)}
    @media print{body{margin:0}.scroll{overflow:visible}section{break-inside:avoid}}
    """
  private static let arrow =
    #"<svg viewBox="0 0 64 16" role="img" aria-label="step"><path d="M0 8h62m-7-6 7 6-7 6"/></svg>"#

  var html: String {
    let title = Self.escaped(title)
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width">
      <title>\(title)</title>
      <style>
      \(Self.style)
      </style>
      </head>
      <body>
      <h1>\(title)</h1>
      \(models.map(Self.section).joined(separator: "\n"))
      </body>
      </html>

      """
  }

  private static func section(_ model: LockFolder.Model) -> String {
    var head = #"<th scope="col">key</th>"#
    for (index, schema) in model.versions.enumerated() {
      if index > 0 {
        let steps = schema.steps.map { "<li>\(escaped($0))</li>" }.joined()
        head += #"<th class="step">\#(arrow)\#(steps.isEmpty ? "" : "<ul>\(steps)</ul>")</th>"#
      }
      head += #"<th scope="col">version \#(schema.version)</th>"#
    }
    // The kind, and the cells of the fields and cases, for each version.
    let kinds = model.versions.map { schema in schema.kind.rawValue + (schema.superclass.map { ": " + $0 } ?? "") }
    let cells = model.versions.map { schema in
      schema.fields.mapValues(text).merging((schema.cases ?? [:]).map { ("case " + $0, text($1)) }) { one, _ in one }
    }
    var seen: Set<String> = []
    let keys = cells.flatMap { $0.keys.sorted() }.filter { seen.insert($0).inserted }
    let rows = [row("", kinds.map(escaped))] + keys.map { key in row(key, cells.map { $0[key] }) }
    return """
      <section>
      <h2>\(escaped(model.name))</h2>
      <div class="scroll"><table>
      <thead><tr>\(head)</tr></thead>
      <tbody>
      \(rows.joined(separator: "\n"))
      </tbody>
      </table></div>
      </section>
      """
  }

  /// - Parameter cells: the cell of each version; `nil` if the version lacks the key.
  private static func row(_ name: String, _ cells: [String?]) -> String {
    var text = #"<th scope="row">\#(escaped(name))</th>"#
    for (index, cell) in cells.enumerated() {
      if index > 0 {
        let mark =
          switch (cells[index - 1], cell) {
          case (nil, .some): "added"
          case (.some, nil): "removed"
          case (let old, let new): old == new ? "" : "changed"
          }
        text += #"<td class="step \#(mark)">\#(mark)</td>"#
      }
      text += "<td>\(cell ?? "")</td>"
    }
    return "<tr>\(text)</tr>"
  }

  private static func text(_ field: RecordedSchema.Field) -> String {
    let notes = [
      field.initial.map { "= " + $0 }, field.formerly.map { "formerly " + $0.joined(separator: ", ") },
      field.archive.map { "archived: " + $0 }, field.json.map { "JSON: " + $0 },
    ]
    return escaped(field.type) + notes.compactMap(\.self).map { "<br><small>\(escaped($0))</small>" }.joined()
  }

  private static func text(_ info: RecordedSchema.Case) -> String {
    let payload = info.payload.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
    return escaped("(\(payload))")
      + (info.formerly.map { "<br><small>\(escaped("formerly " + $0.joined(separator: ", ")))</small>" } ?? "")
  }

  private static func escaped(_ text: String) -> String {
    text.onOneLine.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;").replacing("'", with: "&#39;")
  }
}
