import Foundation
import StrataCore

/// Decodes records of old model versions, upgrades them, and decodes the upgraded records.
struct Records {
  private var random: Random
  private var text: CaseText

  /// Generates the test case for the given seed and writes its results to `text`.
  static func run(_ seed: Int, _ text: inout CaseText) {
    var records = Records(random: Random(seed: UInt64(seed) ^ 0x5EED_0000_0000), text: text)
    text = CaseText()
    _ = records.random.next()
    switch records.random.below(12) {
    case 0..<5: records.single(Account.self, records.account())
    case 5..<7: records.single(Parcel.self, records.parcel())
    case 7..<9: records.single(Ware.self, records.ware())
    case 9: records.list()
    default: records.graph()
    }
    Links.cutAll()
    text = records.text
  }

  private mutating func single<M: VersionedModel & ShownModel>(_ type: M.Type, _ record: ModelRecord) {
    text.line("record", record)
    if let plan = (type as? any Migratable.Type)?.migration, random.isOnce(in: 2) {
      text.attempt("steps") { $0.line("steps", try plan.upgrade(record)) }
    }
    text.attempt("encode") { text in
      let data = try ArchiveEncoder().encode(record)
      Self.archive(type, data, &text) { $1.model($0, $2) }
      guard random.isOnce(in: 4) else { return }
      text.attempt("merged") { text in
        // Merges the record with itself, without creating models.
        let (value, report) = try Merger(models: [type]).merge(.record(record), into: .record(record))
        text.line("merged", value)
        text.report("merged", report)
      }
    }
  }

  private mutating func list() {
    let records = random.array(upTo: 4) { _ in 0 }.map { _ in account() }
    let value = ArchiveValue.array(records.map { .record($0) })
    text.line("records", value)
    text.attempt("encode") { text in
      let graph = ObjectGraph(objects: [], root: value)
      let data = try ArchiveEncoder().encode(graph, typeName: "[Account]", modelVersion: 1 + random.below(5))
      Self.archive([Account].self, data, &text) { $1.value($0, $2) }
    }
  }

  private mutating func graph() {
    let graph = objects()
    text.line("graph", ArchiveValue.graph(graph))
    text.attempt("encode") { text in
      let isArray = if case .array = graph.root { true } else { false }
      let name = isArray ? "[Depot]" : (graph.resolve(graph.root)?.recordValue?.typeName ?? "Depot")
      let data = try ArchiveEncoder().encode(graph, typeName: name, modelVersion: nil)
      if isArray {
        Self.archive([Depot].self, data, &text) { $1.value($0, $2) }
      } else {
        Self.archive(Depot.self, data, &text) { $1.value($0, $2) }
      }
    }
  }

  /// Decodes and upgrades an archive, and writes the results.
  private static func archive<T: Archivable & SendableMetatype>(
    _ type: T.Type, _ data: Data, _ text: inout CaseText, _ show: (String, inout CaseText, T) -> Void
  ) {
    text.line("archive", "\(data.count) bytes \(Digest.text(of: data))")
    var report = DecodingReport()
    let isRead = text.attempt("decode") { text in
      show("value", &text, try ArchiveDecoder().decode(T.self, from: data, report: &report))
    }
    text.report("decode", report)
    if !isRead {
      text.attempt("lenient") { text in
        show("lenient", &text, try ArchiveDecoder(validates: false).decode(T.self, from: data))
      }
    }
    report = DecodingReport()
    text.attempt("upgrade") { text in
      let upgraded = try ArchiveUpgrader(T.self, validates: isRead).upgrade(data, report: &report)
      text.line("upgraded", "\(upgraded.count) bytes \(Digest.text(of: upgraded))")
      text.line("upgraded", try ArchiveDecoder().decodeValue(from: upgraded))
      var second = DecodingReport()
      show("again", &text, try ArchiveDecoder(validates: isRead).decode(T.self, from: upgraded, report: &second))
      text.report("again", second)
      text.line("isStable", try ArchiveUpgrader(T.self, validates: isRead).upgrade(upgraded) == upgraded)
    }
    text.report("upgrade", report)
  }

  // MARK: Random records

  private mutating func mistake() -> ArchiveValue {
    random.oneOf([.null, true, -1, 0.5, "?", [], ["x": 1], .set([1]), .date(Date(timeIntervalSinceReferenceDate: 5))])
  }

  /// Returns one of the values, or rarely an invalid one.
  private mutating func value(_ values: [ArchiveValue]) -> ArchiveValue {
    random.isOnce(in: 80) ? mistake() : random.oneOf(values)
  }

  private mutating func record(
    _ names: [String], _ versions: [Int], _ fields: [(key: String, value: ArchiveValue)]
  ) -> ModelRecord {
    let present = fields.filter { _ in !random.isOnce(in: 4) }
    var version: Int? = random.oneOf(versions)
    if random.isOnce(in: 40) { version = random.oneOf([nil, 0, (versions.max() ?? 0) + 1]) }
    return ModelRecord(
      typeName: random.isOnce(in: 100) ? "Other" : random.oneOf(names), modelVersion: version, fields: present)
  }

  private mutating func account() -> ModelRecord {
    let version = 1 + random.below(5)
    var fields: [(key: String, value: ArchiveValue)] = []
    if version < 5 {
      let name = value(["Ada Lovelace", "Zoë Ö", "a b c", random.isOnce(in: 8) ? "Single" : "Two words"])
      fields.append((version < 2 ? "fullName" : "name", name))
      fields.append(("words", value([["x", "y"], ["z"], []])))
    } else {
      fields += [
        ("first", value(["Ada", ""])),
        ("last", value(["L", "long", random.isOnce(in: 9) ? "far too long a name" : "M"])),
      ]
    }
    fields.append(
      version < 2
        ? ("born", value(["2019-03-04", "2019-03-04T12:30:00Z", 0, 1.5e9, .null]))
        : ("born", value([.null, .date(Date(timeIntervalSinceReferenceDate: 700_000_000.25))])))
    fields.append(("score", version < 2 ? value(["1.5", 2, "-1e3", 0.25, true]) : value([0.5, 2.0])))
    fields.append(("isActive", version < 2 ? value([0, 1, "true", "false", true]) : value([true, false])))
    if version < 3 {
      fields += [("street", value(["Street 1", "Weg"])), ("price", value(["12.50", 3, 0.1, .null, "1e3"]))]
    } else {
      fields.append(("price", value([.null, .decimal(Decimal(string: "0.30") ?? 0)])))
    }
    if random.isOnce(in: 2) { fields.append(("contact", random.isOnce(in: 8) ? .null : .record(contact(version)))) }
    fields.append((random.oneOf(["stars", "stars", "points", "likes"]), value([0, 5, random.isOnce(in: 9) ? -3 : 7])))
    if version < 4 {
      fields += [
        ("legacy", value([1])), ("goal", value([.null, 3, 500])), ("tags", value(["one", ["a", "b"], .array([])])),
        ("page", value(["https://example.com/x", .null])),
        ("token", value(["E621E1F8-C36C-495A-93FC-0C247A3E6E5F", .null])), ("status", value([0, 1, "old", "new", 9])),
      ]
    } else {
      fields += [
        ("goal", value([3, 500])), ("tags", value([["a", "b"], .array([])])),
        ("status", value(["open", "closed", "merged"])),
        ("page", value([.null, URL(string: "https://example.com/y").map { .url($0) } ?? .null])),
      ]
    }
    if random.isOnce(in: 4) { fields.append(("cache", 7)) }
    if random.isOnce(in: 4) { fields.append(("later", mistake())) }
    var badges: [ArchiveValue] = []
    for _ in 0..<random.below(3) { badges.append(badge()) }
    if random.isOnce(in: 2) { fields.append(("badges", .array(badges))) }
    return record(["Account", "Account", "User"], [version], fields)
  }

  private mutating func contact(_ outer: Int) -> ModelRecord {
    record(
      ["Contact"], [1, 2],
      [
        (random.oneOf(["street", "road"]), value(["Inner 2"])),
        (random.oneOf(["zip", "code"]), value([outer < 3 ? 8001 : "8001", "x"])),
        ("channel", value(["mail", "chat", "e-mail", random.isOnce(in: 6) ? "fax" : "mail"])),
        ("rank", value([4])), ("fax", value(["no"])), ("street", value(["Own"])), ("extra", mistake()),
      ])
  }

  private mutating func badge() -> ArchiveValue {
    let version = 1 + random.below(2)
    let (name, payload): (String, ArchiveValue) =
      switch random.below(random.isOnce(in: 12) ? 5 : 4) {
      case 0: (random.oneOf(["star", "medal"]), ["points": value([3])])
      case 1: (version < 2 ? "title" : "named", ["_0": value(["n"])])
      case 2: ("none", [:])
      case 3: ("star", ["points": 1, "more": 2])
      default: ("lost", [:])
      }
    return .record(ModelRecord(typeName: "Badge", modelVersion: version, fields: [(name, payload)]))
  }

  private mutating func parcel() -> ModelRecord {
    record(
      ["Parcel"], [1, 2, 3],
      [
        ("weight", value([1, 99])), ("grams", value(["5", 500, 3.0])),
        (random.oneOf(["channel", "via"]), value(["mail", "chat", "e-mail"])),
        (random.oneOf(["text", "label"]), value(["A", "b", random.isOnce(in: 6) ? "refuse" : "c"])),
        ("caption", value(["older"])),
        ("secret", value(["kept"])), ("priority", value([1, 9, -1, 77])),
      ] + (random.isOnce(in: 20) ? [("refuses", true)] : []))
  }

  private mutating func ware(_ depth: Int = 0, isBase: Bool = false) -> ModelRecord {
    var fields: [(key: String, value: ArchiveValue)] = [
      (random.oneOf(["title", "caption", "label"]), value(["a", "b"])), ("gone", 1), ("title", value(["t", "u"])),
      ("state", value(["open", "closed", "lost"])),
      (
        "prices",
        .object(ArchiveObject([.init(key: "y", value: value(["mail", "e-mail"])), .init(key: "x", value: "chat")]))
      ),
      ("channels", .set([value(["e-mail", "chat"])])),
    ]
    if depth < 2, random.isOnce(in: 3) {
      var parts: [ArchiveValue] = []
      for _ in 0..<2 { parts.append(.record(ware(depth + 1, isBase: isBase))) }
      fields.append(("parts", .array(parts)))
    }
    if !isBase, random.isOnce(in: 2) {
      let conflict = ArchiveObject([
        .init(key: "path", value: [random.oneOf(["state", "title", "label"])]),
        .init(key: "rule", value: "both changed it"),
        .init(key: "base", value: "open"), .init(key: "local", value: "closed"),
        .init(key: "server", value: value(["open", "lost"])),
      ])
      let remembered = ArchiveObject([
        .init(key: "base", value: .record(ware(depth + 1, isBase: true))),
        .init(key: "conflicts", value: random.isOnce(in: 2) ? [] : [.object(conflict)]),
      ])
      fields.append(("merging", .object(remembered)))
    }
    return record(["Ware", "Ware", "Item"], [1, 2, 3], fields)
  }

  private mutating func objects() -> ObjectGraph {
    let count = 1 + random.below(4)
    var objects: [ArchiveValue] = []
    for _ in 0..<count {
      let isHarbour = random.isOnce(in: 2)
      let level = 1 + random.below(2)
      var fields: [(key: String, value: ArchiveValue)] = []
      if isHarbour { fields += [(random.oneOf(["ships", "boats"]), value([1, 2])), ("piers", 3)] }
      fields += [
        (level < 2 ? "label" : random.oneOf(["name", "title"]), value(["d", "e"])),
        ("channel", value(["mail", "e-mail"])),
        ("next", random.isOnce(in: 3) ? .null : .reference(random.below(count))),
        ("home", random.isOnce(in: 3) ? .null : .reference(random.below(count))),
      ]
      var record = ModelRecord(
        typeName: isHarbour ? "Harbour" : random.oneOf(["Depot", "Store"]),
        modelVersion: isHarbour ? 1 + random.below(3) : level, fields: fields.filter { _ in !random.isOnce(in: 16) })
      if isHarbour { record.superclasses = [.init(typeName: random.oneOf(["Depot", "Store"]), modelVersion: level)] }
      objects.append(.record(record))
    }
    let root: ArchiveValue =
      random.isOnce(in: 3) ? .array((0..<count).map { .reference($0) }) : .reference(0)
    return ObjectGraph(objects: objects, root: root)
  }
}
