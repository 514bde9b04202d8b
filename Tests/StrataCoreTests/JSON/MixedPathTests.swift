import Foundation
import Strata
import Testing

@Model(version: 1)
private struct Mixed: Equatable {
  var id: Int
  @Field(json: "user.login") var login: String?
  @Field(json: .path("state", .cases(Progress.self, aliases: ["reopened": .open]))) var state: Progress
  @Field(json: .firstOf("html_url", "url")) var page: URL?
  @Field(json: .path("due.on", .date(format: "yyyy-MM-dd"))) var due: Date?
  @Field(json: .readOnly("labels[*].name")) var labels: [String] = []
  @Field(json: .path("votes").null(.useDefault).lenient(.numericString)) var votes = 3
  @Field(json: .readOnly("server")) var server = ""
  @Field(json: .none) var cache = 1
  @Field(json: .path("kind").missing("none")) var kind: String
}

private enum Progress: String, Archivable, CaseIterable { case open, closed }

/// JSON text is decoded directly into models, except for special fields, which are decoded from a parsed value. Both ways must give the
/// same result.
@Suite struct MixedPathTests {
  static let documents = [
    #"{"id": 1, "state": "open", "user": {"login": "a"}, "html_url": "https://a.b", "labels": [{"name": "x"}]}"#,
    #"{"state": "reopened", "id": 2, "url": "https://c.d", "due": {"on": "2015-09-25"}, "votes": "7", "kind": "k"}"#,
    #"{"id": 1, "state": "closed", "votes": null, "server": "s", "cache": 9, "due": null, "user": null}"#,
    #"{"id": 1, "state": "unknown"}"#, #"{"id": "x", "state": "open"}"#, #"{"id": 1}"#, #"{"state": "open"}"#,
    #"{"id": 1, "state": "open", "due": {"on": "tomorrow"}}"#, #"{"id": 1, "state": "open", "due": 5}"#,
    #"{"id": 1, "state": "open", "labels": [{"name": "x"}, {}]}"#, #"{"id": 1, "state": "open", "labels": 4}"#,
    #"{"id": 1, "state": "open", "user": 4}"#, #"{"id": 1, "state": "open", "html_url": "not a URL"}"#,
    #"{"id": 1, "state": "open", "votes": "many"}"#, #"{"id": 1, "state": "open", "kind": null}"#, "[]", "3", "null",
    #"{"id": 1, "state": "open", "state": "closed"}"#, #"{"id": 1, "id": 1, "state": "closed"}"#,
  ]

  private func outcome(_ read: () throws -> Mixed) -> String {
    do {
      var model = try read()
      model.cache = 0
      return "\(model)"
    } catch let error as ArchiveError {
      return "\(error.code) \(error.pathDescription) \(error.jsonPath) \(error.typeName ?? "")"
    } catch { return "\(error)" }
  }

  @Test("J-6, J-7, J-18: JSON text and its parsed value decode to the same model or error", arguments: documents)
  func paths(text: String) throws {
    let adapter = try JSONAdapter<Mixed>()
    let straight = outcome { try adapter.decode(Data(text.utf8)) }
    var reader = JSONReader()
    reader.duplicateKeys = .refuse
    let detour = outcome {
      try adapter.decode(reader.read(Data(text.utf8)))
    }
    if straight.hasPrefix("invalidJSON") {
      #expect(detour.hasPrefix("invalidJSON"))
    } else {
      #expect(straight == detour)
    }
  }

  @Test func anotherMappingIsReadStraightToo() throws {
    let mapping = JSONMapping<Mixed>.identity.merging(["id": "number", "state": .path("state")])
    let adapter = try JSONAdapter(mapping.removing("due", "page"))
    let text = #"{"number": 4, "state": "open", "login": null, "labels": ["a"], "kind": "k"}"#
    let model = try adapter.decode(Data(text.utf8))
    #expect(model.id == 4 && model.labels == ["a"])
    #expect(try adapter.decode(JSONReader().read(Data(text.utf8))) == model)
  }
}
