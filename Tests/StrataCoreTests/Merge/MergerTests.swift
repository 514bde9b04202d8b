import Foundation
import StrataCore
import Testing

@Suite("Merging values without models")
struct MergerTests {
  @Test("Only the requested keys are merged, and a key that no side has is ignored")
  func keys() throws {
    let options = MergeOptions(keys: ["a", "gone", "nobody's"])
    let local: ArchiveValue = ["a": 1, "b": 1, "gone": 1, "mine": 1]
    let server: ArchiveValue = ["a": 2, "b": 2, "theirs": 2]
    let base: ArchiveValue = ["a": 1, "b": 0, "gone": 1]
    let (merged, report) = try Merger(options: options).merge(server, into: local, base: base)
    #expect(merged == ["a": 2, "b": 1, "mine": 1] && report.mergedKeys == ["a"])
    #expect(report.changedKeys.sorted() == ["a", "gone"])
    let twoWays = try Merger(options: options).merge(server, into: local)
    #expect(twoWays.value == ["a": 2, "b": 1, "gone": 1, "mine": 1])
  }

  @Test("Dictionary keys with different Unicode spellings are different keys")
  func spellings() throws {
    func document(_ first: ArchiveValue, _ second: ArchiveValue) -> ArchiveValue {
      .object(ArchiveObject([.init(key: "\u{E9}", value: first), .init(key: "e\u{301}", value: second)]))
    }
    for base in [nil, document(1, 2)] {
      let merged = try Merger().merge(document(1, 3), into: document(1, 2), base: base).value
      #expect(merged.objectValue?.entries.map(\.value) == [1, 3])
    }
    let both = try Merger().merge(document(5, 2), into: document(1, 3), base: document(1, 2)).value
    #expect(both.objectValue?.entries.map(\.value) == [5, 3])
  }

  @Test("The entry for the order of a list shows the merged list as its result")
  func order() throws {
    func list(_ ids: [Int]) -> ArchiveValue { ["list": .array(ids.map { ["id": .integer($0)] })] }
    let options = MergeOptions(policies: ["list": .byID("id")])
    let (merged, report) = try Merger(options: options).merge(
      list([1, 3, 2, 4]), into: list([2, 1, 3]), base: list([1, 2, 3]))
    let entry = try #require(report.entries.first { $0.rule.hasSuffix("the order of the elements differs") })
    #expect(entry.local == list([2, 1, 3])["list"] && entry.result == merged["list"])
  }

  @Test("An empty dictionary accepts entries with non-string keys")
  func emptyDictionaries() throws {
    let numbers = ArchiveValue.map([.init(key: 1, value: "a")])
    #expect(try Merger().merge(numbers, into: [:]).value == numbers)
    #expect(try Merger().merge([:], into: numbers, base: [:]).value == numbers)
  }

  @Test("A policy's error becomes the underlying error of mergeFailed at every depth", arguments: [true, false])
  func failingPolicies(isRoot: Bool) {
    struct Refused: Error {}
    let merger = Merger(options: MergeOptions(policy: .resolving("refused") { _ in throw Refused() }))
    let error = #expect(throws: ArchiveError.self) {
      try isRoot ? merger.merge(1, into: 2) : merger.merge(["a": 1], into: ["a": 2])
    }
    #expect(error?.code == .mergeFailed && error?.underlyingError is Refused)
    #expect(error?.codingPath == (isRoot ? [] : [.key("a")]))
  }

  @Test("A reference that resolves to no object throws notEncodable")
  func bareReferences() {
    let lists: [ArchiveValue] = [
      .reference(0), ["l": [.reference(0)]], .map([.init(key: .reference(1), value: 1)]), .set([.reference(-1)]),
      .record(ModelRecord(typeName: "R", modelVersion: 1, fields: [("a", .reference(7))])),
      .graph(ObjectGraph(objects: [["a": 1]], root: .reference(1))),
    ]
    for value in lists {
      for options in [MergeOptions(), MergeOptions(policies: ["l": .byID()]), MergeOptions(policy: .union)] {
        for (server, local, base) in [(value, ["l": []], nil), (["l": []], value, nil), (["l": []], ["l": [1]], value)]
          as [(ArchiveValue, ArchiveValue, ArchiveValue?)]
        {
          let error = #expect(throws: ArchiveError.self) {
            try Merger(options: options).merge(server, into: local, base: base)
          }
          #expect(error?.code == .notEncodable, "\(value.kind)")
        }
      }
    }
  }

  @Test("An absent key removes a key of the base unless unlisted elements are kept, at every depth")
  func absence() throws {
    let base: ArchiveValue = ["a": 1, "in": ["b": 1, "c": 1]]
    let server: ArchiveValue = ["in": ["c": 2]]
    for unlisted in [nil, Unlisted.keep] {
      let merger = Merger(options: MergeOptions(unlisted: unlisted))
      let (merged, report) = try merger.merge(server, into: base, base: base)
      #expect(merged == (unlisted == nil ? ["in": ["c": 2]] : ["a": 1, "in": ["b": 1, "c": 2]]))
      #expect(report.entries.count == (unlisted == nil ? 3 : 1))
      // The key was edited locally, and the server does not list it.
      let edited = try merger.merge(server, into: ["a": 5, "in": ["b": 1, "c": 1]], base: base)
      #expect(edited.value["a"] == 5 && edited.report.conflicts.count == (unlisted == nil ? 1 : 0))
    }
    #expect(try Merger().merge(server, into: base).value == ["a": 1, "in": ["b": 1, "c": 2]])
  }

  @Test(
    "MG-9: absent keys of a record stay unchanged, also in lists, and new records take the model's defaults")
  func partialRecords() throws {
    func part(_ fields: [(String, ArchiveValue)], version: Int = 2) -> ArchiveValue {
      .record(ModelRecord(typeName: "MergerPart", modelVersion: version, fields: fields))
    }
    let local = try ArchiveDecoder().decodeValue(
      from: ArchiveEncoder().encode(
        MergerBox(name: "box", parts: [MergerPart(id: 1, name: "a", size: 5), MergerPart(id: 2, name: "b", size: 6)])))
    let server = ArchiveValue.record(
      ModelRecord(
        typeName: "MergerBox", modelVersion: 1,
        fields: [("parts", .array([part([("id", 1), ("name", "A")]), part([("id", 3), ("name", "c")])]))]))
    for models in [[MergerBox.self], []] as [[any VersionedModel.Type]] {
      let merged = try Merger(models: models).merge(server, into: local).value
      #expect(merged["name"] == "box")
      if models.isEmpty { continue }
      let box = try ArchiveDecoder().decode(MergerBox.self, from: ArchiveEncoder().encode(#require(merged.recordValue)))
      #expect(
        box.parts == [
          MergerPart(id: 1, name: "A", size: 5), MergerPart(id: 2, name: "b", size: 6),
          MergerPart(id: 3, name: "c", size: 7),
        ])
      #expect(merged.recordValue?.keys == local.recordValue?.keys)
    }
    // Merging a value with absent keys into itself changes nothing.
    let again = try Merger(models: [MergerBox.self]).merge(server, into: server, base: nil)
    #expect(again.value["parts"] == server["parts"] && again.report.changedKeys == [])
    // A hook upgrades this record of an older version.
    let old = ArchiveValue.record(
      ModelRecord(
        typeName: "MergerBox", modelVersion: 1,
        fields: [("parts", .array([part([("id", 1), ("size", "9")], version: 1)]))]))
    let merged = try Merger(models: [MergerBox.self]).merge(old, into: local).value
    let box = try ArchiveDecoder().decode(MergerBox.self, from: ArchiveEncoder().encode(#require(merged.recordValue)))
    #expect(box.parts[0] == MergerPart(id: 1, name: "a", size: 9))
    // An unknown enum case in the local value is kept, even if a hook replaces unknown cases.
    let strange = ArchiveValue.record(
      ModelRecord(typeName: "MergerPart", modelVersion: 2, fields: [("id", 1), ("name", "a"), ("kind", "blue")]))
    let kept = try Merger(models: [MergerBox.self]).merge(part([("id", 1), ("name", "b")]), into: strange).value
    #expect(kept["kind"] == "blue" && kept["name"] == "b")
    // The new record lacks a key that has no default.
    let wrong = ArchiveValue.record(
      ModelRecord(typeName: "MergerBox", modelVersion: 1, fields: [("parts", .array([part([("id", 4)])]))]))
    let error = #expect(throws: ArchiveError.self) { try Merger(models: [MergerBox.self]).merge(wrong, into: local) }
    #expect(error?.code == .missingValue)
  }

  @Test("A conflict keeps the local value, takes the server's, or throws an error with paths but no values")
  func conflicts() throws {
    let base: ArchiveValue = ["a": ["b": 1], "secret": "x"]
    let (local, server): (ArchiveValue, ArchiveValue) = (
      ["a": ["b": 2], "secret": "here-x"], ["a": ["b": 3], "secret": "there-x"]
    )
    func merged(_ handling: MergeOptions.ConflictHandling) throws -> ArchiveValue {
      try Merger(options: MergeOptions(conflicts: handling)).merge(server, into: local, base: base).value
    }
    #expect(try merged(.keepLocal) == local && merged(.takeServer) == server)
    let error = #expect(throws: ArchiveError.self) { try merged(.fail) }
    #expect(error?.code == .mergeFailed && error?.reason.contains("a.b, secret") == true)
    #expect(error?.description.contains("-x") == false)
  }

  @Test("Dictionaries with non-string keys are merged key by key, like objects")
  func maps() throws {
    func map(_ entries: KeyValuePairs<Int, ArchiveValue>) -> ArchiveValue {
      .map(entries.map { .init(key: .integer($0.key), value: $0.value) })
    }
    func merge(
      _ base: ArchiveValue?, _ local: ArchiveValue, _ server: ArchiveValue, _ options: MergeOptions = MergeOptions()
    ) throws
      -> (value: ArchiveValue?, report: MergeReport)
    {
      let base = base.map { ["m": $0] as ArchiveValue }
      let (value, report) = try Merger(options: options).merge(["m": server], into: ["m": local], base: base)
      return (value["m"], report)
    }
    let base = map([1: "a", 2: "b", 3: ["x": 1]])
    let local = map([1: "mine", 2: "b", 3: ["x": 1, "y": 2], 5: "new here"])
    let server = map([1: "a", 3: ["x": 7], 4: "new there"])
    let (merged, report) = try merge(base, local, server)
    #expect(merged == map([1: "mine", 3: ["x": 7, "y": 2], 4: "new there", 5: "new here"]))
    #expect(report.entries.map(\.path.description).sorted() == ["m[1]", "m[2]", "m[3].x", "m[3].y", "m[4]", "m[5]"])
    #expect(report.conflicts.isEmpty)
    let conflict = try merge(base, local, map([1: "theirs", 2: "b", 3: ["x": 1]]))
    #expect(conflict.report.conflicts.map(\.path.description) == ["m[1]"])
    let named = try merge(base, local, map([1: "theirs"]), MergeOptions(policies: ["m[*]": .serverWins]))
    #expect(named.report.conflicts.isEmpty && named.value?.kind == "map")
    // Merges with an empty dictionary on one side. It may be a map or an object, because it has no keys that show its type.
    for empty: ArchiveValue in [.map([]), [:]] {
      #expect(try merge(base, base, empty).value == empty && merge(base, empty, base).value == empty)
      #expect(try merge(empty, empty, base).value == base && merge(empty, base, empty).value == base)
      #expect(try merge(empty, map([1: 1]), map([2: 2])).value == map([1: 1, 2: 2]))
    }
    let whole = map([1: "a", 2: "b", 3: ["x": 7, "y": 2], 4: "new there", 5: "new here"])
    #expect(try merge(nil, local, server).value == whole)
  }

  @Test("An unchanged NaN does not count as a difference")
  func notANumber() throws {
    let nan: ArchiveValue = .double(.nan)
    let base: ArchiveValue = ["a": nan, "b": 1]
    let (merged, report) = try Merger().merge(["a": .float(.nan), "b": 2], into: base, base: base)
    #expect(merged["b"] == 2 && report.entries.map(\.path.description) == ["b"])
    let taken = try Merger().merge(["a": 7, "b": 1], into: base, base: base)
    #expect(taken.value == ["a": 7, "b": 1] && taken.report.conflicts.isEmpty)
    #expect(ValueDifference(from: base, to: base).isEmpty)
    #expect(try ValueDifference(from: base, to: ["a": 3, "b": 1]).applied(to: base) == ["a": 3, "b": 1])
  }

  @Test("A whole document can be an array or a single value")
  func roots() throws {
    let options = MergeOptions(policies: [".": .byID()])
    let base: ArchiveValue = [["id": 1, "a": 1], ["id": 2, "a": 1]]
    let local: ArchiveValue = [["id": 1, "a": 5], ["id": 2, "a": 1]]
    let server: ArchiveValue = [["id": 2, "a": 6], ["id": 1, "a": 1]]
    #expect(
      try Merger(options: options).merge(server, into: local, base: base).value == [
        ["id": 2, "a": 6], ["id": 1, "a": 5],
      ])
    #expect(try Merger().merge(2, into: 1, base: 1).value == 2 && Merger().merge(1, into: 2, base: 1).value == 2)
    #expect(try Merger().merge([1], into: ["a": 1], base: .null).report.conflicts.count == 1)
  }
}

@Suite("Merge paths and reports")
struct MergeReportTests {
  private func policy(_ selector: ValuePath, decides document: ArchiveValue) throws -> Bool {
    func leaves(_ value: ArchiveValue, _ new: ArchiveValue) -> ArchiveValue {
      switch value {
      case .object(let object):
        .object(ArchiveObject(object.entries.map { .init(key: $0.key, value: leaves($0.value, new)) }))
      default: new
      }
    }
    var options = MergeOptions()
    options.policies = [("*", .recursive), (selector, .serverWins)]
    let merged = try Merger(options: options).merge(
      leaves(document, 3), into: leaves(document, 2), base: leaves(document, 1))
    return merged.report.conflicts.isEmpty
  }

  @Test("A path pattern matches keys, any key or any element; a backslash escapes special characters")
  func selectors() throws {
    let yes: [(ValuePath, ArchiveValue)] = [
      ("a", ["a": 1]), ("*", ["a": 1]), ("a.b", ["a": ["b": 1]]), ("a.*", ["a": ["b": 1]]), ("*.b", ["a": ["b": 1]]),
      ("*.*", ["a": ["b": 1]]), ("a\\.b", ["a.b": 1]), ("\\*", ["*": 1]), ("a\\[*]", ["a[*]": 1]),
      ("a\\\\b", ["a\\b": 1]),
      ("*", ["*": 1]), ("ü", ["ü": 1]), (".", ["a": 1]), ("", ["": 1]),
    ]
    for (selector, document) in yes { #expect(try policy(selector, decides: document), "\(selector)") }
    let no: [(ValuePath, ArchiveValue)] = [
      ("b", ["a": 1]), ("a.b", ["a.b": 1]), ("\\*", ["a": 1]), ("a.b.c", ["a": ["b": 1]]),
      ("[*]", ["a": 1]), ("A", ["a": 1]), ("", ["a": 1]),
    ]
    for (selector, document) in no { #expect(try !policy(selector, decides: document), "\(selector)") }
    let list: MergeOptions = MergeOptions(policies: ["l": .byID(), "l[*].name": .serverWins, "l[*].*": .min])
    func document(_ value: ArchiveValue) -> ArchiveValue { ["l": [["id": 1, "name": value, "n": value]]] }
    #expect(
      try Merger(options: list).merge(document(3), into: document(2), base: document(1)).value
        == ["l": [["id": 1, "name": 2, "n": 2]]], "the last one that matches counts")
  }

  @Test("The text of a path has dots between keys, brackets around elements, and escaped separators")
  func paths() {
    func text(_ components: ValuePath.Component...) -> String { ValuePath(components).description }
    #expect(ValuePath().description == ".")
    #expect(text(.key("a"), .key("b")) == "a.b" && text(.key("a"), .index(3), .key("b")) == "a[3].b")
    #expect(text(.key("l"), .element(key: "id", id: 7), .key("n")) == "l[id=7].n")
    #expect(text(.key("l"), .element(key: "id", id: "x")) == "l[id=\"x\"]" && text(.value(["k": 1])) == "[{\"k\":1}]")
    #expect(text(.key("a.b[c]\\d=e")) == "a\\.b\\[c\\]\\\\d\\=e")
    #expect(text(.value(.string(String(repeating: "x", count: 300)))) == "[(string)]")
  }

  @Test("Reports contain the outcome of each path, and values only on request")
  func reports() throws {
    let options = MergeOptions(policies: ["both": .sumOfDeltas])
    let (_, report) = try Merger(options: options).merge(
      ["conflict": "their-secret", "here": 1, "there": "new-secret", "both": 3],
      into: ["conflict": "own-secret", "here": 5, "there": 1, "both": 4],
      base: ["conflict": "old-secret", "here": 1, "there": 1, "both": 1])
    let table = report.table()
    #expect(table == report.description && !table.contains("secret"))
    #expect(
      table == """
        path      outcome   rule
        conflict  conflict  changed by both sides
        here      local     changed only locally
        there     server    changed only by the server
        both      merged    sumOfDeltas
        """)
    let open = report.table(showsValues: true)
    #expect(
      open.contains("\"own-secret\"") && open.contains("\"old-secret\"") && open.split(separator: "\n").count == 5)
    let json = report.json()
    #expect(json["counts"] == ["server": 1, "local": 1, "merged": 1, "conflict": 1])
    #expect(
      json["entries"]?.arrayValue?.first == [
        "path": "conflict", "outcome": "conflict", "rule": "changed by both sides",
      ])
    #expect(try !String(decoding: JSONWriter().write(json), as: UTF8.self).contains("secret"))
    let shown = report.json(showsValues: true)["entries"]?.arrayValue
    #expect(shown?[3]["result"] == 6 && shown?[0]["base"] == "old-secret" && shown?[0]["result"] == "own-secret")
    #expect(MergeReport().description == "no differences" && MergeReport().json()["entries"] == [])
    let added = try Merger().merge(["a": .string(String(repeating: "x", count: 99))], into: [:], base: [:]).report
    #expect(added.json(showsValues: true)["entries"]?.arrayValue?.first?["base"] == nil)
    #expect(added.table(showsValues: true).contains("—") && added.table(showsValues: true).contains("…"))
  }

  @Test("Merging records with different superclass versions without their model throws unsupportedVersion")
  func superclasses() throws {
    func dog(_ version: Int, _ name: ArchiveValue) -> ArchiveValue {
      var record = ModelRecord(typeName: "Dog", modelVersion: 2, fields: [("name", name), ("age", 3)])
      record.superclasses = [.init(typeName: "Animal", modelVersion: version)]
      return .record(record)
    }
    let error = try #require(throws: ArchiveError.self) { try Merger().merge(dog(2, "b"), into: dog(1, "a")) }
    #expect(error.code == .unsupportedVersion && error.typeName == "Dog" && error.description.contains("superclasses"))
    #expect(try Merger().merge(dog(2, "b"), into: dog(2, "a")).value == dog(2, "b"))
  }

  @Test("Control characters do not break the columns or rows of a report table")
  func controlCharacters() throws {
    let options = MergeOptions(policy: .resolving("a\tb") { $0.server })
    let report = try Merger(options: options).merge(
      ["a\tb\n\u{1B}[2J\u{202E}c": "\u{2028}\u{85}x", "plain": 2], into: ["a\tb\n\u{1B}[2J\u{202E}c": "y", "plain": 1]
    ).report
    let lines = report.table(showsValues: true).split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == 3)
    let starts = lines.map { line in line.range(of: line.contains("outcome") ? "outcome" : "server")?.lowerBound }
    #expect(
      Set(zip(lines, starts).map { line, start in line[..<(start ?? line.endIndex)].count }).count == 1, "\(lines)")
    #expect(
      !report.table(showsValues: true).unicodeScalars.contains {
        "\t\u{1B}\u{202E}\u{2028}\u{85}".unicodeScalars.contains($0)
      })
  }
}

private struct MergerPart: DescribedModel, Equatable, KeyMigrating {
  var id: Int
  var name: String
  var size: Int
  var kind = Kind.red
  var cache = ""
  enum Kind: String, Archivable { case red }
  static let fields = Fields(
    MergerPart.self, version: 2, Field("id", \.id), Field("name", \.name), Field("size", \.size, default: 7),
    Field("kind", \.kind, unknown: .useDefault, default: .red),
    Field("cache", \.cache, archive: .excluded, default: ""),
    make: { MergerPart(id: $0, name: $1, size: $2, kind: $3, cache: $4) })
  static func decodeValue(
    forKey key: String, modelVersion: Int, in record: ModelRecord
  ) throws -> ArchiveValue? {
    guard key == "size", modelVersion < 2, let text = record["size"]?.stringValue else { return record[key] }
    return .integer(Int(text) ?? 0)
  }
}

private struct MergerBox: DescribedModel, Equatable {
  var name: String
  var parts: [MergerPart]
  static let fields = Fields(
    MergerBox.self, version: 1, Field("name", \.name, default: "?"), Field("parts", \.parts, default: []),
    make: { MergerBox(name: $0, parts: $1) })
}
