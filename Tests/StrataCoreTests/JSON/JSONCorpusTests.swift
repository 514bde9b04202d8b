import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("JSON corpus", .readsCorpus)
struct JSONCorpusTests {
  /// The table in Docs/JSON.md. It lists the documents that RFC 8259 leaves to the implementation, and whether this reader
  /// accepts them.
  static let choices: [String: Bool] = {
    // If the page is missing, the table is empty and the tests fail.
    let text = (try? Repository.text("Docs/JSON.md")) ?? ""
    var choices: [String: Bool] = [:]
    for line in text.split(separator: "\n") where line.hasPrefix("| `i_") {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count == 3 else { continue }
      choices[cells[0].replacing("`", with: "")] = cells[1] == "read"
    }
    return choices
  }()

  @Test("The table of parser choices lists exactly the implementation-defined documents")
  func choicesAreListed() {
    let names = Corpus.jsonFiles(in: "json/conformance/test_parsing").compactMap {
      $0.split(separator: "/").last?.dropLast(5)
    }
    #expect(Set(names.filter { $0.hasPrefix("i_") }.map(String.init)) == Set(Self.choices.keys))
  }

  @Test(
    "Each conformance document is accepted or rejected as expected",
    arguments: Corpus.jsonFiles(in: "json/conformance/test_parsing"))
  func conformance(path: String) throws {
    let name = try #require(path.split(separator: "/").last).dropLast(5)
    let isRead: Bool =
      switch name.first {
      case "y": true
      case "n": false
      default: try #require(Self.choices[String(name)] as Bool?, "an undecided document")
      }
    let data = try Corpus.data(path)
    if isRead {
      let value = try JSONReader().read(data)
      #expect(try JSONReader().read(JSONWriter().write(value)) == value)
    } else {
      let error = #expect(throws: ArchiveError.self) { try JSONReader().read(data) }
      let isDeep = name.contains("100000_opening") || name.contains("open_array_object")
      #expect(error?.code == (isDeep ? .limitExceeded : .invalidJSON))
      #expect(error?.reason.contains(/^line [1-9]\d*, column [1-9]\d* \(in bytes\): ./) == true)
      #expect(try #require(error?.byteOffset) <= data.count)
    }
  }

  @Test("More than 150 conformance documents are available")
  func conformanceIsThere() {
    #expect(Corpus.jsonFiles(in: "json/conformance/test_parsing").count > 150)
  }

  @Test(
    "Writing and reading a real document returns an equal value", .tags(.long),
    arguments: ["github-rest", "github-webhook", "mastodon", "tweets", "octokit-scenarios", "merge"])
  func roundTrip(folder: String) throws {
    let paths = Effort.sample(10, of: Corpus.jsonFiles(in: "json/\(folder)"))
    #expect(!paths.isEmpty)
    for path in paths {
      let value = try JSONReader().read(Corpus.data(path))
      for (isPretty, sortsKeys) in [(false, false), (true, true)] {
        let text = try JSONWriter(isPretty: isPretty, sortsKeys: sortsKeys).write(value)
        #expect(try JSONReader().read(text) == value, "\(path)")
      }
    }
  }

  @Test(
    "Writing a real document preserves its keys, their order and the digits of its numbers", .tags(.long),
    arguments: ["github-rest", "github-webhook", "mastodon", "tweets", "octokit-scenarios", "merge"])
  func sameText(folder: String) throws {
    let paths = Effort.sample(10, of: Corpus.jsonFiles(in: "json/\(folder)"))
    #expect(!paths.isEmpty)
    for path in paths {
      let data = try Corpus.data(path)
      let text = try JSONWriter().write(JSONReader().read(data))
      // Two responses of a real server have duplicate keys. The reader keeps only the last value, so the texts differ.
      if path.contains("cassettes/test_scheduled_status-") {
        var reader = JSONReader()
        reader.duplicateKeys = .refuse
        let error = #expect(throws: ArchiveError.self) { try reader.read(data) }
        #expect(error?.codingPath.isEmpty == false)
        continue
      }
      var differences: [String] = []
      try Tokens.compare(Tokens.all(in: data), Tokens.all(in: text), &differences)
      #expect(differences.isEmpty, "\(path): \(differences.prefix(3))")
    }
  }

  @Test(
    "JSONSerialization reads the written text as the same value", .tags(.long), arguments: ["github-rest", "tweets"])
  func crossCheck(folder: String) throws {
    let paths = Effort.sample(10, of: Corpus.jsonFiles(in: "json/\(folder)"))
    #expect(!paths.isEmpty)
    for path in paths {
      let data = try Corpus.data(path)
      let text = try JSONWriter().write(JSONReader().read(data))
      let original = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed) as? NSObject
      let written = try JSONSerialization.jsonObject(with: text, options: .fragmentsAllowed) as? NSObject
      #expect(original != nil && original == written, "\(path)")
    }
  }
}

/// The tokens of valid JSON, parsed without the reader under test.
private enum Tokens {
  /// Returns the text of each token without white space. Strings keep their quotes.
  static func all(in data: Data) throws -> [String] {
    var tokens: [String] = []
    let bytes = Array(data)
    var place = 0
    while place < bytes.count {
      let start = place
      switch bytes[place] {
      case 0x20, 0x0A, 0x0D, 0x09:
        place += 1
        continue
      case UInt8(ascii: "\""):
        place += 1
        while bytes[place] != UInt8(ascii: "\"") { place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1 }
        place += 1
      case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ","),
        UInt8(ascii: ":"):
        place += 1
      default:
        while place < bytes.count, !" \n\r\t,]}".utf8.contains(bytes[place]) { place += 1 }
      }
      tokens.append(String(decoding: bytes[start..<place], as: UTF8.self))
    }
    return tokens
  }

  static func compare(_ left: [String], _ right: [String], _ differences: inout [String]) throws {
    if left.count != right.count { differences.append("\(left.count) and \(right.count) tokens") }
    for (left, right) in zip(left, right) where left != right {
      if left.hasPrefix("\"") {
        // Two texts may spell the same string with different escapes.
        let strings = try [left, right].map {
          try (JSONSerialization.jsonObject(with: Data("[\($0)]".utf8)) as? [String])?.first
        }
        if strings[0] == nil || strings[0] != strings[1] { differences.append("\(left) and \(right)") }
      } else {
        differences.append("\(left) and \(right)")
      }
    }
  }
}
