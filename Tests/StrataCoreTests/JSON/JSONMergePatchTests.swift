import Foundation
import StrataCore
import StrataTestSupport
import Testing

private struct Holder: DescribedModel, Equatable {
  var login: String?
  var city: String?
  static let fields = Fields(
    Holder.self, name: "PatchPerson", version: 1, Field("login", \.login), Field("city", \.city, json: "home.city"),
    make: { Holder(login: $0, city: $1) })
}

/// Fields that share objects with each other, and with what only the server knows.
private struct PatchedIssue: DescribedModel, Equatable {
  var title: String
  var milestone: String?
  var due: String?
  var deep: Int?
  var quiet: Int?
  var owner: Holder?
  var labels: [String: Int] = [:]
  var numbers: [Int]?
  static let fields = Fields(
    PatchedIssue.self, name: "PatchIssue", version: 1, Field("title", \.title),
    Field("milestone", \.milestone, json: "milestone.title"), Field("due", \.due, json: "milestone.due"),
    Field("deep", \.deep, json: "milestone.meta.rank"),
    Field("quiet", \.quiet, json: .path("quiet.level").writing(nulls: .omit)), Field("owner", \.owner),
    Field("labels", \.labels, default: [:]), Field("numbers", \.numbers, json: "data.numbers"),
    make: {
      PatchedIssue(
        title: $0, milestone: $1, due: $2, deep: $3, quiet: $4, owner: $5, labels: $6, numbers: $7)
    })

  static func random(_ random: inout SeededRandom) -> PatchedIssue {
    func some<T>(_ value: T) -> T? { Bool.random(using: &random) ? value : nil }
    var labels: [String: Int] = [:]
    for key in ["a", "b"] { labels[key] = some(Int.random(in: 0..<2, using: &random)) }
    let person = some(Holder(login: some("l"), city: some("c\(Int.random(in: 0..<2, using: &random))")))
    return PatchedIssue(
      title: "t\(Int.random(in: 0..<2, using: &random))", milestone: some("m\(Int.random(in: 0..<2, using: &random))"),
      due: some("d"), deep: some(1), quiet: some(2), owner: person, labels: labels, numbers: some([1, 2]))
  }
}

@Suite("JSON merge patch: what only the server has")
struct JSONMergePatchTests {
  private func patch(_ change: (inout PatchedIssue) -> Void) throws -> ArchiveValue {
    let old = PatchedIssue(
      title: "t", milestone: "m", due: nil, deep: 1, quiet: 1, owner: Holder(login: "l", city: "c"), labels: ["a": 1])
    var new = old
    change(&new)
    return try JSONAdapter<PatchedIssue>().jsonMergePatch(from: old, to: new)
  }

  @Test("A field that becomes nil takes nothing with it that is beside it")
  func siblings() throws {
    #expect(try patch { $0.milestone = nil } == ["milestone": ["title": .null]])
    #expect(
      try patch { ($0.milestone, $0.deep) = (nil, nil) } == ["milestone": ["title": .null, "meta": ["rank": .null]]])
    #expect(try patch { $0.deep = nil } == ["milestone": ["meta": ["rank": .null]]])
    #expect(try patch { $0.quiet = nil } == ["quiet": ["level": .null]])
    #expect(try patch { $0.owner?.city = nil } == ["owner": ["home": ["city": .null]]])
    // What a field holds goes as a whole.
    #expect(try patch { $0.owner = nil } == ["owner": .null])
    #expect(try patch { $0.labels = [:] } == ["labels": ["a": .null]])
    // Where nothing was, nothing is made but what is set.
    #expect(try patch { $0.numbers = [1] } == ["data": ["numbers": [1]]])
    #expect(try patch { _ in } == [:])
  }

  /// Everything in a document that no field reads, at every place.
  private static let others: ArchiveValue = [
    "id": 1, "milestone": ["id": 2, "meta": ["x": 3], "y": [1]], "quiet": ["x": .bool(true)],
    "owner": ["id": 4, "home": ["zip": "z"]], "data": ["more": .null],
  ]

  /// What is left without the fields of a model.
  private func rest(_ document: ArchiveValue) throws -> ArchiveValue {
    var document = document
    for path: [ArchiveError.PathComponent] in [
      ["title"], ["milestone", "title"], ["milestone", "due"], ["milestone", "meta", "rank"], ["quiet", "level"],
      ["labels"], ["data", "numbers"], ["owner", "login"], ["owner", "home", "city"],
    ].map({ $0.map { .key($0) } }) {
      var holder: ArchiveValue? = document
      for step in path.dropLast() { holder = holder?[step] }
      guard var object = holder?.objectValue, case .key(let key)? = path.last else { continue }
      object[key] = nil
      if path.count == 1 { document = .object(object) } else { try document.set(.object(object), at: path.dropLast()) }
    }
    return document
  }

  @Test("A patch applied to the server's whole document changes the fields and nothing else")
  func law() throws {
    let seed = UInt64.random(in: .min ... .max)
    print("seed: \(seed)")
    var random = SeededRandom(seed: seed)
    let adapter = try JSONAdapter<PatchedIssue>()
    for _ in 0..<1000 {
      let (old, new) = (PatchedIssue.random(&random), PatchedIssue.random(&random))
      // A person who is there has something of the server's; who is not has nothing.
      var others = try #require(Self.others.objectValue)
      if old.owner == nil { others["owner"] = nil }
      let server = try JSONMergePatch.apply(adapter.encodeValue(old, nulls: .omit), to: .object(others))
      try #require(try adapter.decode(server) == old)
      let patched = try JSONMergePatch.apply(adapter.jsonMergePatch(from: old, to: new), to: server)
      try #require(try adapter.decode(patched) == new)
      guard (old.owner == nil) == (new.owner == nil) else { continue }
      try #require(try rest(patched) == rest(server))
    }
  }
}
