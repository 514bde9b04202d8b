import Foundation
import Strata

// These types are only Codable, and their handwritten conformances use every feature of Codable. Foundation's coders are the oracle.

/// Uses each kind of container, keys in nested containers, a super encoder and decoder, and values of every kind.
struct Foreign: Codable, Hashable {
  var flag = false, byte: UInt8 = 0, wide: UInt64 = 0, small: Int16 = 0, real = 0.0, short: Float = 0
  var text = "", maybe: String?, list: [Int?] = [], table: [String: [Double]] = [:]
  var date = Date(timeIntervalSinceReferenceDate: 0), data = Data(), url: URL?, uuid: UUID?
  var either: Either = .text(""), parent = "", inner: [String] = [], mood: Mood?
  var bySize: [Int: String] = [:], byMood: [Mood: Int] = [:]

  enum Either: Codable, Hashable {
    case number(Int), text(String), list([Int])
    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      // Uses `try?`, because a value that isn't a number is decoded as text or as a list next.
      if let number = try? container.decode(Int.self) {
        self = .number(number)
      } else if let text = try? container.decode(String.self) {
        self = .text(text)
      } else {
        self = .list(try container.decode([Int].self))
      }
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .number(let number): try container.encode(number)
      case .text(let text): try container.encode(text)
      case .list(let list): try container.encode(list)
      }
    }
  }

  enum CodingKeys: String, CodingKey {
    case flag, byte, wide, small, real, short, text, maybe, list, table, date, data, url, uuid, either, parent, nested,
      mood,
      bySize, byMood
  }
  enum Nested: String, CodingKey { case inner, count }

  init() {}

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    flag = try container.decode(Bool.self, forKey: .flag)
    byte = try container.decode(UInt8.self, forKey: .byte)
    wide = try container.decode(UInt64.self, forKey: .wide)
    small = try container.decode(Int16.self, forKey: .small)
    real = try container.decode(Double.self, forKey: .real)
    short = try container.decodeIfPresent(Float.self, forKey: .short) ?? 0
    text = try container.decode(String.self, forKey: .text)
    maybe = try container.decodeNil(forKey: .maybe) ? nil : container.decode(String.self, forKey: .maybe)
    var elements = try container.nestedUnkeyedContainer(forKey: .list)
    while !elements.isAtEnd { list.append(try elements.decodeNil() ? nil : elements.decode(Int.self)) }
    table = try container.decode([String: [Double]].self, forKey: .table)
    date = try container.decode(Date.self, forKey: .date)
    data = try container.decode(Data.self, forKey: .data)
    url = try container.decodeIfPresent(URL.self, forKey: .url)
    uuid = try container.decodeIfPresent(UUID.self, forKey: .uuid)
    either = try container.decode(Either.self, forKey: .either)
    parent = try container.superDecoder(forKey: .parent).singleValueContainer().decode(String.self)
    let nested = try container.nestedContainer(keyedBy: Nested.self, forKey: .nested)
    var inside = try nested.nestedUnkeyedContainer(forKey: .inner)
    for _ in 0..<(try nested.decode(Int.self, forKey: .count)) {
      inner.append(try inside.nestedContainer(keyedBy: CodingKeys.self).decode(String.self, forKey: .text))
    }
    mood = try container.decodeIfPresent(Mood.self, forKey: .mood)
    bySize = try container.decode([Int: String].self, forKey: .bySize)
    byMood = try container.decode([Mood: Int].self, forKey: .byMood)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(flag, forKey: .flag)
    try container.encode(byte, forKey: .byte)
    try container.encode(wide, forKey: .wide)
    try container.encode(small, forKey: .small)
    try container.encode(real, forKey: .real)
    try container.encode(short, forKey: .short)
    try container.encode(text, forKey: .text)
    if let maybe { try container.encode(maybe, forKey: .maybe) } else { try container.encodeNil(forKey: .maybe) }
    var elements = container.nestedUnkeyedContainer(forKey: .list)
    for element in list { if let element { try elements.encode(element) } else { try elements.encodeNil() } }
    try container.encode(table, forKey: .table)
    try container.encode(date, forKey: .date)
    try container.encode(data, forKey: .data)
    try container.encodeIfPresent(url, forKey: .url)
    try container.encodeIfPresent(uuid, forKey: .uuid)
    try container.encode(either, forKey: .either)
    var single = container.superEncoder(forKey: .parent).singleValueContainer()
    try single.encode(parent)
    var nested = container.nestedContainer(keyedBy: Nested.self, forKey: .nested)
    try nested.encode(inner.count, forKey: .count)
    var inside = nested.nestedUnkeyedContainer(forKey: .inner)
    for text in inner {
      var element = inside.nestedContainer(keyedBy: CodingKeys.self)
      try element.encode(text, forKey: .text)
    }
    try container.encodeIfPresent(mood, forKey: .mood)
    try container.encode(bySize, forKey: .bySize)
    try container.encode(byMood, forKey: .byMood)
  }

  static func sample(_ source: inout Source) -> Foreign {
    var value = Foreign()
    (value.flag, value.byte, value.wide) = (.sample(&source), source.oneOf([0, 1, 255]), .sample(&source))
    (value.small, value.real, value.short) = (source.oneOf([-32768, 0, 9]), .sample(&source), .sample(&source))
    (value.text, value.maybe, value.list) = (.sample(&source), .sample(&source), .sample(&source))
    (value.table, value.date, value.data) = (.sample(&source), .sample(&source), .sample(&source))
    (value.url, value.uuid, value.parent) = (.sample(&source), .sample(&source), .sample(&source))
    (value.inner, value.mood, value.bySize) = (.sample(&source), .sample(&source), .sample(&source))
    for mood in [Mood.good, .bad] where source.below(2) == 0 { value.byMood[mood] = source.below(5) }
    value.either = source.oneOf([.number(source.below(5)), .text("t"), .text(""), .list([1, 2]), .list([])])
    return value
  }
}

@Model(version: 1)
struct Abroad {
  var one = Foreign()
  var many: [Foreign] = []
  var named: [String: Foreign] = [:]
  var maybe: Foreign?
}

class Base: Codable {
  var name = ""
  init() {}
}

final class Derived: Base {
  var count = 0
  override init() { super.init() }
  enum CodingKeys: String, CodingKey { case count }
  required init(from decoder: any Decoder) throws {
    count = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .count)
    try super.init(from: decoder.container(keyedBy: CodingKeys.self).superDecoder())
  }
  override func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(count, forKey: .count)
    try super.encode(to: container.superEncoder())
  }
}

@Model(version: 1)
struct Holding {
  var object: Derived
  var objects: [Derived] = []
}

extension DeclaredLaws {
  mutating func codable() {
    var source = Source(random: random.fork(), isAny: false)
    let value = Abroad(
      one: .sample(&source), many: (0..<source.below(3)).map { _ in .sample(&source) },
      named: source.below(2) == 0 ? ["a": .sample(&source)] : [:],
      maybe: source.below(2) == 0 ? .sample(&source) : nil)
    func isSame(_ other: Abroad) -> Bool {
      (value.one, value.many, value.maybe) == (other.one, other.many, other.maybe) && value.named == other.named
    }
    func expect(_ what: String, _ holds: () throws -> Bool) {
      do { add(.codable, "Foreign", try holds() ? nil : "\(what) of \(value)") } catch {
        add(.codable, "Foreign", "\(what) of \(value): \(error)")
      }
    }
    let archive = ArchiveEncoder()
    expect("archive") { isSame(try ArchiveDecoder().decode(Abroad.self, from: archive.encode(value))) }
    expect("keyed") { isSame(try ArchiveDecoder().decode(Abroad.self, fromKeyed: archive.encodeKeyed(value))) }
    expect("dictionary") { isSame(try Abroad(dictionary: value.dictionaryValue)) }
    expect("JSON") { isSame(try Abroad(fromJSON: value.jsonData())) }
    expect("values of JSON") { isSame(try JSONAdapter<Abroad>().decode(JSONReader().read(value.jsonData()))) }
    expect("upgraded") {
      isSame(
        try ArchiveDecoder().decode(Abroad.self, from: ArchiveUpgrader(Abroad.self).upgrade(archive.encode(value))))
    }
    expect("without the model") {
      let tree = try ArchiveDecoder().decode(ArchiveValue.self, from: archive.encode(value))
      return isSame(try ArchiveDecoder().decode(Abroad.self, from: archive.encode(tree)))
    }
    expect("merged") {
      var other = Abroad()
      try other.merge(.model(value))
      return isSame(other)
    }
    expect("equality") { value.isEqual(to: try value.copy()) }
    // Foundation reads the JSON that the library writes, and the library reads Foundation's JSON.
    expect("Foundation's JSON") {
      let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
      (encoder.dateEncodingStrategy, decoder.dateDecodingStrategy) = (.iso8601, .iso8601)
      (encoder.dataEncodingStrategy, decoder.dataDecodingStrategy) = (.base64, .base64)
      var whole = value.one
      whole.date = Date(timeIntervalSinceReferenceDate: whole.date.timeIntervalSinceReferenceDate.rounded(.down))
      var holder = value
      holder.one = whole
      let tree = JSONTree(parsing: String(decoding: try holder.jsonData(), as: UTF8.self))?.member("one")
      let theirs = JSONTree(parsing: String(decoding: try encoder.encode(whole), as: UTF8.self))
      guard let tree, let theirs else { return false }
      return try decoder.decode(Foreign.self, from: Data(tree.text.utf8)) == whole
        && Abroad(fromJSON: Data(JSONTree.object([.init(key: "one", value: theirs)]).text.utf8)).one == whole
    }
    derived()
    wrong(&source)
  }

  private mutating func derived() {
    func sample() -> Derived {
      let object = Derived()
      (object.name, object.count) = ("n\(random.below(9))", random.below(9))
      return object
    }
    let value = Holding(object: sample(), objects: [sample(), sample()])
    func shape(_ value: Holding) -> [String] { ([value.object] + value.objects).map { "\($0.name) \($0.count)" } }
    do {
      for made in [
        try ArchiveDecoder().decode(Holding.self, from: ArchiveEncoder().encode(value)),
        try ArchiveDecoder().decode(Holding.self, fromKeyed: ArchiveEncoder().encodeKeyed(value)),
        try Holding(fromJSON: value.jsonData()), try Holding(dictionary: value.dictionaryValue),
      ] { add(.codable, "Derived", shape(made) == shape(value) ? nil : "\(shape(value)) became \(shape(made))") }
    } catch { add(.codable, "Derived", "\(error)") }
  }

  /// Checks that the library rejects each value of the wrong type that Foundation rejects, and that the error has the value's path. The
  /// value is read both from JSON text and from a JSON value.
  private mutating func wrong(_ source: inout Source) {
    // The library reads an empty array as an empty dictionary, but Foundation rejects it. That case is skipped below.
    let all: [Foreign.CodingKeys] = [
      .flag, .byte, .wide, .small, .real, .text, .list, .table, .uuid, .nested, .mood, .bySize,
    ]
    let key = source.oneOf(all)
    let others: [ArchiveValue] = [
      "x", -1, 300, .array([]), .object(ArchiveObject([])), .bool(true), .double(0.5), .null,
    ]
    let other = source.oneOf(others)
    guard other != .array([]) || ![.table, .bySize].contains(key) else { return }
    do {
      guard case .object(var object) = try JSONReader().read(Foreign.json(of: .sample(&source))) else { return }
      object[key.stringValue] = other
      let data = try JSONWriter().write(.object(object))
      let decoder = JSONDecoder()
      decoder.dateDecodingStrategy = .iso8601
      let theirs = try? decoder.decode(Foreign.self, from: data)  // The oracle decides whether the value is rejected.
      let whole = Data(#"{"one":"#.utf8) + data + Data("}".utf8)
      for (way, read) in [
        ("text", { try Abroad(fromJSON: whole) }),
        ("value", { try JSONAdapter<Abroad>().decode(JSONReader().read(whole)) }),
      ] as [(String, () throws -> Abroad)] {
        do {
          let made = try read()
          add(
            .codable, "Foreign",
            theirs == made.one ? nil : "\(way): \(other) for \(key.stringValue) was read as \(made.one)")
        } catch let error as ArchiveError {
          let path = ArchiveError.Plain.path(error.codingPath)
          let isRight = theirs == nil && path.hasPrefix("one.\(key.stringValue)")
          add(
            .codable, "Foreign",
            isRight
              ? nil
              : "\(way): \(other) for \(key.stringValue), Foundation \(theirs == nil ? "refuses" : "reads") it: \(error)"
          )
        }
      }
    } catch { add(.codable, "Foreign", "\(error)") }
  }
}

extension Foreign {
  fileprivate static func json(of value: Foreign) throws -> Data {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    return try encoder.encode(value)
  }
}
