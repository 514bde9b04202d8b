import Foundation
import StrataCore
import StrataTestSupport
import Testing

private final class Room: DescribedModel {
  var name: String
  var next: Room?

  init(_ name: String, next: Room? = nil) { (self.name, self.next) = (name, next) }

  static let fields = Fields(
    Room.self, version: 1, Field("name", \.name), Field("next", \.next), make: { Room($0, next: $1) })
}

private struct Visit: DescribedModel, Equatable {
  var id: Int
  var at: Date
  var end: Date?
  var page: URL?
  var score: Double
  var tags: Set<String>
  var stops: [Stop]

  static let fields = Fields(
    Visit.self, version: 2, Field("id", \.id), Field("at", \.at), Field("end", \.end), Field("page", \.page),
    Field("score", \.score), Field("tags", \.tags), Field("stops", \.stops),
    make: { Visit(id: $0, at: $1, end: $2, page: $3, score: $4, tags: $5, stops: $6) })

  static func sample(_ id: Int = 1) -> Visit {
    Visit(
      id: id, at: Date(timeIntervalSince1970: 0), end: nil, page: URL(string: "https://a.b"), score: 1,
      tags: ["a", "b"], stops: [Stop(id: 1, at: Date(timeIntervalSince1970: 60))])
  }
}

private struct Stop: DescribedModel, Equatable {
  var id: Int
  var at: Date

  static let fields = Fields(
    Stop.self, version: 1, Field("id", \.id), Field("at", \.at), make: { Stop(id: $0, at: $1) })
}

private struct Page: DescribedModel {
  var title: String
  var body: String
  var merging: MergeState

  static let fields = Fields(
    Page.self, version: 1, Field("title", \.title), Field("body", \.body), Field("merging", \.merging),
    make: { Page(title: $0, body: $1, merging: $2) })
}

@Suite("strata merge with archives")
struct MergeArchiveTests {
  let scratch: Scratch
  private let base = Visit.sample()

  init() throws { scratch = try Scratch() }

  private func archive<M: Archivable>(_ name: String, _ model: M) throws -> String {
    try scratch.file(name, ArchiveEncoder().encode(model))
  }

  private func model<M: Archivable>(_ type: M.Type = M.self, _ name: String = "out") throws -> M {
    try ArchiveDecoder().decode(M.self, from: scratch.data(name))
  }

  @Test("Merging an archive with itself writes the same bytes")
  func same() throws {
    let folder = Repository.fixtures.appending(path: "archives")
    for name in ["document", "everything-v1", "hierarchy", "numbers", "payment-v2", "people-v4", "person-v4"] {
      let path = folder.appendingPathComponent(name + ".strata").path
      let run = Run("merge", "--local", path, "--server", path, "-o", scratch.path(name))
      #expect(run.code == 0 && run.text == "no differences\n", "\(name): \(run.error)")
      #expect(try scratch.data(name) == Data(contentsOf: URL(fileURLWithPath: path)), "\(name)")
    }
  }

  @Test("The base in a MergeState may lack keys")
  func incompleteBase() throws {
    var page = Page(title: "a", body: "b", merging: MergeState())
    try page.merge(.json(Data(#"{"title": "c"}"#.utf8)))
    let local = try archive("l", page)
    page.title = "d"
    let server = try archive("s", page)
    let run = Run("merge", "--local", local, "--server", server, "-o", scratch.path("out"))
    #expect(run.code == 0, "\(run.error)")
    #expect(try model(Page.self).title == "d")
  }

  @Test("A merge that would write a record without some of its keys fails")
  func incompleteRecords() throws {
    let local = try archive("l", base)
    let server = try scratch.file("s.json", #"{"stops": [{"id": 1}]}"#)
    for path in [scratch.path("out"), local] {
      Run("merge", "--local", local, "--server", server, "--partial", "-o", path)
        .expectFailure(code: 2, "lacks the keys at", "--policy 'byID(id)'")
    }
    #expect(try !scratch.names.contains("out") && model(Visit.self, "l") == base)
    let run = Run(
      "merge", "--local", local, "--server", server, "--partial", "-o", scratch.path("out"), "--policy", "byID(id)")
    #expect(run.code == 0, "\(run.error)")
    #expect(try model(Visit.self) == base)
  }

  @Test func threeWays() throws {
    var (local, server) = (base, base)
    local.tags.insert("mine")
    local.stops.append(Stop(id: 2, at: Date(timeIntervalSince1970: 2)))
    server.score = 2
    server.end = Date(timeIntervalSince1970: 9)
    server.stops[0].at = Date(timeIntervalSince1970: 61)
    let run = Run(
      "merge", "--local", try archive("l", local), "--base", try archive("b", base), "--server",
      try archive("s", server), "-o", scratch.path("out"), "--policy", "stops=byID(id)")
    #expect(run.code == 0, "\(run.text)")
    let merged: Visit = try model()
    #expect(merged.tags == ["a", "b", "mine"] && merged.score == 2 && merged.end == server.end)
    #expect(merged.stops == [server.stops[0], local.stops[1]])
    #expect(try Stamp(of: scratch.data("out")).fingerprint == Stamp(of: scratch.data("l")).fingerprint)
  }

  @Test("A JSON document is merged into an archive with the archive's value types")
  func jsonIntoAnArchive() throws {
    var local = base
    local.end = Date(timeIntervalSince1970: 3)
    let path = try archive("l", local)
    let json = try scratch.file(
      "s.json",
      #"{"score": 4, "end": "1970-01-01T00:00:09Z", "tags": ["z", "a"], "page": null, "stops": [{"id": 7, "at": "1970-01-01T00:01:00Z"}]}"#
    )
    let run = Run("merge", "--local", path, "--server", json, "-o", scratch.path("out"))
    #expect(run.code == 0, "\(run.error)")
    let merged: Visit = try model()
    #expect(merged.id == 1 && merged.score == 4 && merged.end == Date(timeIntervalSince1970: 9) && merged.page == nil)
    #expect(merged.tags == ["a", "z"] && merged.stops == [Stop(id: 7, at: Date(timeIntervalSince1970: 60))])
    let bad = try scratch.file("bad.json", #"{"stops": [{"id": 1, "at": "yesterday"}]}"#)
    Run("merge", "--local", path, "--server", bad).expectFailure(code: 2, "bad.json: ", "stops[0].at", "date")
  }

  @Test("The stamp of a merged array, set or dictionary has its element count")
  func counts() throws {
    func merged<T: Archivable>(_ value: T, _ server: String) throws -> (T, count: UInt64) {
      let path = scratch.path("counted"), json = try scratch.file("more.json", server)
      try ArchiveEncoder().encode(value).write(to: URL(fileURLWithPath: path))
      let run = Run("merge", "--local", path, "--server", json, "-o", scratch.path("merged"))
      #expect(run.code == 0, "\(run.error)")
      let data = try scratch.data("merged")
      return (try ArchiveDecoder().decode(from: data), try Stamp(of: data).count)
    }
    #expect(try merged(["a": 1, "b": 2, "c": 3], #"{"d": 4}"#) == (["a": 1, "b": 2, "c": 3, "d": 4], 4))
    #expect(try merged([1, 2] as Set, "[1, 2, 3]") == ([1, 2, 3], 3))
    #expect(try merged([1, 2], "[1, 2, 3]") == ([1, 2, 3], 3))
    // An optional array counts as one value.
    #expect(try merged([1, 2] as [Int]?, "[1, 2, 3]") == ([1, 2, 3], 1))
  }

  @Test("merge rejects invalid JSON text for URLs and data, and keeps large numbers instead of infinity")
  func unfitting() throws {
    let local = ModelRecord(
      typeName: "Page", modelVersion: 1,
      fields: [
        ("ratio", .float(1)), ("url", .url(try #require(URL(string: "https://a.b/x")))), ("data", .data(Data([1]))),
      ])
    let path = scratch.path("page")
    try ArchiveEncoder().encode(local).write(to: URL(fileURLWithPath: path))
    for (json, key) in [
      (#"{"url": "https://a.b/x y"}"#, "url"), (#"{"data": "===="}"#, "data"), (#"{"data": "AAE=="}"#, "data"),
    ] {
      let bad = try scratch.file("bad.json", json)
      Run("merge", "--local", path, "--server", bad).expectFailure(code: 2, "bad.json: ", key)
    }
    let large = try scratch.file("large.json", #"{"ratio": 1e300}"#)
    let run = Run("merge", "--local", path, "--server", large, "-o", scratch.path("merged"))
    #expect(run.code == 0, "\(run.error)")
    #expect(try ArchiveDecoder().decodeValue(from: scratch.data("merged"))["ratio"] == .double(1e300))
  }

  @Test("Merging an archive into JSON writes JSON unless the output is a .strata file")
  func archiveIntoJSON() throws {
    let json = try scratch.file("l.json", #"{"id": 1, "note": "n"}"#)
    let run = Run("merge", "--local", json, "--server", try archive("s", base), "-q")
    #expect(run.code == 0)
    #expect(run.text.hasPrefix(#"{"id":1,"note":"n","at":"1970-01-01T00:00:00Z","end":null,"#), "\(run.text)")
    #expect(Run("merge", "--local", json, "--server", json, "-o", scratch.path("x.strata")).code == 0)
    #expect(try ArchiveDecoder().decodeValue(from: scratch.data("x.strata")) == ["id": 1, "note": "n"])
    let text = Run("merge", "--local", scratch.path("s"), "--server", json, "--format", "json", "-q")
    #expect(text.text.hasPrefix("{\n  \"id\": 1,\n"))
  }

  @Test("Applying a patch from diff to an archive gives the other archive")
  func patches() throws {
    var other = base
    other.at = Date(timeIntervalSince1970: 5.5)
    other.score = 3
    other.page = nil
    other.tags = ["c"]
    other.stops = [Stop(id: 3, at: Date(timeIntervalSince1970: 1)), base.stops[0]]
    let (a, b) = (try archive("a", base), try archive("b", other))
    for kind in ["patch", "merge-patch"] {
      // A page that is `nil` becomes null, and a merge patch cannot set null.
      if kind == "merge-patch" { other.page = base.page }
      let b = try archive("b-\(kind)", other)
      let patch = try scratch.file("p.json", Run("diff", a, b, "--" + kind).output)
      let run = Run("merge", "--local", a, "--server-" + kind, patch, "-o", scratch.path("out"))
      #expect(run.code == 0, "\(run.error)")
      #expect(try scratch.data("out") == scratch.data("b-\(kind)"))
    }
    let removal = try scratch.file("r.json", #"[{"op": "remove", "path": "/page"}]"#)
    #expect(Run("merge", "--local", b, "--server-patch", removal, "-o", scratch.path("out")).code == 0)
    #expect(try model(Visit.self).page == nil)
  }

  @Test("Streams are merged like arrays, and the result is a stream")
  func streams() async throws {
    func stream(_ name: String, _ visits: [Visit]) throws -> String {
      var writer = try ArchiveStreamWriter<Visit>(creating: URL(fileURLWithPath: scratch.path(name)))
      for visit in visits { try writer.append(visit) }
      try writer.finish()
      return scratch.path(name)
    }
    let visits = (0..<2500).map { Visit.sample($0) }
    var (local, server) = (visits, visits)
    local[7].score = 8
    server[2400].score = 9
    server.append(Visit.sample(9999))
    let run = Run(
      "merge", "--local", try stream("l", local), "--base", try stream("b", visits), "--server",
      try stream("s", server), "--policy", ".=byID(id)", "-o", scratch.path("out"))
    #expect(run.code == 0 && run.text.contains("2 server, 1 local, 0 merged, 0 conflicts"), "\(run.text)\(run.error)")
    var merged: [Visit] = []
    for try await visit in ArchiveSequence(Visit.self, from: URL(fileURLWithPath: scratch.path("out"))) {
      merged.append(visit)
    }
    server[7].score = 8
    #expect(merged == server)
    #expect(Run("verify", scratch.path("out")).code == 0)
  }

  @Test func streamsOfObjects() async throws {
    var writer = try ArchiveStreamWriter<Room>(creating: URL(fileURLWithPath: scratch.path("l")))
    for name in ["a", "b"] { try writer.append(Room(name, next: Room("next of " + name))) }
    try writer.finish()
    let patch = try scratch.file("p.json", #"[{"op": "replace", "path": "/1/next/name", "value": "new"}]"#)
    let run = Run("merge", "--local", scratch.path("l"), "--server-patch", patch, "-o", scratch.path("out"))
    #expect(run.code == 0, "\(run.error)")
    var names: [String?] = []
    for try await room in ArchiveSequence(Room.self, from: URL(fileURLWithPath: scratch.path("out"))) {
      names += [room.name, room.next?.name]
    }
    #expect(names == ["a", "next of a", "b", "new"])
  }

  @Test("Objects are merged and stay objects, and an archive with a cycle is rejected")
  func objects() throws {
    let local = try archive("l", Room("a", next: Room("b")))
    let server = try archive("s", Room("a", next: Room("c", next: Room("d"))))
    let run = Run("merge", "--local", local, "--base", local, "--server", server, "-o", scratch.path("out"))
    #expect(run.code == 0, "\(run.error)")
    #expect(try scratch.data("out") == scratch.data("s"))
    #expect(try model(Room.self).next?.next?.name == "d")
    let circle = Room("x")
    circle.next = circle
    Run("merge", "--local", local, "--server", try archive("c", circle)).expectFailure(code: 2, "shared objects")
    circle.next = nil
  }

  @Test("merge rejects different versions of a model and different models if the tool lacks the model")
  func versions() throws {
    func record(_ version: Int) throws -> String {
      let record = ModelRecord(typeName: "Issue", modelVersion: version, fields: [("title", .integer(version))])
      return try scratch.file("\(version)", ArchiveEncoder().encode(record))
    }
    Run("merge", "--local", try record(1), "--server", try record(2))
      .expectFailure(code: 2, "different versions of a model", "Issue")
    Run("merge", "--local", try record(1), "--server", try archive("v", base))
      .expectFailure(code: 2, "a record of Visit", "a record of Issue")
  }

  @Test("The output of a merge may replace one of its inputs")
  func inPlace() throws {
    var server = base
    server.score = 5
    let path = try archive("l", base)
    #expect(Run("merge", "--local", path, "--server", try archive("s", server), "-o", path).code == 0)
    #expect(try model(Visit.self, "l") == server)
  }
}
