import Foundation
import StrataCore

// The models that the simulated merges use. Together they cover every kind of field and every kind of merge policy.

/// A model that the simulation creates and edits.
protocol Sample: VersionedModel, ShownModel {
  init(random: inout Random)
  /// The number of different kinds of edits.
  static var kinds: Int { get }
  /// Makes an edit of the given kind.
  mutating func edit(_ kind: Int, _ random: inout Random)
}

extension Sample {
  static func random(_ random: inout Random) -> Self { Self(random: &random) }

  mutating func edit(_ random: inout Random) { edit(random.below(Self.kinds), &random) }
}

enum State: String, Archivable, Shown {
  case open, closed, merged
  func show(to text: inout CaseText) { text.add(rawValue) }
}

enum Priority: Int, Archivable, UnknownCaseRepresentable, Shown {
  case low = 1
  case high = 9
  case unknown = -1
  static var unknownCase: Priority { .unknown }
  func show(to text: inout CaseText) { text.add("priority\(rawValue)") }
}

enum Channel: String, Archivable, CaseAliasing, Shown, Comparable {
  case mail, chat
  static var formerRawValues: [String: Channel] { ["e-mail": .mail] }
  static func < (left: Channel, right: Channel) -> Bool { left.rawValue < right.rawValue }
  func show(to text: inout CaseText) { text.add(rawValue) }
}

struct Size: Codable, Sendable, Shown {
  var width: Int
  var height: Double
  var note: String?

  init(random: inout Random) {
    width = random.number()
    height = random.real()
    note = random.optional(random.word())
  }

  func show(to text: inout CaseText) {
    text.group("Size(", ")") { text in
      text.element(width)
      text.element(height)
      text.element(note)
    }
  }
}

/// A model without an identity that contains another model.
struct Place: DescribedModel, ShownModel {
  var city: String
  var zip: Int?
  var geo: Geo?

  init(city: String = "", zip: Int? = nil, geo: Geo? = nil) { (self.city, self.zip, self.geo) = (city, zip, geo) }

  init(random: inout Random) {
    city = random.word()
    zip = random.optional(random.number())
    geo = random.isOnce(in: 3) ? Geo(random: &random) : nil
  }

  static let fields = Fields(
    Place.self, version: 1, Field("city", \.city, default: ""), Field("zip", \.zip), Field("geo", \.geo),
    make: { Place(city: $0, zip: $1, geo: $2) })

  func showFields(to text: inout CaseText) {
    text.field("city", city)
    text.field("zip", zip)
    text.field("geo", geo)
  }

  mutating func edit(_ random: inout Random) {
    switch random.below(4) {
    case 0: city = random.word()
    case 1: zip = random.optional(random.number())
    case 2: geo = random.optional(Geo(random: &random))
    default: geo?.lat = random.real()
    }
  }
}

struct Geo: DescribedModel, ShownModel {
  var lat: Double
  var lon: Double

  init(lat: Double, lon: Double) { (self.lat, self.lon) = (lat, lon) }
  init(random: inout Random) { (lat, lon) = (random.real(), random.real()) }

  static let fields = Fields(
    Geo.self, version: 1, Field("lat", \.lat, default: 0), Field("lon", \.lon, default: 0),
    make: { Geo(lat: $0, lon: $1) })

  func showFields(to text: inout CaseText) {
    text.field("lat", lat)
    text.field("lon", lon)
  }
}

/// A model with an identity, for a field with a single model. Version 1 had a different key.
struct Owner: DescribedModel, Migratable, ShownModel {
  let id: Int?
  var name: String
  var note: String?
  var secret: String

  init(id: Int?, name: String, note: String?, secret: String) {
    (self.id, self.name, self.note, self.secret) = (id, name, note, secret)
  }

  init(random: inout Random) {
    id = random.isOnce(in: 8) ? nil : 1 + random.below(3)
    (name, note) = (random.word(), random.optional(random.word()))
    secret = random.oneOf(["", "s"])
  }

  static let fields = Fields(
    Owner.self, version: 2, Field("id", \.id), Field("name", \.name, default: ""), Field("note", \.note),
    Field("secret", \.secret, json: .none, default: ""),
    make: { Owner(id: $0, name: $1, note: $2, secret: $3) })
  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("login", to: "name")))

  func showFields(to text: inout CaseText) {
    text.field("id", id)
    text.field("name", name)
    text.field("note", note)
    text.field("secret", secret)
  }

  mutating func edit(_ random: inout Random) {
    switch random.below(4) {
    case 0: self = Owner(random: &random)
    case 1: note = random.optional(random.word())
    default: name = random.word()
    }
  }
}

/// A list element with a field that JSON never contains.
struct Item: DescribedModel, Sample {
  var id: Int?
  var name: String
  var color: String?
  var place: Place?
  var votes: Int
  var draft: String

  init(id: Int?, name: String, color: String?, place: Place?, votes: Int, draft: String) {
    (self.id, self.name, self.color, self.place, self.votes, self.draft) = (id, name, color, place, votes, draft)
  }

  init(random: inout Random) {
    id = random.isOnce(in: 16) ? nil : random.below(6)
    (name, color) = (random.word(), random.optional(random.word()))
    place = random.isOnce(in: 3) ? Place(random: &random) : nil
    votes = random.below(3)
    draft = random.oneOf(["", "d"])
  }

  static let fields = Fields(
    Item.self, version: 1, Field("id", \.id), Field("name", \.name, default: ""), Field("color", \.color),
    Field("place", \.place), Field("votes", \.votes, merge: .sumOfDeltas, default: 0),
    Field("draft", \.draft, json: .none, default: ""),
    make: { Item(id: $0, name: $1, color: $2, place: $3, votes: $4, draft: $5) })

  func showFields(to text: inout CaseText) {
    text.field("id", id)
    text.field("name", name)
    text.field("color", color)
    text.field("place", place)
    text.field("votes", votes)
    text.field("draft", draft)
  }

  static var kinds: Int { 6 }

  mutating func edit(_ kind: Int, _ random: inout Random) {
    switch kind {
    case 0: id = random.below(6)
    case 1: color = random.optional(random.word())
    case 2: place = random.optional(Place(random: &random))
    case 3: votes += 1 + random.below(3)
    case 4: place?.edit(&random)
    default: name = random.word()
    }
  }
}

/// A list element with an identity. Its type declares a merge policy.
struct Row: DescribedModel, Mergeable, Validating, PostDecoding, Sample {
  var number: String
  var text: String
  var note: String?
  var at: Date?
  var label: String

  init(number: String, text: String, note: String?, at: Date?, label: String) {
    (self.number, self.text, self.note, self.at, self.label) = (number, text, note, at, label)
  }

  init(random: inout Random) {
    number = random.oneOf(["1", "2", "3", "4", "5"])
    (text, note, at, label) = (random.word(), random.optional(random.word()), random.time(), "new")
  }

  static let fields = Fields(
    Row.self, version: 1, Field("number", \.number), Field("text", \.text, default: ""), Field("note", \.note),
    Field("at", \.at, json: .path("times.at")),
    Field("label", \.label, merge: .keepLocal, json: .none, default: ""),
    make: { Row(number: $0, text: $1, note: $2, at: $3, label: $4) })
  static let mergeRules = MergeRules(default: .lastWriter(by: "at"), identity: "number")
  static let validation = Validation<Row>(
    .check("number", \.number, .nonEmpty), .replace("text", \.text) { $0 == "c" ? "C" : $0 },
    .model("the note repeats the text", at: "note") { $0.note != "b" || $0.text != "b" })

  mutating func didDecode(from source: DecodingSource) { label = "\(source) \(text)" }

  func showFields(to text: inout CaseText) {
    text.field("number", number)
    text.field("text", self.text)
    text.field("note", note)
    text.field("at", at)
    text.field("label", label)
  }

  static var kinds: Int { 5 }

  mutating func edit(_ kind: Int, _ random: inout Random) {
    switch kind {
    case 0: number = random.oneOf(["1", "2", "3", "4", "5"])
    case 1: note = random.optional(random.word())
    default: text = random.word()
    }
    if random.isOnce(in: 2) { at = random.time() }
  }
}

enum Payment: EnumModel, ShownModel {
  case cash
  case card(number: String, expiry: Date?)
  indirect case split(Payment, Payment)
  case ship(Place)

  init(random: inout Random, _ depth: Int = 0) {
    self =
      switch random.below(depth > 1 ? 3 : 4) {
      case 0: .cash
      case 1: .card(number: random.word(), expiry: random.optional(random.date()))
      case 2: .ship(Place(random: &random))
      default: .split(Payment(random: &random, depth + 1), Payment(random: &random, depth + 1))
      }
  }

  static let schema = ModelSchema(
    Payment.self, name: "Payment", version: 2,
    cases: [
      .init("cash"),
      .init("card", formerly: ["creditCard"], payload: [String.self, Date?.self], labels: ["number", "expiry"]),
      .init("split"), .init("ship", payload: [Place.self], labels: ["_0"]),
    ])

  func encodeCase(to writer: inout ArchiveWriter) throws {
    switch self {
    case .cash: try writer.beginCase(Self.schema, "cash", count: 0)
    case .card(let number, let expiry):
      try writer.beginCase(Self.schema, "card", count: 2)
      try writer.payload("number", number)
      try writer.payload("expiry", expiry)
    case .split(let first, let second):
      try writer.beginCase(Self.schema, "split", count: 2)
      try writer.payload("_0", first)
      try writer.payload("_1", second)
    case .ship(let place):
      try writer.beginCase(Self.schema, "ship", count: 1)
      try writer.payload("_0", place)
    }
    writer.endCase()
  }

  static func make(case name: String, payload: CasePayload) throws -> Payment? {
    switch name {
    case "cash": .cash
    case "card": .card(number: try payload.value("number"), expiry: try payload.value("expiry"))
    case "split": .split(try payload.value("_0"), try payload.value("_1"))
    case "ship": .ship(try payload.value("_0"))
    default: nil
    }
  }

  func showFields(to text: inout CaseText) {
    switch self {
    case .cash: text.add("cash")
    case .card(let number, let expiry):
      text.field("card", number)
      text.field("expiry", expiry)
    case .split(let first, let second):
      text.field("split", first)
      text.field("and", second)
    case .ship(let place): text.field("ship", place)
    }
  }
}

/// A document that has a field for each merge policy. It remembers its base and keeps unknown keys.
struct Doc: Migratable, Sample {
  var title = ""
  var body = ""
  var log = ""
  var mine = ""
  var asked = ""
  var theirs = ""
  var kept = ""
  var polite = ""
  var firm: String?
  var longer = ""
  var joined = ""
  var best: Int?
  var least: Double?
  var count = 0
  var tiny: Int8 = 0
  var changed = Date(timeIntervalSinceReferenceDate: 0)
  var state = State.open
  var priority = Priority.low
  var channel = Channel.mail
  var payment = Payment.cash
  var place: Place?
  var home = Place()
  var owner: Owner?
  var items: [Item] = []
  var rows: [Row] = []
  var chores: [Item] = []
  var spots: [Place] = []
  var tags: [String] = []
  var labels: Set<String> = []
  var grades: Set<Int> = []
  var history: [String] = []
  var counts: [String: Int] = [:]
  var places: [String: Place] = [:]
  var people: [String: Owner] = [:]
  var numbers: [Int: String] = [:]
  var free = ArchiveValue.null
  var draft = ""
  var secret = ""
  var merging = MergeState()
  var unknownFields = UnknownFields()

  static let schema = ModelSchema(
    Doc.self, name: "Doc", formerNames: ["Document"], version: 3,
    fields: [
      FieldInfo("title", String.self, formerly: ["caption"], default: { "" }),
      FieldInfo("body", String.self, merge: .lines, default: { "" }),
      FieldInfo("log", String.self, merge: .append, default: { "" }),
      FieldInfo("mine", String.self, merge: .localWins, default: { "" }),
      FieldInfo("asked", String.self, merge: .conflict, default: { "" }),
      FieldInfo("theirs", String.self, merge: .serverWins, default: { "" }),
      FieldInfo("kept", String.self, merge: .keepLocal, default: { "" }),
      FieldInfo("polite", String.self, merge: .lines.orElse(.serverWins), default: { "" }),
      FieldInfo("firm", String?.self, merge: .serverWins.ifPresent),
      FieldInfo(
        "longer", String.self,
        merge: .resolving("longer") { sides in
          guard let own = sides.local?.stringValue, let other = sides.server?.stringValue else { return nil }
          if own.utf8.count == other.utf8.count { return nil }
          return .string(own.utf8.count > other.utf8.count ? own : other)
        }, default: { "" }),
      FieldInfo(
        "joined", String.self,
        merge: .custom { local, server in
          guard let own = local?.stringValue, let other = server?.stringValue else { return nil }
          if own == "c", other == "a" { throw Refusal() }
          return .string(String((own + other).prefix(6)))
        }, default: { "" }),
      FieldInfo("best", Int?.self, merge: .max), FieldInfo("least", Double?.self, merge: .min),
      FieldInfo("count", Int.self, merge: .sumOfDeltas, default: { 0 }),
      FieldInfo("tiny", Int8.self, merge: .sumOfDeltas, default: { 0 }),
      FieldInfo("changed", Date.self, merge: .max, default: { Date(timeIntervalSinceReferenceDate: 0) }),
      FieldInfo("state", State.self, unknown: .useDefault, default: { .open }),
      FieldInfo("priority", Priority.self, default: { .low }),
      FieldInfo("channel", Channel.self, default: { .mail }),
      FieldInfo("payment", Payment.self, default: { .cash }), FieldInfo("place", Place?.self),
      FieldInfo("home", Place.self, merge: .recursive, default: { Place() }), FieldInfo("owner", Owner?.self),
      FieldInfo("items", [Item].self, default: { [] }),
      FieldInfo("rows", [Row].self, default: { [] }),
      FieldInfo("chores", [Item].self, merge: .byID("id", unlisted: .keep), default: { [] }),
      FieldInfo("spots", [Place].self, default: { [] }),
      FieldInfo("tags", [String].self, merge: .addWins, default: { [] }),
      FieldInfo("labels", Set<String>.self, merge: .union, default: { [] }),
      FieldInfo("grades", Set<Int>.self, default: { [] }),
      FieldInfo("history", [String].self, merge: .append, default: { [] }),
      FieldInfo("counts", [String: Int].self, default: { [:] }),
      FieldInfo("places", [String: Place].self, default: { [:] }),
      FieldInfo("people", [String: Owner].self, merge: .recursive, default: { [:] }),
      FieldInfo("numbers", [Int: String].self, default: { [:] }),
      FieldInfo("free", ArchiveValue.self, merge: .recursive, default: { .null }),
      FieldInfo("draft", String.self, json: .none, default: { "" }),
      FieldInfo("secret", String.self, archive: .excluded, default: { "" }),
      FieldInfo("merging", MergeState.self, default: { MergeState() }),
    ], keepsUnknownFields: true)

  static let migration = MigrationPlan(
    .step(from: 1, to: 2, .rename("summary", to: "title"), .setDefault("count", 1)),
    .step(from: 2, to: 3, .convert("best", .toInteger), .drop("gone")))

  struct Refusal: Error {}

  init() {}

  init(fields reader: inout ArchiveReader) throws {
    title = try reader.field(0, default: "")
    body = try reader.field(1, default: "")
    log = try reader.field(2, default: "")
    mine = try reader.field(3, default: "")
    asked = try reader.field(4, default: "")
    theirs = try reader.field(5, default: "")
    kept = try reader.field(6, default: "")
    polite = try reader.field(7, default: "")
    firm = try reader.field(8)
    longer = try reader.field(9, default: "")
    joined = try reader.field(10, default: "")
    best = try reader.field(11)
    least = try reader.field(12)
    count = try reader.field(13, default: 0)
    tiny = try reader.field(14, default: 0)
    changed = try reader.field(15, default: Date(timeIntervalSinceReferenceDate: 0))
    state = try reader.field(16, default: .open, unknown: .useDefault)
    priority = try reader.field(17, default: .low)
    channel = try reader.field(18, default: .mail)
    payment = try reader.field(19, default: .cash)
    place = try reader.field(20)
    home = try reader.field(21, default: Place())
    owner = try reader.field(22)
    items = try reader.field(23, default: [])
    rows = try reader.field(24, default: [])
    chores = try reader.field(25, default: [])
    spots = try reader.field(26, default: [])
    tags = try reader.field(27, default: [])
    labels = try reader.field(28, default: [])
    grades = try reader.field(29, default: [])
    history = try reader.field(30, default: [])
    counts = try reader.field(31, default: [:])
    places = try reader.field(32, default: [:])
    people = try reader.field(33, default: [:])
    numbers = try reader.field(34, default: [:])
    free = try reader.field(35, default: .null)
    draft = try reader.field(36, default: "")
    secret = try reader.excludedField(37, default: "")
    merging = try reader.field(38, default: MergeState())
    unknownFields = reader.readUnknownFields()
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, title)
    try writer.field(1, body)
    try writer.field(2, log)
    try writer.field(3, mine)
    try writer.field(4, asked)
    try writer.field(5, theirs)
    try writer.field(6, kept)
    try writer.field(7, polite)
    try writer.field(8, firm)
    try writer.field(9, longer)
    try writer.field(10, joined)
    try writer.field(11, best)
    try writer.field(12, least)
    try writer.field(13, count)
    try writer.field(14, tiny)
    try writer.field(15, changed)
    try writer.field(16, state)
    try writer.field(17, priority)
    try writer.field(18, channel)
    try writer.field(19, payment)
    try writer.field(20, place)
    try writer.field(21, home)
    try writer.field(22, owner)
    try writer.field(23, items)
    try writer.field(24, rows)
    try writer.field(25, chores)
    try writer.field(26, spots)
    try writer.field(27, tags)
    try writer.field(28, labels)
    try writer.field(29, grades)
    try writer.field(30, history)
    try writer.field(31, counts)
    try writer.field(32, places)
    try writer.field(33, people)
    try writer.field(34, numbers)
    try writer.field(35, free)
    try writer.field(36, draft)
    try writer.excludedField(37, secret)
    try writer.field(38, merging)
  }

  var archivedUnknownFields: UnknownFields { unknownFields }

  func showFields(to text: inout CaseText) {
    text.field("title", title)
    text.field("body", body)
    text.field("log", log)
    text.field("mine", mine)
    text.field("asked", asked)
    text.field("theirs", theirs)
    text.field("kept", kept)
    text.field("polite", polite)
    text.field("firm", firm)
    text.field("longer", longer)
    text.field("joined", joined)
    text.field("best", best)
    text.field("least", least)
    text.field("count", count)
    text.field("tiny", tiny)
    text.field("changed", changed)
    text.field("state", state)
    text.field("priority", priority)
    text.field("channel", channel)
    text.field("payment", payment)
    text.field("place", place)
    text.field("home", home)
    text.field("owner", owner)
    text.field("items", items)
    text.field("rows", rows)
    text.field("chores", chores)
    text.field("spots", spots)
    text.field("tags", tags)
    text.field("labels", labels)
    text.field("grades", grades)
    text.field("history", history)
    text.field("counts", counts)
    text.field("places", places)
    text.field("people", people)
    text.field("numbers", numbers)
    text.field("free", free)
    text.field("draft", draft)
    text.field("secret", secret)
    text.field("merging", merging)
    text.field("unknown", unknownFields)
  }

  init(random: inout Random) {
    for _ in 0..<random.below(30) { edit(&random) }
  }

  static var kinds: Int { 48 }

  mutating func edit(_ kind: Int, _ random: inout Random) {
    switch kind {
    case 0: title = random.word()
    case 1, 2: body = random.editedLines(body)
    case 3: for _ in 0...random.below(3) { log += random.oneOf(["x\n", "y\n", "z"]) }
    case 4: mine = random.word()
    case 5: asked = random.word()
    case 6: theirs = random.word()
    case 7: kept = random.word()
    case 8: polite = random.editedLines(polite)
    case 9: firm = random.optional(random.word())
    case 10: longer = random.word()
    case 11: joined = random.word()
    case 12: best = random.optional(random.number())
    case 13: least = random.optional(random.real())
    case 14, 15: count += random.oneOf([1, 2, 5, -1])
    case 16: tiny = random.oneOf([0, 1, 100, -100, 127])
    case 17: changed = random.date()
    case 18: state = random.oneOf([.open, .closed, .merged])
    case 19: priority = random.oneOf([.low, .high, .unknown])
    case 20: channel = random.oneOf([.mail, .chat])
    case 21: payment = Payment(random: &random)
    case 22: place = random.optional(Place(random: &random))
    case 23: place?.edit(&random)
    case 24: home.edit(&random)
    case 25: owner = random.optional(Owner(random: &random))
    case 26: owner?.edit(&random)
    case 27, 28, 29: items.editList(&random, Item.random) { $0.edit(&$1) }
    case 30, 31: rows.editList(&random, Row.random) { $0.edit(&$1) }
    case 32: chores.editList(&random, Item.random) { $0.edit(&$1) }
    case 33: spots.editList(&random, { Place(random: &$0) }, { $0.edit(&$1) })
    case 34: tags.editList(&random, { $0.word() }, { $0 = $1.word() })
    case 35: labels.formSymmetricDifference([random.word()])
    case 36: grades.formSymmetricDifference([random.number()])
    case 37: for _ in 0...random.below(3) { history.append(random.oneOf(["a", "b"])) }
    case 38: counts[random.word()] = random.optional(random.number())
    case 39: places[random.word()] = random.optional(Place(random: &random))
    case 40: places[places.keys.sorted().first ?? "a"]?.edit(&random)
    case 41: people[random.word()] = random.optional(Owner(random: &random))
    case 42: people[people.keys.sorted().first ?? "a"]?.edit(&random)
    case 43: numbers[random.number()] = random.optional(random.word())
    case 44: free = random.tree(2)
    case 45: draft = random.word()
    case 46: secret = random.word()
    default:
      // An unknown key that is also the key of one of the model's fields is an error in JSON.
      unknownFields[random.isOnce(in: 12) ? "title" : random.oneOf(["later", "x"])] = random.tree(1)
    }
  }
}

extension Array {
  /// Inserts, removes, moves or changes an element.
  mutating func editList(
    _ random: inout Random, _ make: (inout Random) -> Element, _ change: (inout Element, inout Random) -> Void
  ) {
    switch random.below(isEmpty ? 1 : 6) {
    case 0, 1: insert(make(&random), at: random.below(count + 1))
    case 2: remove(at: random.below(count))
    case 3: insert(remove(at: random.below(count)), at: random.below(count + 1))
    default: change(&self[random.below(count)], &random)
    }
  }
}

extension Random {
  /// Returns a random value that JSON can represent.
  mutating func tree(_ depth: Int) -> ArchiveValue {
    switch below(depth > 0 ? 8 : 5) {
    case 0: .null
    case 1: .bool(isOnce(in: 2))
    case 2: .integer(number())
    case 3: .double(oneOf([0.5, 1e100]))
    case 4: .string(word())
    case 5: .array(array(upTo: 3) { $0.tree(depth - 1) })
    default:
      .object(ArchiveObject(array(upTo: 3) { .init(key: $0.oneOf(["a", "b", "c", "id"]), value: $0.tree(depth - 1)) }))
    }
  }
}

/// A model with scalars, JSON mappings, rules and hooks. It doesn't remember a base.
struct Form: Validating, PostDecoding, KeyMerging, Sample {
  var id = 1
  var int8: Int8 = 0
  var int16: Int16 = 0
  var int32: Int32 = 0
  var uint8: UInt8 = 0
  var uint16: UInt16 = 0
  var uint32: UInt32 = 0
  var uint64: UInt64 = 0
  var int128: Int128 = 0
  var float: Float = 0
  var double = 0.0
  var flag = false
  var data = Data()
  var url: URL?
  var uuid: UUID?
  var price: Decimal?
  var size: Size?
  var sizes: [Size] = []
  var nick = ""
  var code = ""
  var page = 1
  var level = 0
  var both = ArchiveValue.null
  var etag: String?
  var password: String?
  var spots: [Place] = []
  var score = 0
  var name = "n"
  var label = ""
  var days: [Date: String] = [:]

  static let schema = ModelSchema(
    Form.self, name: "Form", version: 1,
    fields: [
      FieldInfo("id", Int.self), FieldInfo("int8", Int8.self, default: { 0 }),
      FieldInfo("int16", Int16.self, merge: .min, default: { 0 }), FieldInfo("int32", Int32.self, default: { 0 }),
      FieldInfo("uint8", UInt8.self, merge: .sumOfDeltas.orElse(.localWins), default: { 0 }),
      FieldInfo("uint16", UInt16.self, default: { 0 }), FieldInfo("uint32", UInt32.self, default: { 0 }),
      FieldInfo("uint64", UInt64.self, merge: .max, default: { 0 }),
      FieldInfo("int128", Int128.self, merge: .sumOfDeltas, default: { 0 }),
      FieldInfo("float", Float.self, default: { 0 }), FieldInfo("double", Double.self, default: { 0 }),
      FieldInfo("flag", Bool.self, merge: .max, default: { false }), FieldInfo("data", Data.self, default: { Data() }),
      FieldInfo("url", URL?.self), FieldInfo("uuid", UUID?.self),
      FieldInfo("price", Decimal?.self, merge: .sumOfDeltas),
      FieldInfo("size", Size?.self), FieldInfo("sizes", [Size].self, default: { [] }),
      FieldInfo("nick", String.self, json: "meta.nick", default: { "" }),
      FieldInfo("code", String.self, json: .firstOf("code", "meta.kode"), default: { "" }),
      FieldInfo(
        "page", Int.self, json: .path("page").null(.useDefault).lenient(.numericString, .wholeNumber), default: { 1 }),
      FieldInfo(
        "level", Int.self,
        json: .path("meta.level", .values(["none": 0, "some": 1, "all": 2], unknown: .use(-1))), default: { 0 }),
      FieldInfo("both", ArchiveValue.self, merge: .recursive, json: .paths("x", "y.z"), default: { .null }),
      FieldInfo("etag", String?.self, json: .readOnly("etag")),
      FieldInfo("password", String?.self, json: .writeOnly("password")),
      FieldInfo("spots", [Place].self, json: .path("spots").skippingInvalid, default: { [] }),
      FieldInfo("score", Int.self, default: { 0 }), FieldInfo("name", String.self, default: { "n" }),
      FieldInfo("label", String.self, storage: .transitory, json: .none, default: { "" }),
      FieldInfo("days", [Date: String].self, default: { [:] }),
    ])

  init() {}

  init(fields reader: inout ArchiveReader) throws {
    id = try reader.field(0)
    int8 = try reader.field(1, default: 0)
    int16 = try reader.field(2, default: 0)
    int32 = try reader.field(3, default: 0)
    uint8 = try reader.field(4, default: 0)
    uint16 = try reader.field(5, default: 0)
    uint32 = try reader.field(6, default: 0)
    uint64 = try reader.field(7, default: 0)
    int128 = try reader.field(8, default: 0)
    float = try reader.field(9, default: 0)
    double = try reader.field(10, default: 0)
    flag = try reader.field(11, default: false)
    data = try reader.field(12, default: Data())
    url = try reader.field(13)
    uuid = try reader.field(14)
    price = try reader.field(15)
    size = try reader.field(16)
    sizes = try reader.field(17, default: [])
    nick = try reader.field(18, default: "")
    code = try reader.field(19, default: "")
    page = try reader.field(20, default: 1)
    level = try reader.field(21, default: 0)
    both = try reader.field(22, default: .null)
    etag = try reader.field(23)
    password = try reader.field(24)
    spots = try reader.field(25, default: [])
    score = try reader.field(26, default: 0)
    name = try reader.field(27, default: "n")
    label = try reader.field(28, default: "")
    days = try reader.field(29, default: [:])
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, id)
    try writer.field(1, int8)
    try writer.field(2, int16)
    try writer.field(3, int32)
    try writer.field(4, uint8)
    try writer.field(5, uint16)
    try writer.field(6, uint32)
    try writer.field(7, uint64)
    try writer.field(8, int128)
    try writer.field(9, float)
    try writer.field(10, double)
    try writer.field(11, flag)
    try writer.field(12, data)
    try writer.field(13, url)
    try writer.field(14, uuid)
    try writer.field(15, price)
    try writer.field(16, size)
    try writer.field(17, sizes)
    try writer.field(18, nick)
    try writer.field(19, code)
    try writer.field(20, page)
    try writer.field(21, level)
    try writer.field(22, both)
    try writer.field(23, etag)
    try writer.field(24, password)
    try writer.field(25, spots)
    try writer.field(26, score)
    try writer.field(27, name)
    try writer.field(28, label)
    try writer.field(29, days)
  }

  static let validation = Validation<Form>(
    .check("name", \.name, .nonEmpty, .length(...5)), .replace("nick", \.nick) { $0 == "a b" ? "a-b" : $0 },
    .check("page", \.page, .range(0...)))

  mutating func didDecode(from source: DecodingSource) throws { label = "\(source) \(name)" }

  mutating func mergeValue(forKey key: String, from source: Form) throws -> Bool {
    guard key == "score", source.score > 0 else { return false }
    if source.score == 99 { throw Doc.Refusal() }
    score += source.score
    return true
  }

  func showFields(to text: inout CaseText) {
    text.field("id", id)
    text.field("int8", int8)
    text.field("int16", int16)
    text.field("int32", int32)
    text.field("uint8", uint8)
    text.field("uint16", uint16)
    text.field("uint32", uint32)
    text.field("uint64", uint64)
    text.field("int128", int128)
    text.field("float", float)
    text.field("double", double)
    text.field("flag", flag)
    text.field("data", data)
    text.field("url", url)
    text.field("uuid", uuid)
    text.field("price", price)
    text.field("size", size)
    text.field("sizes", sizes)
    text.field("nick", nick)
    text.field("code", code)
    text.field("page", page)
    text.field("level", level)
    text.field("both", both)
    text.field("etag", etag)
    text.field("password", password)
    text.field("spots", spots)
    text.field("score", score)
    text.field("name", name)
    text.field("label", label)
    text.field("days", days)
  }

  init(random: inout Random) {
    for _ in 0..<random.below(30) { edit(&random) }
  }

  static var kinds: Int { 30 }

  mutating func edit(_ kind: Int, _ random: inout Random) {
    switch kind {
    case 0: id = random.oneOf([1, 1, 1, 2])
    case 1: int8 = random.oneOf([0, 1, .max, .min])
    case 2: int16 = random.oneOf([0, 1, .max, .min])
    case 3: int32 = random.oneOf([0, 1, .max, .min])
    case 4: uint8 = random.oneOf([0, 1, 200, .max])
    case 5: uint16 = random.oneOf([0, 1, .max])
    case 6: uint32 = random.oneOf([0, 1, .max])
    case 7: uint64 = random.oneOf([0, 1, 1 << 63, .max])
    case 8: int128 = random.oneOf([0, 1, .max, .min, 1 << 70])
    case 9: float = random.oneOf([0, 0.1, -1.5, 1e-30])
    case 10: double = random.real()
    case 11: flag.toggle()
    case 12: data = Data(random.oneOf([[], [0, 255], [1, 2, 3]]))
    case 13: url = random.optional(random.url()) ?? nil
    case 14:
      uuid = random.optional(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, random.oneOf([1, 2]))))
    case 15: price = random.optional(random.oneOf([0, Decimal(string: "12.5") ?? 0, Decimal(string: "-0.001") ?? 0]))
    case 16: size = random.optional(Size(random: &random))
    case 17: sizes.editList(&random, { Size(random: &$0) }, { $0.width = $1.number() })
    case 18: nick = random.word()
    case 19: code = random.word()
    case 20: page = random.oneOf([0, 1, 2, 3, 4, random.isOnce(in: 3) ? -1 : 5])
    case 21: level = random.oneOf([0, 1, 2])
    case 22:
      both = random.oneOf([
        .null, ["x": .string(random.word())], ["x": random.tree(1), "y.z": .integer(random.number())],
      ])
    case 23: etag = random.optional(random.word())
    case 24: password = random.optional(random.word())
    case 25: spots.editList(&random, { Place(random: &$0) }, { $0.edit(&$1) })
    case 26: score = random.oneOf([0, 1, 5, 5, 5, 99])
    case 27: days[random.date()] = random.optional(random.word())
    default: name = random.oneOf(["n", "m", "o", "p", "longest", ""].dropLast(random.isOnce(in: 2) ? 2 : 0))
    }
  }
}
