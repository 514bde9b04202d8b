import Foundation
import StrataCore
import Testing

private struct Label: DescribedModel, Equatable {
  var id: Int
  var name: String
  var local: Bool
  static let fields = Fields(
    Label.self, version: 1, Field("id", \.id), Field("name", \.name),
    Field("local", \.local, merge: .keepLocal, default: false), make: { Label(id: $0, name: $1, local: $2) })
}

private struct Ticket: DescribedModel, Equatable {
  var id: Int
  var title: String
  var body: String?
  var kept: String?
  var secret: String
  var labels: [Label]
  var main: Label?
  var total: Int
  var url: URL?
  var opened: Date
  var reporter: String
  static let fields = Fields(
    Ticket.self, version: 1, Field("id", \.id), Field("title", \.title), Field("body", \.body),
    Field("kept", \.kept, merge: .serverWins.ifPresent), Field("secret", \.secret, merge: .keepLocal, default: "s"),
    Field("labels", \.labels, merge: .byID(), default: []), Field("main", \.main, merge: .recursive),
    Field(
      "total", \.total,
      merge: .custom { target, source in
        .integer((target?.intValue ?? 0) + (source?.intValue ?? 0))
      }, default: 0),
    Field("url", \.url, json: "html_url"), Field("opened", \.opened, json: "created_at"),
    Field("reporter", \.reporter, json: "user.login"),
    make: {
      Ticket(
        id: $0, title: $1, body: $2, kept: $3, secret: $4, labels: $5, main: $6, total: $7, url: $8, opened: $9,
        reporter: $10)
    })
  static func sample() -> Ticket {
    Ticket(
      id: 9_007_199_254_740_993, title: "t", body: "b", kept: "k", secret: "mine",
      labels: [Label(id: 1, name: "one", local: true), Label(id: 2, name: "two", local: true)],
      main: Label(id: 1, name: "one", local: true), total: 5, url: URL(string: "https://a.b"),
      opened: Date(timeIntervalSince1970: 0), reporter: "ada")
  }
}

private final class Counter: DescribedModel {
  let id: Int
  var name: String?
  var count: Int
  init(id: Int, name: String?, count: Int) {
    self.id = id
    self.name = name
    self.count = count
  }
  static let fields = Fields(
    Counter.self, version: 1, Field("id", \.id), Field("name", \.name), Field("count", \.count),
    make: { Counter(id: $0, name: $1, count: $2) })
}

private struct Adder: DescribedModel, KeyMerging, Equatable {
  var name: String?
  var count: Int
  static let fields = Fields(
    Adder.self, version: 1, Field("name", \.name), Field("count", \.count), make: { Adder(name: $0, count: $1) })
  mutating func mergeValue(forKey key: String, from source: Adder) throws -> Bool {
    guard key == "count" else { return false }
    guard source.count >= 0 else { throw CancellationError() }
    count += source.count
    return true
  }
}

@Suite("Merging")
struct MergeTests {
  @Test("A hook merges its own key from the whole source; other keys take the source's value (MG-3)")
  func hook() throws {
    var adder = Adder(name: nil, count: 5)
    let report = try adder.mergeValues(from: Adder(name: "n", count: 3))
    #expect(adder == Adder(name: "n", count: 8))
    #expect(report.changedKeys == ["name", "count"])
  }

  @Test("Null overwrites a value by default, and field policies override this (MG-2, U-1)")
  func policies() throws {
    var ticket = Ticket.sample()
    var source = Ticket.sample()
    source.body = nil
    source.kept = nil
    source.secret = "theirs"
    source.total = 3
    source.labels = [Label(id: 2, name: "zwei", local: false), Label(id: 3, name: "three", local: false)]
    source.main = Label(id: 7, name: "seven", local: false)
    let report = try ticket.mergeValues(from: source)
    #expect(ticket.body == nil)
    #expect(ticket.kept == "k")
    #expect(ticket.secret == "mine")
    #expect(ticket.total == 8)
    #expect(ticket.labels == [Label(id: 2, name: "zwei", local: true), Label(id: 3, name: "three", local: false)])
    // MG-11: `main` is now a different label, so the fields that JSON lacks are not kept.
    #expect(ticket.main == Label(id: 7, name: "seven", local: false))
    #expect(report.changedKeys == ["body", "labels", "main", "total"])
  }

  @Test("A call's policy takes precedence, and only the requested keys are merged (MG-1, MG-8)")
  func perCall() throws {
    var ticket = Ticket.sample()
    var source = Ticket.sample()
    source.title = "new"
    source.body = nil
    try ticket.mergeValues(from: source, forKeys: ["body"], policy: .serverWins.ifPresent)
    #expect(ticket == .sample())
    try ticket.mergeValues(from: source, forKeys: ["title"])
    #expect(ticket.title == "new" && ticket.body == "b")
    let error = #expect(throws: ArchiveError.self) { try ticket.mergeValues(from: source, forKeys: ["nope"]) }
    #expect(error?.code == .unknownKey)
  }

  @Test("JSON changes only the keys it contains, and null is a value (MG-4, X-3)")
  func json() throws {
    var ticket = Ticket.sample()
    let body =
      #"{"title": "new", "body": null, "html_url": "https://c.d/e", "created_at": "2020-01-02T03:04:05Z", "user": {"login": "bob"}, "ignored": [1]}"#
    let report = try ticket.mergeValues(fromJSON: Data(body.utf8))
    #expect(report.changedKeys == ["title", "body", "url", "opened", "reporter"])
    #expect(ticket.opened == Date(timeIntervalSince1970: 1_577_934_245))
    #expect(ticket.reporter == "bob" && ticket.kept == "k" && ticket.id == 9_007_199_254_740_993)
    #expect(try ticket.mergeValues(fromJSON: Data("{}".utf8)).mergedKeys.isEmpty)
  }

  @Test("A partial nested object is merged key by key if its field is declared recursive (U-16)")
  func nested() throws {
    var ticket = Ticket.sample()
    try ticket.mergeValues(fromJSON: Data(#"{"main": {"name": "renamed"}}"#.utf8))
    #expect(ticket.main == Label(id: 1, name: "renamed", local: true))
  }

  @Test(
    "A bad value fails the merge and leaves the target unchanged (MG-7)",
    arguments: [
      #"{"title": "new", "total": "x"}"#, #"{"title": "new", "id": true}"#, #"{"title": "new", "id": null}"#,
      #"{"title": "new", "labels": [{"id": 9}]}"#, #"{"title": "new", "user": "ada"}"#, "[]", "", "{\"title\": \"new\"",
      #"{"title": "new", "html_url": "not a valid URL"}"#, #"{"title": "new", "created_at": "yesterday"}"#,
    ])
  func atomic(body: String) {
    var ticket = Ticket.sample()
    #expect(throws: ArchiveError.self) { try ticket.mergeValues(fromJSON: Data(body.utf8)) }
    #expect(ticket == .sample())
  }

  @Test("A hook that throws leaves the target unchanged")
  func failingHook() {
    var adder = Adder(name: "a", count: 5)
    let error = #expect(throws: ArchiveError.self) { try adder.mergeValues(from: Adder(name: "b", count: -1)) }
    #expect(error?.code == .mergeFailed)
    #expect(error?.codingPath == [.key("count")])
    #expect(adder == Adder(name: "a", count: 5))
  }

  @Test("An object keeps its identity, and changing a constant throws")
  func object() throws {
    let counter = Counter(id: 1, name: "a", count: 1)
    let same = counter
    try counter.mergeValues(from: Counter(id: 1, name: nil, count: 2))
    #expect(counter === same && same.name == nil && same.count == 2)
    let error = #expect(throws: ArchiveError.self) {
      try counter.mergeValues(from: Counter(id: 2, name: "b", count: 3))
    }
    #expect(error?.code == .mergeFailed)
    #expect(same.count == 2)
  }

  @Test("Merging another model's object uses only the keys that both declare (MG-5, MG-6)")
  func otherModel() throws {
    var adder = Adder(name: "a", count: 5)
    try adder.merge(.model(Label(id: 1, name: "label", local: true)))
    #expect(adder == Adder(name: "label", count: 5))
  }
}
