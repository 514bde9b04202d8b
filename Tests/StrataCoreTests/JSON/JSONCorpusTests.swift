import Foundation
import StrataCore
import Testing

/// The folder of real documents, which is not part of the repository.
private let corpus = ProcessInfo.processInfo.environment["STRATA_CORPUS"].map {
  URL(fileURLWithPath: $0, isDirectory: true).appendingPathComponent("json", isDirectory: true)
}

/// The JSON files of a folder of the corpus and of the folders in it, by their paths there.
private func files(in folder: String) -> [String] {
  guard let root = corpus?.appendingPathComponent(folder, isDirectory: true) else { return [] }
  let paths = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
  return paths.filter { $0.hasSuffix(".json") }.sorted().map { "\(folder)/\($0)" }
}

private func document(_ path: String) throws -> Data {
  try Data(contentsOf: #require(corpus).appendingPathComponent(path))
}

@Suite("JSON corpus", .enabled(if: corpus != nil, "STRATA_CORPUS is not set"))
struct JSONCorpusTests {
  /// The documents on which RFC 8259 leaves the choice to the reader, and whether this one reads them.
  static let choices: [String: Bool] = [
    // No double holds these, so their text is kept.
    "i_number_real_pos_overflow": true,
    "i_number_real_underflow": true,
    // Integers keep all their digits.
    "i_number_too_big_pos_int": true,
    // A string holds Unicode scalars, and surrogates are none.
    "i_string_1st_valid_surrogate_2nd_invalid": false,
    "i_string_incomplete_surrogate_pair": false,
    "i_string_invalid_surrogate": false,
    // Text is UTF-8 throughout.
    "i_string_UTF-8_invalid_sequence": false,
    "i_string_lone_utf8_continuation_byte": false,
    "i_string_not_in_unicode_range": false,
    "i_string_overlong_sequence_6_bytes": false,
    "i_string_overlong_sequence_6_bytes_null": false,
    "i_string_utf16LE_no_BOM": false,
    // The limit is 512 levels.
    "i_structure_500_nested_arrays": true,
    // RFC 8259 lets a reader refuse the mark.
    "i_structure_UTF-8_BOM_empty_object": false,
  ]

  @Test("Conformance", arguments: files(in: "conformance/test_parsing"))
  func conformance(path: String) throws {
    let name = try #require(path.split(separator: "/").last).dropLast(5)
    let isRead: Bool =
      switch name.first {
      case "y": true
      case "n": false
      default: try #require(Self.choices[String(name)] as Bool?, "an undecided document")
      }
    let data = try document(path)
    if isRead {
      let value = try JSONReader().read(data)
      #expect(try JSONReader().read(JSONWriter().write(value)) == value)
    } else {
      let error = #expect(throws: ArchiveError.self) { try JSONReader().read(data) }
      let isDeep = name.contains("100000_opening") || name.contains("open_array_object")
      #expect(error?.code == (isDeep ? .limitExceeded : .invalidJSON))
      #expect(error?.reason.contains(/^line \d+, column \d+ \(in bytes\): ./) == true)
      #expect(try #require(error?.byteOffset) <= data.count)
    }
  }

  @Test("The conformance documents are there")
  func conformanceIsThere() {
    #expect(files(in: "conformance/test_parsing").count > 150)
  }

  @Test(
    "Real documents come back as they are",
    arguments: ["github-rest", "github-webhook", "mastodon", "tweets", "octokit-scenarios", "merge"])
  func roundTrip(folder: String) throws {
    let paths = files(in: folder)
    #expect(!paths.isEmpty)
    for path in paths {
      let value = try JSONReader().read(document(path))
      for (isPretty, sortsKeys) in [(false, false), (true, true)] {
        let text = try JSONWriter(isPretty: isPretty, sortsKeys: sortsKeys).write(value)
        #expect(try JSONReader().read(text) == value, "\(path)")
      }
    }
  }

  @Test("Another reader reads the written text alike", arguments: ["github-rest", "tweets"])
  func crossCheck(folder: String) throws {
    for path in files(in: folder) {
      let data = try document(path)
      let text = try JSONWriter().write(JSONReader().read(data))
      let original = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed) as? NSObject
      let written = try JSONSerialization.jsonObject(with: text, options: .fragmentsAllowed) as? NSObject
      #expect(original != nil && original == written, "\(path)")
    }
  }
}
