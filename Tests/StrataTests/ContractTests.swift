import Foundation
import StrataTestSupport
import Testing

/// Checks that Tests/Contract.md and the tests agree.
@Suite("Tests/Contract.md")
struct ContractTests {
  /// The number of items in each part.
  static let parts = [
    "M": 15, "MG": 19, "V": 10, "E": 8, "A": 20, "AO": 8, "AS": 5, "J": 34, "T": 7, "P": 12, "H": 9, "O": 25, "K": 10,
    "KV": 10,
    "X": 8, "U": 27, "G": 6, "F": 17,
  ]

  /// Items that were added to a part later, so their numbers don't directly follow those of the part's other items.
  static let later = ["X": 30...37]

  /// An item and the tests that its row quotes as `Suite “name”`. A name that ends with `…` is a prefix.
  struct Row {
    let item: String
    let text: String
    let quotes: [(suite: String, name: String)]
  }

  private static func rows() throws -> [Row] {
    let text = try Repository.text("Tests/Contract.md")
    return text.split(separator: "\n").compactMap { line in
      guard let row = line.wholeMatch(of: /\| ([A-Z]+-[0-9]+) \| (.+) \| (.+) \|/) else { return nil }
      let quotes = row.3.matches(of: /(\w+) “([^”]+)”/).map { (suite: String($0.1), name: String($0.2)) }
      return Row(item: String(row.1), text: String(row.3), quotes: quotes)
    }
  }

  /// The display names of the tests of each suite, by the name of its type.
  private static func names() throws -> [String: [String]] {
    let folder = Repository.root.appending(path: "Tests")
    var names: [String: [String]] = [:]
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted()
    where path.hasSuffix("Tests.swift") && !path.contains(".build") {
      let source = try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
      var suite = ""
      for match in source.matches(of: /\bstruct (\w+Tests)\b|@Test\(\s*"((?:[^"\\]|\\.)*)"/) {
        if let name = match.1 {
          suite = String(name)
        } else if let name = match.2 {
          names[suite, default: []].append(String(name))
        }
      }
    }
    return names
  }

  @Test("Each contract item has exactly one row, in order")
  func items() throws {
    let items = try Self.rows().map(\.item)
    let wanted =
      Self.parts.flatMap { part in (1...part.value).map { "\(part.key)-\($0)" } }
      + Self.later.flatMap { part in part.value.map { "\(part.key)-\($0)" } }
    #expect(Set(items) == Set(wanted), "\(Set(items).symmetricDifference(wanted).sorted())")
    #expect(items.count == wanted.count)
    for part in Self.parts.keys {
      let numbers = items.filter { $0.hasPrefix(part + "-") }.compactMap { Int($0.dropFirst(part.count + 1)) }
      #expect(numbers == numbers.sorted())
    }
  }

  @Test("Each test quoted in a row exists, and one of them has the item's number in its title")
  func quotes() throws {
    let names = try Self.names()
    for row in try Self.rows() {
      for quote in row.quotes {
        let isThere = names[quote.suite, default: []].contains { name in
          quote.name.hasSuffix("…") ? name.hasPrefix(quote.name.dropLast()) : name == quote.name
        }
        #expect(isThere, "\(row.item) quotes \(quote.suite) “\(quote.name)”")
      }
      // A row that quotes no test must give a reason instead, which is checked below.
      let isHeld =
        row.quotes.isEmpty
        || row.quotes.contains { quote in
          names[quote.suite, default: []].contains { name in
            (name == quote.name || quote.name.hasSuffix("…") && name.hasPrefix(quote.name.dropLast()))
              && name.matches(of: /[A-Z]+-[0-9]+/).contains { $0.0 == row.item }
          }
        }
      #expect(isHeld, "\(row.item): none of its tests bears its number")
      #expect(!row.quotes.isEmpty || row.text.count > 3, "\(row.item) has neither a test nor a reason")
    }
  }

  @Test("Each contract number in a test title belongs to an item")
  func numbers() throws {
    for name in try Self.names().values.joined() {
      for match in name.matches(of: /\b([A-Z]{1,2})-([0-9]+)\b/) {
        let part = String(match.1)
        guard let count = Self.parts[part], let number = Int(match.2) else { continue }
        let isKnown = [1...count, Self.later[part]].contains { $0.map { $0 ~= number } ?? false }
        #expect(isKnown, "\(name)")
      }
    }
  }
}
