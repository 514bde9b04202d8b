import Foundation
import StrataCore
import Testing

@testable import StrataTool

struct TextTests {
  @Test func numbersAreGrouped() {
    #expect([0, 999, 1000, -1_234_567].map(\.grouped) == ["0", "999", "1,000", "-1,234,567"])
    #expect(1.counted("byte") == "1 byte")
    #expect(2000.counted("byte") == "2,000 bytes")
  }

  @Test func ratiosAreRounded() {
    #expect(ratio(1, 3) == "0.33")
    #expect(ratio(2, 3) == "0.67")
    #expect(ratio(1999, 1000) == "2.00")
    #expect(ratio(1, 0) == "–")
  }

  @Test("Bidirectional control characters are escaped, and joiners are kept")
  func directions() {
    #expect("a\u{202E}b\u{2066}\u{200F}\u{61C}\u{9B}".onOneLine == "a\\u{202E}b\\u{2066}\\u{200F}\\u{61C}\\u{9B}")
    #expect("👩\u{200D}🚀 \u{645}\u{200C}\u{646}".onOneLine == "👩\u{200D}🚀 \u{645}\u{200C}\u{646}")
  }

  @Test("Columns are aligned by terminal width, not by character count")
  func wideColumns() throws {
    var table = TextTable(columns: 2)
    table.add(["漢字", "a", "b"])
    table.add(["abc", "漢字", "c"])
    #expect(table.lines == ["漢字  a     b", "abc   漢字  c"])

    let wide = ArchiveValue.string(String(repeating: "漢字", count: 30))
    for (old, new) in [(wide, wide), (wide, .string("a")), (.string("a"), wide)] {
      let changes = ValueDifference(
        from: ["漢字": .array([old])], to: ["漢字": .array([new == old ? .string("漢") : new])], elementsBy: "id"
      ).changes
      for change in changes {
        let line = DifferenceText(width: 40, showsValues: true).line(change)
        #expect(line.terminalWidth <= 40 && line.contains("漢"), "\(line)")
      }
      #expect(!changes.isEmpty)
    }

    let text = try String(decoding: Legacy.data("bookmarks-xml.plist"), as: UTF8.self)
    let list = text.replacing("Bookmarks.Folder", with: "漢字漢字漢字漢字")
    let lines = try LegacyDocument(Data(list.utf8), isBinary: false)
      .lines(of: "a", width: 80, depth: 0, elements: 0, isColoured: false)
    let columns = lines.filter { $0.hasSuffix(" < NSObject") }
      .map { $0.prefix { $0 != "<" } }.map { String($0).terminalWidth }
    #expect(columns.count > 1 && Set(columns).count == 1, "\(lines)")
  }

  @Test func textStaysOnOneLine() {
    #expect("a\nb\u{1B}[0m".onOneLine == "a\\nb\\u{1B}[0m")
    #expect("abcdef".cut(to: 4) == "abc…")
    #expect("abcd".cut(to: 4) == "abcd")
  }

  @Test("The progress line shows the percentage, the rate and the time left")
  func progress() {
    #expect(
      ProgressLine.text("2/5", "a\nb", 250_000_000, of: 1_000_000_000, after: .seconds(2))
        == #"2/5 25 %  125 MB/s  6 s left  a\nb"#)
    #expect(ProgressLine.text("1/1", "a", 0, of: 0, after: .zero) == "1/1 100 %  0 MB/s  0 s left  a")
  }
}
