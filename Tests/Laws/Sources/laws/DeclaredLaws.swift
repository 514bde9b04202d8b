import Foundation
import GRDB
import Strata
import StrataStore

/// Checks the laws for models whose fields have attributes, in one round.
struct DeclaredLaws {
  let seed: UInt64
  var random: SeededRandom
  var results = Results()

  init(seed: UInt64) {
    self.seed = seed
    random = SeededRandom(seed: seed &+ 0xD)
  }

  mutating func run() {
    for _ in 0..<20 {
      policies()
      shaped()
      steps()
      rules()
      graphs()
      described()
      codable()
      clusters()
      mappings()
      hooks()
    }
    for _ in 0..<6 {
      relations()
      folders()
    }
    mergeRules()
  }

  mutating func add(_ law: Law, _ type: String, _ failure: String?) {
    results.add(law, type, "seed \(seed)", failure: failure)
  }

  /// Runs a trial and records any error as a failure.
  mutating func trial(_ law: Law, _ type: String, _ body: (inout DeclaredLaws) throws -> Void) {
    do { try body(&self) } catch { add(law, type, "\(error)") }
  }

  // MARK: Policies

  /// Checks that each policy merges JSON text and JSON values as its table describes, and that the report is correct.
  private mutating func policies() {
    let base = Ruled.sample(&random), local = Ruled.sample(&random)
    // Both sides may have made the same change.
    let server = random.below(4) == 0 ? local : Ruled.sample(&random)
    for known in [base, nil] {
      let expected = Ruled.merged(known, local, server)
      trial(.policy, "Ruled") { laws in
        let sources: [(String, (inout Ruled) throws -> MergeReport)] = [
          ("json", { try $0.merge(.json(server.jsonData()), base: known) }),
          ("value", { try $0.merge(.json(JSONReader().read(server.jsonData())), base: known) }),
        ]
        for (source, merge) in sources {
          var value = local
          let report = try merge(&value)
          for (place, (key, wanted)) in expected.enumerated() where wanted != "?" && !wanted.contains(": \"?\"") {
            let found = value.shown[place]
            let shown = "\(known.map { $0.shown[place] } ?? "unknown"), \(local.shown[place]), \(server.shown[place])"
            laws.add(
              .policy, "Ruled.\(key)", found == wanted ? nil : "\(source): \(shown) became \(found), expected \(wanted)"
            )
            let isChanged = found != local.shown[place]
            if isChanged, !report.changedKeys.contains(key) { laws.add(.policy, "Ruled.\(key)", "no line: \(shown)") }
          }
          // The items that the server's list contains are in the server's order.
          let listed = value.items.map(\.id).filter { id in server.items.contains { $0.id == id } }
          if known == nil, listed != server.items.map(\.id) {
            laws.add(.policy, "Ruled.items", "\(server.items.map(\.id)) became \(value.items.map(\.id))")
          }
          for entry in report.entries where entry.local == entry.server && entry.result == entry.local {
            laws.add(.policy, "Ruled", "a line about what all sides have: \(entry)")
          }
          // Merging the same fields in nested models has the same result.
          var box = RuledBox(local)
          let inner = try box.merge(.json(RuledBox(server).jsonData()), base: known.map { RuledBox($0) })
          for found in box.all where found != value {
            laws.add(.policy, "Ruled", "\(found) inside, \(value) outside")
          }
          let isChanged = box != RuledBox(local)
          laws.add(.policy, "Ruled", isChanged == !inner.changedKeys.isEmpty ? nil : "inside: \(inner)")
          let same = try ArchiveDecoder().decode(Ruled.self, from: ArchiveEncoder().encode(value)) == value
          laws.add(.policy, "Ruled", same ? nil : "\(value) is not what was archived")
        }
      }
    }
  }

  // MARK: Paths

  private mutating func shaped() {
    func text() -> String? { random.below(3) == 0 ? nil : "t\(random.below(9))" }
    var value = Shaped(
      deep: random.below(9), first: random.below(2) == 0 ? nil : random.below(9),
      second: random.below(2) == 0 ? nil : random.below(9), either: text(),
      day: Date(timeIntervalSince1970: Double(random.below(20_000)) * 86_400),
      when: Date(timeIntervalSince1970: Double(random.below(1_000_000))), point: [random.below(9), random.below(9)],
      version: random.below(9), secret: text(), nullable: random.below(9), missing: random.below(9),
      names: (0..<random.below(3)).map { "n\($0)" })
    let day = value.day.formatted(.iso8601.year().month().day())
    func number(_ number: Int) -> JSONTree { .number("\(number)") }
    func optional(_ text: String?) -> JSONTree { text.map { .text($0) } ?? .null }
    let either = random.below(2) == 0 ? "new" : "old"
    // The server's document sometimes contains unknown keys.
    let extra = random.below(2) == 0
    var members: [JSONTree.Member] = [
      .init(
        key: "a",
        value: .object(
          [
            .init(key: "b", value: number(value.deep)),
            .init(key: "c", value: .array([value.first.map(number) ?? .null, value.second.map(number) ?? .null])),
          ]
            + (extra ? [.init(key: "x", value: .text("inside"))] : []))),
      .init(key: either, value: optional(value.either)), .init(key: "date", value: .text(day)),
      .init(key: "when", value: number(Int(value.when.timeIntervalSince1970))),
      .init(key: "lat", value: number(value.point[0])),
      .init(key: "lon", value: number(value.point[1])),
      .init(key: "version", value: value.version.map(number) ?? .null),
      .init(key: "nullable", value: random.below(2) == 0 ? number(value.nullable) : .null),
      .init(key: "items", value: .array(value.names.map { .object([.init(key: "name", value: .text($0))]) })),
    ]
    if members[7].value == .null { value.nullable = 4 }
    if random.below(2) == 0 {
      value.missing = 9
    } else {
      members.append(.init(key: "missing", value: number(value.missing)))
    }
    if extra { members.append(.init(key: "more", value: .array([number(1)]))) }
    let data = Data(JSONTree.object(members).text.utf8)
    let expected = value
    trial(.shaped, "Shaped") { laws in
      let adapter = try JSONAdapter<Shaped>(unknownKeys: .capture)
      for read in [try Shaped(fromJSON: data), try adapter.decode(data), try adapter.decode(JSONReader().read(data))] {
        var plain = read
        // `secret` is written but never read, and unknown keys are captured, so both are set to the expected values.
        plain.secret = expected.secret
        plain.unknownFields = UnknownFields()
        laws.add(
          .shaped, "Shaped",
          plain == expected ? nil : "\(String(decoding: data, as: UTF8.self)) became \(read), expected \(expected)")
      }
      var read = try adapter.decode(data)
      read.secret = expected.secret
      let written = try adapter.encode(read)
      let tree = JSONTree(parsing: String(decoding: written, as: UTF8.self))
      func at(_ keys: String...) -> JSONTree? { keys.reduce(tree) { $0?.member($1) } }
      let isKept =
        at("more") == (extra ? .array([.number("1")]) : nil) && at("a", "x") == (extra ? .text("inside") : nil)
      laws.add(.shaped, "Shaped.unknown", isKept ? nil : "\(tree?.text ?? "no JSON")")
      let wanted: [(JSONTree?, JSONTree?)] = [
        (at("a", "b"), number(expected.deep)), (at("date"), .text(day)), (at("lat"), number(expected.point[0])),
        (at("secret"), optional(expected.secret)), (at("new"), optional(expected.either)),
        (at("missing"), number(expected.missing)),
      ]
      for (found, wanted) in wanted where found != wanted {
        laws.add(.shaped, "Shaped", "\(tree?.text ?? ""): no \(wanted?.text ?? "")")
      }
      laws.add(.shaped, "Shaped", try adapter.decode(written).point == expected.point ? nil : "\(tree?.text ?? "")")
      // An archive preserves the value, and merging the document into a new value gives the expected value.
      laws.add(
        .shaped, "Shaped.archive",
        try ArchiveDecoder().decode(Shaped.self, from: ArchiveEncoder().encode(read)) == read ? nil : "\(read)")
      var other = Shaped()
      try other.merge(.json(data))
      var plain = other
      (plain.secret, plain.unknownFields) = (expected.secret, UnknownFields())
      // These two fields declare values for a missing key and for null. A merge uses these only for new models, so the fields aren't
      // compared.
      plain.missing = expected.missing
      plain.nullable = expected.nullable
      laws.add(
        .shaped, "Shaped.merge", plain == expected ? nil : "\(String(decoding: data, as: UTF8.self)) became \(other)")
    }
  }

  // MARK: Steps

  private mutating func steps() {
    let weight = random.below(40), level = random.below(2), radius = random.below(9), tag = "t\(random.below(9))"
    let hasStreet = random.below(2) == 0, version = 1 + random.below(3)
    var fields: [(String, ArchiveValue)] = []
    fields.append((version == 1 ? "name" : "title", "title"))
    fields.append(("weight", version == 1 ? .string("\(Double(weight) / 4)") : .double(Double(weight) / 4)))
    if version == 1, random.below(2) == 0 { fields.append(("gone", 1)) }
    if version < 3 {
      fields += [("city", "Bern"), ("street", hasStreet ? "s" : .null), ("tags", .string(tag))]
    } else {
      fields += [
        ("home", .record("Home", version: 1, ["city": "Bern"])), ("street", hasStreet ? "s" : "none"),
        ("tags", [.string(tag)]),
      ]
    }
    let hasLevel = random.below(3) > 0
    if hasLevel { fields.append(("level", level == 0 ? "1" : "2")) }
    let hasRadius = random.below(2) == 0
    if hasRadius { fields.append(("radius", .int(Int64(radius)))) }
    let record = ModelRecord(typeName: "Grown", modelVersion: version, fields: fields.map { ($0.0, $0.1) })
    let expected = Grown(
      title: "title", weight: Double(weight) / 4, street: hasStreet ? "s" : "none", home: Home(city: "Bern"),
      tags: [tag],
      level: hasLevel ? (level == 0 ? "low" : "high") : "mid",
      figure: hasRadius ? .circle(radius: radius, note: nil) : .empty)
    trial(.steps, "Grown") { laws in
      let old = try ArchiveEncoder().encode(record)
      let read = try ArchiveDecoder().decode(Grown.self, from: old)
      laws.add(.steps, "Grown", read == expected ? nil : "\(record) became \(read), expected \(expected)")
      let upgraded = try ArchiveUpgrader(Grown.self).upgrade(old)
      laws.add(.steps, "Grown", try ArchiveDecoder().decode(Grown.self, from: upgraded) == expected ? nil : "\(record)")
      let isSame = try ArchiveUpgrader(Grown.self).upgrade(upgraded) == upgraded
      laws.add(.steps, "Grown", isSame ? nil : "an upgraded archive is upgraded again")
      let value = try SnapshotStore(inMemory: StoreOptions()).write { transaction in
        try transaction.saveArchive(old, as: "old")
        return try transaction.value(Grown.self, for: "old")
      }
      laws.add(.steps, "Grown", value == expected ? nil : "\(record) in a store became \(String(describing: value))")
      // A record is rejected if it lacks a key that a step needs, or if it has both the old and the new key.
      for key in [version == 1 ? "name" : "title", version < 3 ? "city" : "home"] {
        guard version == 1 || key == "city" else { continue }
        var fewer = record
        fewer[key] = nil
        let isRefused = (try? ArchiveDecoder().decode(Grown.self, from: ArchiveEncoder().encode(fewer))) == nil
        laws.add(.steps, "Grown", isRefused ? nil : "a record without \(key) was taken")
        var more = record
        more[key == "name" ? "title" : "home"] = key == "name" ? "t" : .record("Home", version: 1, ["city": "x"])
        let bothRefused = (try? ArchiveDecoder().decode(Grown.self, from: ArchiveEncoder().encode(more))) == nil
        laws.add(.steps, "Grown", bothRefused ? nil : "a record with both keys was taken")
      }
    }
  }

  // MARK: Rules

  private mutating func rules() {
    let value = Checked(
      count: random.below(5), name: random.oneOf(["", "a", "!b"]), note: random.below(3) == 0 ? nil : "x",
      parts: (0..<random.below(3)).map { _ in CheckedPart(size: random.below(5)) })
    var wrong: Set<String> = []
    if value.count > 3 { wrong.insert("count") }
    if value.name.isEmpty { wrong.insert("name") }
    if value.note == nil { wrong.insert("note") }
    for (place, part) in value.parts.enumerated() where part.size > 3 { wrong.insert("parts[\(place)].size") }
    let paths = wrong
    var expected = value
    if value.name == "!b" { expected.name = "replaced" }
    let wanted = expected
    trial(.rules, "Checked") { laws in
      let json = try value.jsonData(), archive = try ArchiveEncoder().encode(value)
      let ways: [(String, () throws -> Checked)] = [
        ("JSON", { try Checked(fromJSON: json) }),
        ("archive", { try ArchiveDecoder().decode(Checked.self, from: archive) }),
        (
          "merge",
          {
            var merged = Checked()
            try merged.merge(.json(json))
            return merged
          }
        ),
        ("dictionary", { try Checked(dictionary: value.dictionaryValue) }),
        ("adapter", { try JSONAdapter<Checked>().decode(json) }),
      ]
      for (way, make) in ways {
        do {
          let made = try make()
          laws.add(
            .rules, "Checked", paths.isEmpty && made == wanted ? nil : "\(way) took \(made) in spite of \(paths)")
        } catch let error as ArchiveError {
          let found = Set(error.failures.map { ArchiveError.Plain.path($0.path) })
          laws.add(
            .rules, "Checked", error.code == .invalid && found == paths ? nil : "\(way): \(error), expected \(paths)")
        }
      }
      let lenient = ArchiveDecoder(validates: false)
      laws.add(
        .rules, "Checked",
        try lenient.decode(Checked.self, from: archive) == value ? nil : "read otherwise without rules")
    }
  }

  // MARK: Relations

  /// Checks that related objects have the same content in the database as in memory, whatever the source.
  private mutating func relations() {
    var shelves = Library.sample(&random)
    var other = Library.sample(&random)
    trial(.relations, "Shelf") { laws in
      let queue = try DatabaseQueue()
      try queue.write { try $0.execute(sql: Library.tables) }
      let store = try EntityStore(queue, Shelf.self, Volume.self, Label.self)
      try queue.write { db in
        func check(_ what: String, _ expected: Library) throws {
          let found = Library(try store.fetchAll(Shelf.order(Column("id")), in: db))
          laws.add(.relations, "Shelf", found == expected ? nil : "\(what): \(found), expected \(expected)")
        }
        try store.save(shelves.objects(), in: db)
        try check("saved", shelves)
        let report = try store.save(shelves.objects(), in: db)
        laws.add(.relations, "Shelf", report.isEmpty ? nil : "saved again: \(report)")
        try store.apply(.json(Data(shelves.json.text.utf8)), to: Shelf.self, in: db)
        try check("own document", shelves)
        // A volume moves to the shelf that contains it in the document. If the document lists the volume's old shelf
        // but not the volume, the volume is deleted.
        try store.apply(.json(Data(other.json.text.utf8)), to: Shelf.self, in: db)
        shelves.take(other)
        try check("document \(other)", shelves)
        other = shelves
        for place in other.shelves.indices { other.shelves[place].name += "+" }
        for shelf in other.objects() { try store.save(shelf, in: db) }
        try check("renamed", other)
      }
    }
  }
}

extension ArchiveError {
  enum Plain {
    static func path(_ path: [PathComponent]) -> String {
      path.reduce("") { text, component in
        switch component {
        case .key(let key): text.isEmpty ? key : "\(text).\(key)"
        case .index(let index): "\(text)[\(index)]"
        }
      }
    }
  }
}
