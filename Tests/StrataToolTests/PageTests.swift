import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("HTML pages of inspect, diff, merge and store history")
struct PageTests {
  let scratch: Scratch
  var page: String { scratch.path("page.html") }

  init() throws { scratch = try Scratch() }

  private func html() throws -> String { String(decoding: try scratch.data("page.html"), as: UTF8.self) }

  /// Checks that each start tag has its end tag, in the right order. Only the listed elements have no end tag.
  private func expectWellFormed(_ html: String, at location: SourceLocation = #_sourceLocation) {
    var open: [Substring] = []
    for tag in html.matches(of: /<(\/?)([a-z0-9]+)[^>]*>/) where !["meta", "br", "path"].contains(tag.2) {
      if tag.1.isEmpty {
        open.append(tag.2)
      } else {
        #expect(open.popLast() == tag.2, sourceLocation: location)
      }
    }
    #expect(open.isEmpty, "\(open)", sourceLocation: location)
    #expect(!html.contains("<script") && html.matches(of: /(src|href)="[^#]/).isEmpty, sourceLocation: location)
  }

  // MARK: inspect

  @Test("The inspect page shows the stamp, the types and the whole tree")
  func inspect() throws {
    let record = ModelRecord(
      typeName: "Issue", modelVersion: 3, fields: [("id", 7), ("tags", .array((0..<50).map { .string("tag \($0)") }))])
    let file = try scratch.file("a.strata", ArchiveEncoder().encode(record))
    let run = Run("inspect", file, "--html", page)
    #expect(run.code == 0 && run.text.contains("… 30 more"))
    let html = try html()
    expectWellFormed(html)
    for part in ["Issue@3", "model version", "array of 50 elements", "&quot;tag 49&quot;", "prefers-color-scheme:dark"]
    {
      #expect(html.contains(part), "\(part)")
    }
    Run("inspect", file, "--html", scratch.path("a.strata")).expectFailure(
      code: 64, "--html requires a path that ends with .html")
    #expect(try Stamp(of: scratch.data("a.strata")).typeName == "Issue")
  }

  @Test("References in the inspect page link to objects of the same graph")
  func graph() throws {
    let objects = (0..<2).map { number in
      ArchiveValue.record(
        ModelRecord(typeName: "Node", modelVersion: 1, fields: [("next", .reference(1 - number)), ("#0", 1)]))
    }
    let file = try scratch.file(
      "a.strata",
      ArchiveEncoder().encode(
        asRead: .graph(ObjectGraph(objects: objects, root: .reference(0))), stamp: Stamp(typeName: "Node")))
    #expect(Run("inspect", file, "--html", page).code == 0)
    let html = try html()
    expectWellFormed(html)
    let ids = html.matches(of: /id="([^"]*)"/).map { $0.1 }
    #expect(ids == ["object-0-0", "object-0-1"])
    #expect(html.matches(of: /href="#([^"]*)"/).map { $0.1 } == ["object-0-0", "object-0-1", "object-0-0"])
  }

  @Test("The inspect page of a keyed archive shows its top keys and objects")
  func keyedArchive() throws {
    #expect(Run("inspect", Legacy.path("bookmarks.plist"), "--html", page).code == 0)
    let html = try html()
    expectWellFormed(html)
    #expect(html.contains("keyed archive") && html.contains("top keys") && html.contains("object-0-0"))
  }

  @Test("HTML pages escape markup and control characters in keys, values, types and notes")
  func hostile() throws {
    let markup = "</td><script>alert('\"&\u{202E}\u{1})</script>"
    let record = ModelRecord(typeName: markup, modelVersion: 1, fields: [(markup, .string(markup))])
    let changed = ModelRecord(typeName: markup, modelVersion: 1, fields: [(markup, .array([.string(markup)]))])
    let old = try scratch.file("a.strata", ArchiveEncoder().encode(record))
    let new = try scratch.file("b.strata", ArchiveEncoder().encode(changed))
    let scene = try StoreScene()
    // A key cannot contain control characters.
    let key = "</td><script>alert('\"&</script>"
    for file in [old, new] {
      let run = Run("store", "save", scene.store, key, file, "--author", markup, "--note", markup)
      #expect(run.code == 0, "\(run.error)")
    }
    let commands: [(code: Int32, arguments: [String])] = [
      (0, ["inspect", old]), (1, ["diff", old, new]),
      (0, ["merge", "--local", old, "--server", new, "-o", scratch.path("m.json")]),
      (0, ["store", "history", scene.store, key]), (1, ["store", "diff", scene.store, key]),
    ]
    for command in commands {
      let run = Run(command.arguments + ["--html", page])
      #expect(run.code == command.code, "\(command.arguments.prefix(2)): \(run.error)")
      let html = try html()
      expectWellFormed(html)
      #expect(html.contains("&lt;script&gt;alert(&#39;&quot;&amp;\\u{202E}"), "\(command.arguments.prefix(2))")
      #expect(!html.contains("\u{202E}") && !html.contains("\u{1}"))
      try FileManager.default.removeItem(atPath: page)
    }
  }

  // MARK: diff, merge and history

  @Test("The diff page shows both values of each changed path")
  func diff() throws {
    let old = try scratch.file("old.json", #"{"title": "Crash", "votes": 1, "gone": {"a": 1}}"#)
    let new = try scratch.file("new.json", #"{"title": "Hang", "votes": 1, "labels": ["x"]}"#)
    let run = Run("diff", old, new, "--html", page)
    #expect(run.code == 1 && run.text.contains("~ title"))
    let html = try html()
    expectWellFormed(html)
    let rows = html.components(separatedBy: "<tr>").dropFirst(2)
    #expect(rows.count == 3 && !rows.contains { $0.contains("votes") })
    let title = try #require(rows.first { $0.contains(">title<") })
    #expect(title.contains("&quot;Crash&quot;") && title.contains("&quot;Hang&quot;") && title.contains(">changed<"))
    Run("diff", old, new, "--patch", "--html", page).expectFailure(code: 64, "cannot be combined")
    #expect(Run("diff", old, old, "--html", page).code == 0)
    #expect(try self.html().contains("no differences"))
  }

  private func merge() throws -> Run {
    Run(
      "merge", "--local", try scratch.file("mine.json", #"{"title": "Mine", "votes": 3, "note": "n"}"#), "--base",
      try scratch.file("base.json", #"{"title": "Base", "votes": 1}"#), "--server",
      try scratch.file("theirs.json", #"{"title": "Theirs", "votes": 5}"#), "--policy", "votes=max", "-o",
      scratch.path("merged.json"), "--html", page)
  }

  @Test("The merge page shows the base, local, server and result values with the applied rule")
  func mergePage() throws {
    #expect(try merge().code == 1)
    let html = try html()
    expectWellFormed(html)
    let row = try #require(html.components(separatedBy: "<tr>").first { $0.contains(">votes<") })
    let cells = row.matches(of: /<td class="[a-z]* ?tree">(?:<div>)?(?:<span class="">)?([^<]*)/).map { String($0.1) }
    #expect(cells == ["1", "3", "5", "5"], "\(row)")
    #expect(row.contains("<td>max</td>") || row.contains(">max<"), "\(row)")
    #expect(html.contains("1 conflict"))
  }

  private func history() throws -> StoreScene {
    let scene = try StoreScene()
    _ = scene.run("save", "k", "-", "--author", "ada", input: Data(#"{"a": 1}"#.utf8))
    _ = scene.run("save", "k", "-", "--note", "two", input: Data(#"{"a": 2}"#.utf8))
    _ = scene.run("delete", "k")
    _ = scene.run("undo", "k")
    #expect(Run("store", "history", scene.store, "k", "--html", page).code == 0)
    return scene
  }

  @Test("The store history page shows each revision, including deletions, with its changes")
  func historyPage() throws {
    let scene = try history()
    let html = try html()
    expectWellFormed(html)
    let items = html.components(separatedBy: "<li>").dropFirst()
    #expect(items.count == 4, "\(html)")
    #expect(items.map { $0.contains("ada") } == [true, false, false, false] && items[2].contains("two"))
    #expect(items[3].contains("deleted") && items[4].contains("undo"))
    _ = scene
  }

  @Test(
    "The merge, history and inspect pages render in a browser without overlapping boxes", .tags(.long),
    .enabled(if: Browser.path != nil))
  func browser() throws {
    #expect(try merge().code == 1)
    let merged = try Browser(html())
    merged.expectOrder()
    for part in [
      "path\toutcome\trule\tbase\tlocal\tserver\tresult", "votes\t", "title\tconflict\tchanged by both sides",
      "1 conflict",
    ] {
      #expect(merged.text.contains(part), "\(merged.text)")
    }
    _ = try history()
    let timeline = try Browser(html())
    timeline.expectOrder()
    #expect(timeline.boxes.count { $0.name == "li" } == 4)
    let items = timeline.boxes.filter { $0.name == "li" }
    for (item, next) in zip(items, items.dropFirst()) { #expect(item.top + item.height <= next.top) }

    #expect(Run("inspect", Legacy.path("bookmarks.plist"), "--html", page).code == 0)
    let tree = try Browser(html())
    tree.expectOrder()
    // Parts of the tree below the second level are collapsed.
    let nested = try scratch.file("nested.json", #"{"a": {"b": {"c": {"d": {"e": "deep"}}}}}"#)
    #expect(Run("encode", nested, "-o", scratch.path("nested.strata")).code == 0)
    #expect(Run("inspect", scratch.path("nested.strata"), "--html", page).code == 0)
    let deep = try Browser(html())
    #expect(try html().contains("deep") && !deep.text.contains("deep") && deep.text.contains("a: "), "\(deep.text)")

    let old = try scratch.file("old.json", #"{"a": 1, "b": [1, 2]}"#)
    #expect(Run("diff", old, try scratch.file("new.json", #"{"a": 2}"#), "--html", page).code == 1)
    let difference = try Browser(html())
    difference.expectOrder()
    #expect(difference.text.contains("a\tchanged\t") && difference.text.contains("b\tremoved\t"), "\(difference.text)")
  }
}
