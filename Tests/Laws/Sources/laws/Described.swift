import Foundation
import Strata

// Models with handwritten fields behave like models with the macro.

@Model(version: 2, name: "Twin")
struct Declared: Hashable, Migratable {
  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("title", to: "name")))
  let id: Int
  @Field(formerly: "label") var name = "n"
  var note: String?
  var size = Size()
  var parts: [Part] = []
  @Field(archive: .excluded) var session = 3
  @Field(archive: .excluded) var hidden = Size()
  @Field(storage: .transitory) var passing: Int? = 4
  @Field(merge: .max, json: "deep.level") var level = 1
  @Field(unknown: .useDefault) var color = Color.red
  var mood: Mood?
}

struct Described: Hashable, Migratable, DescribedModel {
  static let migration = Declared.migration
  let id: Int
  var name: String
  var note: String?
  var size: Size
  var parts: [Part]
  var session: Int
  var hidden: Size
  var passing: Int?
  var level: Int
  var color: Color
  var mood: Mood?

  static let fields = Fields(
    Described.self, name: "Twin", version: 2,
    Field("id", \.id), Field("name", \.name, formerly: ["label"], default: "n"), Field("note", \.note),
    Field("size", \.size, default: Size()), Field("parts", \.parts, default: []),
    Field("session", \.session, archive: .excluded, default: 3),
    Field("hidden", \.hidden, archive: .excluded, default: Size()),
    Field("passing", \.passing, storage: .transitory, default: 4),
    Field("level", \.level, merge: .max, json: "deep.level", default: 1),
    Field("color", \.color, unknown: .useDefault, default: .red), Field("mood", \.mood),
    make: {
      Described(
        id: $0, name: $1, note: $2, size: $3, parts: $4, session: $5, hidden: $6, passing: $7, level: $8, color: $9,
        mood: $10)
    })
}

extension Declared {
  static func sample(_ source: inout Source) -> Declared {
    var value = Declared(id: source.below(3))
    (value.name, value.note, value.size) = (.sample(&source), .sample(&source), .sample(&source))
    (value.parts, value.session, value.passing) = (.sample(&source), source.below(9), .sample(&source))
    value.hidden = .sample(&source)
    (value.level, value.color, value.mood) = (source.below(5), .sample(&source), .sample(&source))
    return value
  }
  var twin: Described {
    Described(
      id: id, name: name, note: note, size: size, parts: parts, session: session, hidden: hidden, passing: passing,
      level: level, color: color, mood: mood)
  }
}

/// A class with handwritten fields, whose objects refer to each other.
final class Link: DescribedModel {
  let number: Int
  var next: Link?
  var others: [Link] = []
  var text: String
  init(number: Int, text: String) { (self.number, self.text) = (number, text) }

  static let fields = Fields(
    Link.self, version: 1,
    Field("number", \.number), Field("next", \.next), Field("others", \.others, default: []),
    Field("text", \.text, default: ""),
    make: {
      let link = Link(number: $0, text: $3)
      (link.next, link.others) = ($1, $2)
      return link
    })

  /// The reachable objects as text. If an object occurs again, the text contains only its number.
  var shape: String {
    var seen: [ObjectIdentifier: Int] = [:]
    func text(_ link: Link) -> String {
      if let known = seen[ObjectIdentifier(link)] { return "#\(known)" }
      seen[ObjectIdentifier(link)] = seen.count
      return "\(link.number)\(link.text)(\(link.next.map(text) ?? "")\(link.others.map(text)))"
    }
    return text(self)
  }
}

extension DeclaredLaws {
  mutating func described() {
    var source = Source(random: random.fork(), isAny: true)
    let (one, two) = (Declared.sample(&source), Declared.sample(&source))
    func expect(_ what: String, _ holds: () throws -> Bool) {
      do { add(.described, "Twin", try holds() ? nil : "\(what) of \(one) and \(two)") } catch {
        add(.described, "Twin", "\(what) of \(one) and \(two): \(error)")
      }
    }
    expect("archives") { try ArchiveEncoder().encodeBody(one) == ArchiveEncoder().encodeBody(one.twin) }
    expect("keyed archives") { try ArchiveEncoder().encodeKeyed(one) == ArchiveEncoder().encodeKeyed(one.twin) }
    expect("reading") {
      let archive = try ArchiveEncoder().encode(one)
      return try ArchiveDecoder().decode(Declared.self, from: archive).twin
        == ArchiveDecoder().decode(Described.self, from: archive)
    }
    expect("JSON") { try one.jsonData() == one.twin.jsonData() }
    expect("dictionaries") {
      try Described(dictionary: one.twin.dictionaryValue) == one.twin
        && one.twin.dictionaryValue["session"] == .int(Int64(one.session))
    }
    expect("reading JSON") {
      let data = try one.jsonData()
      return try Declared(fromJSON: data).twin == Described(fromJSON: data)
    }
    expect("records with missing, former and unknown keys") {
      var record = try ArchiveDecoder().decode(ArchiveValue.self, from: ArchiveEncoder().encode(one)).recordValue
      for key in ["name", "size", "parts", "level", "color"] where random.below(2) == 0 { record?[key] = nil }
      if record?["name"] == nil, random.below(2) == 0 { record?["label"] = "former" }
      if random.below(2) == 0 { record?["color"] = "none" }
      guard let record else { return false }
      let archive = try ArchiveEncoder().encode(record)
      return try ArchiveDecoder().decode(Declared.self, from: archive).twin
        == ArchiveDecoder().decode(Described.self, from: archive)
    }
    for base in [one, nil] {
      expect("merging") {
        var (value, twin) = (one, one.twin)
        value.note = "edited"
        twin.note = "edited"
        let report = try value.merge(.model(two), base: base)
        let other = try twin.merge(.model(two.twin), base: base?.twin)
        return value.twin == twin && "\(report)" == "\(other)"
      }
    }
    expect("equality") { one.isEqual(to: two) == one.twin.isEqual(to: two.twin) && one.twin.isEqual(to: one.twin) }
    expect("copies") {
      try one.twin.copy() == one.twin && one.copy(updating: ["id": 9]).twin == one.twin.copy(updating: ["id": 9])
    }
    expect("descriptions") { one.fieldDescription() == one.twin.fieldDescription() }
    links()
  }

  private mutating func links() {
    let links = (0..<(1 + random.below(5))).map { Link(number: $0, text: "t\(random.below(3))") }
    for link in links {
      if random.below(2) == 0 { link.next = random.oneOf(links) }
      link.others = (0..<random.below(3)).map { _ in random.oneOf(links) }
    }
    defer { for link in links { (link.next, link.others) = (nil, []) } }
    do {
      let shape = links[0].shape
      for made in [
        try ArchiveDecoder().decode(Link.self, from: ArchiveEncoder().encode(links[0])),
        try ArchiveDecoder().decode(Link.self, fromKeyed: ArchiveEncoder().encodeKeyed(links[0])),
      ] {
        add(.described, "Link", made.shape == shape ? nil : "\(shape) became \(made.shape)")
        (made.next, made.others) = (nil, [])
      }
    } catch { add(.described, "Link", "\(error)") }
  }

  // MARK: Hooks

  /// Checks that a hook merges its own keys and that policies merge the others.
  mutating func hooks() {
    let (one, two) = (Hooked(random.below(5), random.below(5)), Hooked(random.below(5), random.below(5)))
    let holder = Hooking(inside: one, list: [Hooked(id: 1, one.longest, one.plain)])
    var value = holder
    do {
      let report = try value.merge(.model(Hooking(inside: two, list: [Hooked(id: 1, two.longest, two.plain)])))
      for found in [value.inside, value.list[0]] {
        let isRight = found.longest == max(one.longest, two.longest) && found.plain == two.plain
        add(.hooks, "Hooked", isRight ? nil : "\(one) and \(two) became \(found)")
      }
      let isChanged = value != holder
      add(.hooks, "Hooked", report.isEmpty == !isChanged ? nil : "\(one) and \(two): \(report)")
      var part = holder
      try part.merge(.json(Data(#"{"inside": {"longest": 9}, "list": [{"id": 1, "plain": 8}]}"#.utf8)))
      let isRight =
        part.inside == Hooked(max(9, one.longest), one.plain) && part.list == [Hooked(id: 1, one.longest, 8)]
      add(.hooks, "Hooked", isRight ? nil : "\(holder) became \(part)")
    } catch { add(.hooks, "Hooked", "\(error)") }
  }
}

@Model(version: 1)
struct Hooked: Hashable, KeyMerging {
  var id = 0
  var longest = 0
  var plain = 0
  init(id: Int = 0, _ longest: Int, _ plain: Int) { (self.id, self.longest, self.plain) = (id, longest, plain) }
  mutating func mergeValue(forKey key: String, from source: Hooked) throws -> Bool {
    guard key == "longest" else { return false }
    longest = max(longest, source.longest)
    return true
  }
}

@Model(version: 1)
struct Hooking: Hashable {
  var inside: Hooked
  var list: [Hooked] = []
}
