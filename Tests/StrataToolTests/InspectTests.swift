import Foundation
import StrataCore
import StrataTestSupport
import Testing

@testable import StrataTool

struct InspectTests {
  let scratch: Scratch
  let path: String

  init() throws {
    scratch = try Scratch()
    let user = ModelRecord(typeName: "User", modelVersion: 1, fields: [("login", "ana")])
    let issue = ModelRecord(
      typeName: "Issue", modelVersion: 3,
      fields: [
        ("title", .string(String(repeating: "long ", count: 100))), ("user", .record(user)),
        ("date", .date(Date(timeIntervalSince1970: 0))), ("nan", .double(.nan)),
        ("list", .array((0..<50).map { .int($0) })),
      ])
    path = try scratch.file("a.strata", ArchiveEncoder().encode(issue))
  }

  @Test func text() throws {
    let run = Run("inspect", path)
    #expect(run.code == 0, "\(run.error)")
    let lines = run.text.split(separator: "\n")
    #expect(lines.contains("type           Issue"))
    #expect(lines.contains("model version  3"))
    #expect(lines.contains("Issue@3"))
    #expect(lines.contains("  user: User@1"))
    #expect(lines.contains("    login: \"ana\""))
    #expect(lines.contains("  date: 1970-01-01T00:00:00Z"))
    #expect(lines.contains("    … 30 more"))
    #expect(!Run("inspect", path, "--depth", "0").text.contains("title"))
  }

  @Test(
    "inspect truncates lines to the terminal width for any characters, and never in a pipe",
    arguments: [20, 40, 100, 250])
  func width(columns: Int) throws {
    let wide = ModelRecord(
      typeName: String(repeating: "Type", count: 20), modelVersion: 3,
      fields: [
        ("漢字", .string(String(repeating: "漢字", count: 200))), ("emoji", .string(String(repeating: "👩‍👩‍👧", count: 200))),
        ("accents", .string(String(repeating: "e\u{301}", count: 300))),
        ("items", [.record(ModelRecord(typeName: String(repeating: "Long", count: 30), modelVersion: 1))]),
      ])
    let file = try scratch.file(String(repeating: "n", count: 120), ArchiveEncoder().encode(wide))
    for file in [path, file, Repository.fixtures.appending(path: "legacy/everything.plist").path] {
      let run = Run(["inspect", file, "--color", "never"], terminal: columns)
      #expect(run.code == 0)
      for line in run.text.split(separator: "\n") { #expect(String(line).terminalWidth <= columns, "\(line)") }
      let whole = Run(["inspect", file, "--elements", "99999"])
      #expect(!whole.text.contains("…"), "\(whole.text)")
    }
    #expect(Run("inspect", path).text.contains(String(repeating: "long ", count: 100) + "\""))
    #expect(Run(["inspect", path], terminal: columns).text.contains("…"))
  }

  @Test(
    "terminalWidth counts the columns of wide, combined and emoji characters",
    arguments: [
      ("", 0), ("abc", 3), ("漢字", 4), ("e\u{301}", 1), ("👩‍👩‍👧", 2), ("한", 2), ("é…→", 3), ("ｱ", 1), ("Ａ", 2),
      ("❤\u{FE0F}", 2),
    ])
  func columns(text: String, width: Int) { #expect(text.terminalWidth == width) }

  @Test func json() throws {
    let value = try JSONReader().read(Run("inspect", path, "--json").output)
    #expect(value["stamp"]?["type"] == "Issue")
    #expect(value["stamp"]?["modelVersion"] == 3)
    #expect(value["stamp"]?["fileSize"]?.intValue == (try scratch.data("a.strata").count))
    #expect(value["types"]?.arrayValue?.count == 2)
    #expect(value["value"]?["record"] == "Issue@3")
    #expect(value["value"]?["fields"]?["list"]?.arrayValue?.count == 50)
    #expect(value["value"]?["fields"]?["nan"] == "nan")
  }

  @Test func stampOfADamagedBody() throws {
    var data = try scratch.data("a.strata")
    data[data.count - 20] ^= 1
    let damaged = try scratch.file("d.strata", data)
    Run("inspect", damaged).expectFailure("d.strata: ")
    let run = Run("inspect", damaged, "--stamp")
    #expect(run.code == 0 && run.text.contains("Issue"))
    let value = try JSONReader().read(Run("inspect", damaged, "--stamp", "--json").output)
    #expect(value["stamp"]?["kind"] == "single" && value["value"] == nil)
  }

  @Test("inspect lists all types with their counts and does not truncate long type names")
  func manyTypes() throws {
    let name = String(repeating: "Long", count: 60)
    let records = (0..<50).map {
      ModelRecord(typeName: $0 == 7 ? name : "Type\($0)", modelVersion: 1, fields: [("a", 1)])
    }
    let file = try scratch.file("t.strata", ArchiveEncoder().encode(ArchiveValue.array(records.map { .record($0) })))
    let lines = Run("inspect", file).text.split(separator: "\n").filter { $0.hasSuffix("1 record") }
    #expect(lines.count == 50)
    #expect(lines.contains { $0.contains(name + "@1  1 record") })
    #expect(Set(lines.filter { !$0.contains(name) }.map(\.count)).count == 1)
  }

  @Test("inspect escapes control characters and keeps columns aligned")
  func controlCharacters() throws {
    let records = [
      ModelRecord(typeName: "A\tB\n\u{1B}[2J\u{202E}", modelVersion: 1, fields: [("a\tb", "\u{2066}x")]),
      ModelRecord(typeName: "Plain", modelVersion: 1),
    ]
    let file = try scratch.file("t.strata", ArchiveEncoder().encode(ArchiveValue.array(records.map { .record($0) })))
    let run = Run("inspect", file)
    let lines = run.text.split(separator: "\n").filter { $0.hasSuffix("1 record") }
    #expect(lines.count == 2 && Set(lines.map(\.count)).count == 1, "\(run.text)")
    #expect(run.text.contains("a\\tb: \"\\u{2066}x\""))
    let hidden = "\t\u{1B}\u{202E}\u{2066}".unicodeScalars
    #expect(!run.text.unicodeScalars.contains { hidden.contains($0) })
  }

  @Test("inspect marks a truncated key with an ellipsis")
  func cutKeys() throws {
    let keys = ["1", "2"].map { String(repeating: "k", count: 60) + $0 }
    let map = ArchiveValue.map([.init(key: 1, value: 1)] + keys.map { .init(key: .string($0), value: 1) })
    let file = try scratch.file("m.strata", ArchiveEncoder().encode(map))
    let lines = Run(["inspect", file], terminal: 100, environment: ["NO_COLOR": "1"]).text.split(separator: "\n")
      .filter { $0.contains("kkk") }
    #expect(lines.count == 2 && lines.allSatisfy { $0.contains("k…\": 1") }, "\(lines)")
  }

  @Test func streams() throws {
    let file = try scratch.file("s.strata", Streams.stream([[1, 2], [3]]))
    #expect(Run("inspect", file, "--stamp").text.contains("count          3"))
    #expect(Run("inspect", file, "--elements", "2").text.contains("… 1 more"))
    let value = try JSONReader().read(Run("inspect", file, "--json").output)
    #expect(value["value"] == [1, 2, 3])
  }
}
