import Foundation
import StrataCore
import StrataTestSupport
import Testing

private struct Page: DescribedModel, Equatable {
  var url: URL?
  static let fields = Fields(
    Page.self, name: "MessagePage", version: 1, Field("url", \.url), make: { Page(url: $0) })
}

@Suite("Error messages")
struct ErrorMessageTests {
  @Test("An error from reading a file names the file, but no folder and no member")
  func files() throws {
    try withFolder { folder in
      let url = folder.appending(path: "a bug.strata")
      let archive = try ArchiveEncoder().encode(Page(url: URL(string: "https://example.com/a")))
      var damaged = archive
      damaged[archive.count - 5] ^= 0xFF
      var inflated = archive
      inflated[archive.count / 2] ^= 0xFF
      for bytes in [damaged, inflated, archive.prefix(archive.count - 3), archive.prefix(30), Data("hello".utf8)] {
        try bytes.write(to: url)
        for read in [
          { _ = try ArchiveDecoder().decode(Page.self, from: url) },
          { for result in ArchiveSequence(Page.self, from: url).results { _ = try result.get() } },
          {
            var report = DecodingReport()
            _ = try ArchiveDecoder().decode(Page.self, from: url, report: &report)
          },
        ] as [() throws -> Void] {
          let error = #expect(throws: ArchiveError.self, performing: read)
          #expect(error?.fileName == "a bug.strata")
          let text = "\(error.map(String.init(describing:)) ?? "")"
          #expect(
            text.hasPrefix("“a bug.strata”: ") && !text.contains("member") && !text.contains(folder.path), "\(text)")
        }
      }
      // A type mismatch in a file is reported with the file's name. Data in memory has no name.
      try ArchiveEncoder().encode(["x"]).write(to: url)
      let other = #expect(throws: ArchiveError.self) { try ArchiveDecoder().decode([Int].self, from: url) }
      #expect(other?.code == .typeMismatch && other?.fileName == "a bug.strata")
      let memory = #expect(throws: ArchiveError.self) { try ArchiveDecoder().decode(Page.self, from: damaged) }
      #expect(memory?.fileName == nil)
      try Data("hello".utf8).write(to: url)
      #expect(throws: ArchiveError.self) { try Stamp(ofFile: url) }
      let missing = #expect(throws: ArchiveError.self) {
        try ArchiveDecoder().decode(Page.self, from: folder.appending(path: "none"))
      }
      #expect(missing?.code == .fileSystem && "\(missing.map(String.init(describing:)) ?? "")".hasPrefix("cannot "))
    }
  }

  @Test("For a URL field, an invalid string and a value of another type throw different errors")
  func urls() throws {
    for text in ["https://example.com/a b", "https://exa mple.com", ""] {
      for read in [
        { _ = try Page(fromJSON: Data(#"{"url": "\#(text)"}"#.utf8)) },
        { _ = try Page(fromJSON: ["url": .string(text)]) },
      ] as [() throws -> Void] {
        let error = #expect(throws: ArchiveError.self, performing: read)
        #expect(error?.code == .typeMismatch && error?.pathDescription == "url")
        #expect(
          error?.reason.contains(".url(percentEncoding: true)") == true
            && error?.input as? ArchiveValue == .string(text))
      }
    }
    let number = #expect(throws: ArchiveError.self) { try Page(fromJSON: Data(#"{"url": 7}"#.utf8)) }
    #expect(number?.reason.contains("the value must be a URL; found integer") == true)
  }

  @Test("The message shortens a long path, and the error keeps the full path")
  func longPaths() throws {
    let text =
      String(repeating: #"{"children":["#, count: 240) + #"{"x":"one"}"# + String(repeating: "]}", count: 240)
    let error = #expect(throws: ArchiveError.self) { try Deep(fromJSON: Data(text.utf8)) }
    #expect(error?.codingPath.count ?? 0 > 400)
    let message = "\(error.map(String.init(describing:)) ?? "")"
    #expect(message.count < 400 && message.contains(" more … "), "\(message)")
    let short = ArchiveError(.typeMismatch, "x", path: (0..<20).map { .index($0) })
    #expect("\(short)".contains("[19]") && !"\(short)".contains("…"))
  }

  @Test("Records and values print their content")
  func printed() {
    let record = ModelRecord(typeName: "Bug", modelVersion: 1, fields: [("id", 3), ("list", [1, ["a": .null]])])
    #expect("\(record)" == #"Bug@1(id: 3, list: [1, ["a": null]])"#)
    #expect("\([record])" == #"[Bug@1(id: 3, list: [1, ["a": null]])]"#)
    #expect("\(ArchiveValue.record(record))" == "\(record)")
  }
}

/// A tree of any depth.
private struct Deep: DescribedModel {
  var children: [Deep]
  var x: Int?
  static let fields = Fields(
    Deep.self, name: "MessageDeep", version: 1, Field("children", \.children, default: []), Field("x", \.x),
    make: { Deep(children: $0, x: $1) })
}
