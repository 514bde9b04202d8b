internal import Foundation
internal import StrataCore

/// An HTML page that needs no other files and no script. All text is escaped, so that values cannot contain markup.
struct HTMLPage {
  typealias Attribute = (name: StaticString, value: String)

  private var text: String

  init(title: String) {
    text = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
    element("meta", [("charset", "utf-8")])
    element("meta", [("name", "viewport"), ("content", "width=device-width")])
    element("title") { $0.add(title) }
    text += "<style>\n\(Self.style)\n</style>\n</head>\n<body>\n"
    element("h1") { $0.add(title) }
  }

  var data: Data { Data((text + "</body>\n</html>\n").utf8) }

  /// Adds text. Control characters and characters that change the direction of text are written in the form `\u{1B}`.
  mutating func add(_ text: String) { self.text += Self.escaped(text) }

  mutating func element(
    _ name: StaticString, _ attributes: [Attribute] = [], _ content: (inout HTMLPage) throws -> Void
  ) rethrows {
    text += "<\(name)"
    for attribute in attributes { text += " \(attribute.name)=\"\(Self.escaped(attribute.value))\"" }
    text += ">"
    try content(&self)
    // `meta` and `br` have no end tag.
    if "\(name)" != "meta", "\(name)" != "br" { text += "</\(name)>\n" }
  }

  mutating func element(_ name: StaticString, _ attributes: [Attribute]) { element(name, attributes) { _ in } }

  mutating func element(_ name: StaticString, _ text: String) { element(name, []) { $0.add(text) } }

  mutating func element(_ name: StaticString, class style: String, _ text: String) {
    element(name, [("class", style)]) { $0.add(text) }
  }

  /// Adds an arrow that points from one column to the next.
  mutating func addArrow(_ label: String) {
    text +=
      "<svg viewBox=\"0 0 64 16\" role=\"img\" aria-label=\"\(Self.escaped(label))\"><path d=\"M0 8h62m-7-6 7 6-7 6\"/></svg>"
  }

  private static func escaped(_ text: String) -> String {
    text.onOneLine.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;").replacing("'", with: "&#39;")
  }

  private static let style = """
    :root{color-scheme:light dark;--line:#d0d7de;--soft:#6e7781;--added:#116329;--removed:#cf222e;--changed:#7d4e00;--type:#8250df}
    @media(prefers-color-scheme:dark){:root{--line:#3d444d;--soft:#9198a1;--added:#7ee787;--removed:#ff7b72;--changed:#e3b341;--type:#d2a8ff}}
    body{font:15px/1.4 system-ui,sans-serif;margin:2em}h1{font-size:1.4em;overflow-wrap:anywhere}.scroll{overflow-x:auto}
    table{border-collapse:collapse;margin-bottom:1em}th,td{border:1px solid var(--line);padding:.3em .6em;text-align:left;vertical-align:top}
    tbody th{font-weight:600}td,.tree{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px;overflow-wrap:anywhere}td[class]:not(.tree){overflow-wrap:normal}
    .step{border-style:none;color:var(--soft);font-weight:400;font-size:12px;text-align:center}
    .step ul{list-style:none;margin:0;padding:0}svg{width:4em;height:1em;fill:none;stroke:currentColor}
    .added,.server{color:var(--added)}.removed,.conflict{color:var(--removed)}.changed,.reordered,.merged{color:var(--changed)}
    .type{color:var(--type)}small,.soft{color:var(--soft)}summary{cursor:pointer}
    details>div,details>details{margin-left:1.4em}details>div{padding-left:1em}.key{font-weight:600}
    .timeline{border-left:2px solid var(--line);list-style:none;margin:0;padding:0}
    .timeline>li{margin:0 0 1.2em;padding-left:1.2em;position:relative}
    .timeline>li::before{content:"";position:absolute;left:-6px;top:.45em;width:10px;height:10px;border-radius:5px;background:var(--soft)}
    @media print{body{margin:0}.scroll{overflow:visible}section,tr,li{break-inside:avoid}}
    """
}
