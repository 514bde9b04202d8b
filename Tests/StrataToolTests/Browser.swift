import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// A page that Chromium has rendered.
struct Browser {
  struct Box: Decodable {
    let name: String
    let left: Double
    let top: Double
    let width: Double
    let height: Double
  }

  private struct Shown: Decodable {
    let text: String
    let boxes: [Box]
    let width: Double
  }

  static let path = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  /// The visible text of the page, without collapsed parts of trees.
  let text: String
  /// The boxes of headings, rows, parts of trees and list items, in document order.
  let boxes: [Box]
  /// The width of the window.
  let width: Double

  /// Opens a page in a window of 1000 × 800 points. The page itself has no scripts, so a script that measures it is added to a copy.
  init(_ page: String) throws {
    let scratch = try Scratch()
    let script = """
      <script>
      const boxes=[...document.querySelectorAll('h1,h2,tr,details,li')].map(e=>{const b=e.getBoundingClientRect();
      return {name:e.tagName.toLowerCase(),left:b.left,top:b.top,width:b.width,height:b.height}});
      const shown=JSON.stringify({text:document.body.innerText,boxes,width:innerWidth});
      document.body.textContent='';document.body.dataset.shown=encodeURIComponent(shown);
      </script>
      """
    let copy = try scratch.file("page.html", page.replacing("</body>", with: script + "</body>"))
    let run = try Executable.run(
      try #require(Self.path),
      [
        "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + scratch.path("profile"),
        "--window-size=1000,800",
        "--dump-dom", "file://" + copy,
      ], nil, in: nil)
    let found = try #require(run.text.firstMatch(of: /data-shown="([^"]*)"/), "\(run.error.suffix(500))")
    let json = try #require(String(found.1).removingPercentEncoding)
    let shown = try JSONDecoder().decode(Shown.self, from: Data(json.utf8))
    (text, boxes, width) = (shown.text, shown.boxes, shown.width)
  }

  /// Checks that rows follow each other without overlapping, and that nothing but tables is wider than the window.
  func expectOrder(at location: SourceLocation = #_sourceLocation) {
    let rows = boxes.filter { $0.name == "tr" && $0.height > 0 }
    for (row, next) in zip(rows, rows.dropFirst()) {
      #expect(row.top + row.height <= next.top + 1, "\(row) \(next)", sourceLocation: location)
    }
    for box in boxes where box.name != "tr" && box.height > 0 {
      #expect(box.left >= 0 && box.width > 0, "\(box)", sourceLocation: location)
    }
    for box in boxes where box.name.hasPrefix("h") {
      #expect(box.left + box.width <= width, "\(box)", sourceLocation: location)
    }
  }
}
