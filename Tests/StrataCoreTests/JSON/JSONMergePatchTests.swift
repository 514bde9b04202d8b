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

/// A model whose fields share JSON objects with each other and with keys that only the server knows.
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

@Suite("JSON merge patch: keys that only the server has")
struct JSONMergePatchTests {
  private func patch(_ change: (inout PatchedIssue) -> Void) throws -> ArchiveValue {
    let old = PatchedIssue(
      title: "t", milestone: "m", due: nil, deep: 1, quiet: 1, owner: Holder(login: "l", city: "c"), labels: ["a": 1])
    var new = old
    change(&new)
    return try JSONAdapter<PatchedIssue>().jsonMergePatch(from: old, to: new)
  }

  @Test("Setting a field to nil patches only its own key and leaves sibling keys unchanged")
  func siblings() throws {
    #expect(try patch { $0.milestone = nil } == ["milestone": ["title": .null]])
    #expect(
      try patch { ($0.milestone, $0.deep) = (nil, nil) } == ["milestone": ["title": .null, "meta": ["rank": .null]]])
    #expect(try patch { $0.deep = nil } == ["milestone": ["meta": ["rank": .null]]])
    #expect(try patch { $0.quiet = nil } == ["quiet": ["level": .null]])
    #expect(try patch { $0.owner?.city = nil } == ["owner": ["home": ["city": .null]]])
    // Removing a model removes its whole object. Emptying a dictionary removes its keys one by one.
    #expect(try patch { $0.owner = nil } == ["owner": .null])
    #expect(try patch { $0.labels = [:] } == ["labels": ["a": .null]])
    // If the object that contains a field is missing, the patch creates it with only the changed value.
    #expect(try patch { $0.numbers = [1] } == ["data": ["numbers": [1]]])
    #expect(try patch { _ in } == [:])
  }

  /// Keys that no field reads, at every level of the document.
  private static let others: ArchiveValue = [
    "id": 1, "milestone": ["id": 2, "meta": ["x": 3], "y": [1]], "quiet": ["x": .bool(true)],
    "owner": ["id": 4, "home": ["zip": "z"]], "data": ["more": .null],
  ]

  /// Removes the values of the model's fields from the document.
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

  @Test("A patch applied to the server's full document changes only the model's fields", .tags(.long))
  func law() throws {
    let seed = UInt64.random(in: .min ... .max)
    print("seed: \(seed)")
    var random = SeededRandom(seed: seed)
    let adapter = try JSONAdapter<PatchedIssue>()
    for _ in 0..<Effort.rounds(50, long: 1000) {
      let (old, new) = (PatchedIssue.random(&random), PatchedIssue.random(&random))
      // An owner also has keys that only the server knows. Without an owner, these keys are missing too.
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

  // MARK: Any document

  /// A random value for a place in the document, whether or not a field reads that place.
  private static func random(_ random: inout SeededRandom, depth: Int = 0) -> ArchiveValue {
    switch Int.random(in: 0..<(depth < 2 ? 8 : 6), using: &random) {
    case 0: return .null
    case 1: return .bool(Bool.random(using: &random))
    case 2: return .int(Int64.random(in: 0..<3, using: &random))
    case 3: return .string("s\(Int.random(in: 0..<3, using: &random))")
    case 4: return [:]
    case 5: return []
    case 6: return [Self.random(&random, depth: depth + 1), 1]
    default:
      var object = ArchiveObject()
      for key in ["title", "due", "x", "rank", "city"] where Bool.random(using: &random) {
        object[key] = Self.random(&random, depth: depth + 1)
      }
      return .object(object)
    }
  }

  /// The paths of the model's fields in its document.
  private static let places: [[String]] = [
    ["title"], ["milestone", "title"], ["milestone", "due"], ["milestone", "meta", "rank"], ["quiet", "level"],
    ["labels"], ["data", "numbers"], ["owner"],
  ]

  /// A document with valid values at some of the fields' paths, and random values at other keys.
  private static func document(_ random: inout SeededRandom) throws -> ArchiveValue {
    var document: ArchiveValue = [:]
    for key in ["id", "x", "milestone", "quiet", "data", "owner"] where Bool.random(using: &random) {
      try document.set(Self.random(&random), at: [.key(key)])
    }
    let model = try JSONAdapter<PatchedIssue>().encodeValue(PatchedIssue.random(&random))
    for path in places {
      guard let value = value(at: path[...], in: model), !value.isNull || Bool.random(using: &random) else { continue }
      document = setting(path[...], of: document, to: value)
    }
    return document
  }

  private static func value(at path: ArraySlice<String>, in document: ArchiveValue?) -> ArchiveValue? {
    guard let key = path.first else { return document }
    return value(at: path.dropFirst(), in: document?[key])
  }

  /// Replaces the value at a path and creates the objects on the path.
  private static func setting(
    _ path: ArraySlice<String>, of document: ArchiveValue?, to value: ArchiveValue
  ) -> ArchiveValue {
    guard let key = path.first else { return value }
    var object = document?.objectValue ?? ArchiveObject()
    object[key] = setting(path.dropFirst(), of: object[key], to: value)
    return .object(object)
  }

  /// Removes the value at a path but keeps the objects on the path.
  private static func removing(_ path: ArraySlice<String>, of document: ArchiveValue) -> ArchiveValue {
    guard let key = path.first, var object = document.objectValue, let inner = object[key] else { return document }
    object[key] = path.count == 1 ? nil : removing(path.dropFirst(), of: inner)
    return .object(object)
  }

  /// Computes the expected document with another algorithm, which applies the changed fields one by one.
  private static func expected(
    _ document: ArchiveValue, from old: ArchiveValue, to new: ArchiveValue, at paths: [[String]]
  ) -> ArchiveValue {
    var document = document
    for path in paths {
      let (before, after) = (value(at: path[...], in: old), value(at: path[...], in: new))
      if before == after { continue }
      if path == ["owner"], let before, let after, !before.isNull, !after.isNull {
        // A nested model is patched like a document of its own.
        document = setting(
          path[...], of: document,
          to: expected(document["owner"] ?? [:], from: before, to: after, at: [["login"], ["home", "city"]]))
      } else if path == ["labels"], let after {
        for key in ["a", "b"] where before?[key] != after[key] {
          document =
            after[key].map { setting(["labels", key], of: document, to: $0) }
            ?? removing(["labels", key], of: document)
        }
        document = setting(path[...], of: document, to: document["labels"]?.objectValue.map { .object($0) } ?? after)
      } else if let after, !after.isNull {
        document = setting(path[...], of: document, to: after)
      } else {
        document = removing(path[...], of: document)
      }
    }
    return document
  }

  @Test("A patch changes only the model's fields in any document, even with nulls or missing containers", .tags(.long))
  func anyDocument() throws {
    let seed = UInt64.random(in: .min ... .max)
    print("seed: \(seed)")
    var random = SeededRandom(seed: seed)
    let adapter = try JSONAdapter<PatchedIssue>()
    let sorted = JSONWriter(sortsKeys: true)
    var count = 0
    while count < Effort.rounds(60, long: 2000) {
      let server = try Self.document(&random)
      // Documents that the fields cannot read aren't patched.
      guard let old = try? adapter.decode(server) else { continue }
      count += 1
      let new = PatchedIssue.random(&random)
      let patched = try JSONMergePatch.apply(adapter.jsonMergePatch(from: old, to: new), to: server)
      try #require(try adapter.decode(patched) == new, "\(server)")
      let expected = try Self.expected(
        server, from: adapter.encodeValue(old, nulls: .omit), to: adapter.encodeValue(new, nulls: .omit),
        at: Self.places)
      try #require(try sorted.write(patched) == sorted.write(expected), "\(server): \(patched), \(expected)")
    }
  }

  @Test("A field read from the first of several paths is removed from all of them, also in nested models")
  func severalPaths() throws {
    let adapter = try JSONAdapter<Elsewhere>()
    let server: ArchiveValue = [
      "_id": "a", "deep": ["name": "n", "x": 1], "other": 2, "inner": ["_id": "b", "y": 1], "list": [["_id": "c"]],
    ]
    let old = try adapter.decode(server)
    #expect(old.id == "a" && old.name == "n" && old.inner?.id == "b" && old.list.first?.id == "c")
    #expect(try adapter.jsonMergePatch(from: old, to: old) == [:])
    for change in [
      { $0.id = nil }, { $0.name = nil }, { $0.inner?.id = nil }, { $0.inner = nil }, { $0.list[0].id = nil },
      { $0.id = "z" }, { ($0.id, $0.name, $0.number) = (nil, nil, nil) },
    ] as [(inout Elsewhere) -> Void] {
      var new = old
      change(&new)
      let patch = try adapter.jsonMergePatch(from: old, to: new)
      let patched = JSONMergePatch.apply(patch, to: server)
      #expect(try adapter.decode(patched) == new, "\(patch)")
      #expect(patched["other"] == (new.number == nil ? nil : 2))
      #expect(patched["deep"]?["x"] == 1 && (new.inner == nil || patched["inner"]?["y"] == 1), "\(patched)")
    }
    var new = old
    (new.id, new.name) = (nil, nil)
    let both = try adapter.jsonMergePatch(from: old, to: new)
    #expect(both == ["id": .null, "_id": .null, "name": .null, "deep": ["name": .null]])
    // If a field gets a value, its other paths aren't patched.
    new.id = "new"
    #expect(try adapter.jsonMergePatch(from: Elsewhere(), to: Elsewhere(id: "new")) == ["id": "new"])
  }
}

/// A model with fields that are read from the first of several paths.
private struct Elsewhere: DescribedModel, Equatable {
  var id: String?
  var name: String?
  var number: Int?
  var inner: Inner?
  var list: [Inner] = []

  struct Inner: DescribedModel, Equatable {
    var id: String?
    static let fields = Fields(
      Inner.self, name: "PatchElsewhereInner", version: 1, Field("id", \.id, json: .firstOf("id", "_id")),
      make: { Inner(id: $0) })
  }

  static let fields = Fields(
    Elsewhere.self, name: "PatchElsewhere", version: 1, Field("id", \.id, json: .firstOf("id", "_id")),
    Field("name", \.name, json: .firstOf("name", "deep.name")), Field("number", \.number, json: "other"),
    Field("inner", \.inner), Field("list", \.list, default: []),
    make: { Elsewhere(id: $0, name: $1, number: $2, inner: $3, list: $4) })
}
