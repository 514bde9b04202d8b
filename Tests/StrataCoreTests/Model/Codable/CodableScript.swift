import Foundation
import StrataTestSupport

@testable import StrataCore

/// A key that is any text or number.
struct ScriptKey: CodingKey, Hashable {
  let stringValue: String
  let intValue: Int?

  init(_ text: String) {
    stringValue = text
    intValue = nil
  }
  init(stringValue: String) { self.init(stringValue) }
  init(intValue: Int) {
    stringValue = "\(intValue)"
    self.intValue = intValue
  }

  /// There are only a few keys, so that some occur twice. They include equivalent spellings and long keys.
  static let all =
    ["a", "b", "id", "title", "super", "", "\u{E9}", "e\u{301}", "K", "\u{212A}", "profile_image_url_of_the_author"].map
  {
    ScriptKey($0)
  } + [ScriptKey(intValue: 3), ScriptKey(intValue: 7)]
}

/// Encodes itself with random calls, which depend on a seed. It uses containers of all kinds, fills them in any order, requests them
/// twice or leaves them empty.
struct CodableScript: Encodable {
  let seed: UInt64
  var depth = 0

  struct Refusal: Error {}

  func encode(to encoder: any Encoder) throws {
    var random = SeededRandom(seed: seed)
    for _ in 0..<(random.isOnce(in: 6) ? 2 : 1) { try fill(encoder, &random) }
  }

  private func child(_ random: inout SeededRandom) -> CodableScript {
    CodableScript(seed: random.next(), depth: depth + 1)
  }

  private func fill(_ encoder: any Encoder, _ random: inout SeededRandom) throws {
    switch random.below(8) {
    case 0...3:
      var container = encoder.container(keyedBy: ScriptKey.self)
      try fill(&container, &random)
      if random.isOnce(in: 4) {
        var again = encoder.container(keyedBy: ScriptKey.self)
        try fill(&again, &random)
        try fill(&container, &random)
      }
    case 4...5:
      var container = encoder.unkeyedContainer()
      try fill(&container, &random)
    case 6:
      var container = encoder.singleValueContainer()
      if random.isOnce(in: 4) { try container.encodeNil() }
      if depth < 5, random.isOnce(in: 2) { return try container.encode(child(&random)) }
      try ScriptValue.random(&random) { try container.encode($0) }
    // Encodes nothing.
    default: return
    }
  }

  private func fill(_ container: inout KeyedEncodingContainer<ScriptKey>, _ random: inout SeededRandom) throws {
    var nested: [KeyedEncodingContainer<ScriptKey>] = []
    var arrays: [any UnkeyedEncodingContainer] = []
    for _ in 0..<random.below(7) {
      let key = random.oneOf(ScriptKey.all)
      switch random.below(13) {
      case 0: try container.encodeNil(forKey: key)
      case 1 where depth < 5: try container.encode(child(&random), forKey: key)
      case 2: nested.append(container.nestedContainer(keyedBy: ScriptKey.self, forKey: key))
      case 3: arrays.append(container.nestedUnkeyedContainer(forKey: key))
      case 4 where depth < 5: try child(&random).encode(to: container.superEncoder())
      case 5 where depth < 5: try child(&random).encode(to: container.superEncoder(forKey: key))
      case 6: try container.encodeIfPresent(random.isOnce(in: 2) ? 7 : nil, forKey: key)
      case 7: try container.encode("\(container.codingPath.map(\.stringValue))", forKey: key)
      case 8 where random.isOnce(in: 6):
        // Continues after an error.
        do { try container.encode(Failing(), forKey: key) } catch is Refusal {}
      case 9 where random.isOnce(in: 40): throw Refusal()
      case 9 where random.isOnce(in: 20):
        throw EncodingError.invalidValue(1, .init(codingPath: container.codingPath, debugDescription: "no"))
      default:
        try ScriptValue.random(&random) { try container.encode($0, forKey: key) }
      }
    }
    guard depth < 5 else { return }
    let inner = CodableScript(seed: 0, depth: depth + 2)
    for var container in nested where !random.isOnce(in: 4) { try inner.fill(&container, &random) }
    for var container in arrays where !random.isOnce(in: 4) { try inner.fill(&container, &random) }
  }

  private func fill(_ container: inout any UnkeyedEncodingContainer, _ random: inout SeededRandom) throws {
    var nested: [KeyedEncodingContainer<ScriptKey>] = []
    var arrays: [any UnkeyedEncodingContainer] = []
    for _ in 0..<random.below(7) {
      switch random.below(10) {
      case 0: try container.encodeNil()
      case 1 where depth < 5: try container.encode(child(&random))
      case 2: nested.append(container.nestedContainer(keyedBy: ScriptKey.self))
      case 3: arrays.append(container.nestedUnkeyedContainer())
      case 4 where depth < 5: try child(&random).encode(to: container.superEncoder())
      case 5: try container.encode("\(container.count) \(container.codingPath.map(\.stringValue))")
      default: try ScriptValue.random(&random) { try container.encode($0) }
      }
    }
    guard depth < 5 else { return }
    let inner = CodableScript(seed: 0, depth: depth + 2)
    for var container in nested where !random.isOnce(in: 4) { try inner.fill(&container, &random) }
    for var container in arrays where !random.isOnce(in: 4) { try inner.fill(&container, &random) }
  }

  /// Encodes a part of itself and then throws.
  private struct Failing: Encodable {
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: ScriptKey.self)
      try container.encode(1, forKey: ScriptKey("half"))
      throw Refusal()
    }
  }
}

/// Values of many types. Some are Archivable, and others are only Codable.
enum ScriptValue {
  enum Mood: String, Codable, CaseIterable { case good, bad }
  enum Shape: Codable, Hashable {
    case point
    case circle(radius: Double)
    case named(String, Int?)
  }
  struct Name: Codable, Hashable { var name: String }
  class Animal: Codable {
    var legs = 4
    init(legs: Int) { self.legs = legs }
  }
  final class Dog: Animal {
    var name = "Rex"
    init(name: String) {
      self.name = name
      super.init(legs: 4)
    }
    private enum Keys: CodingKey { case name }
    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Keys.self)
      name = try container.decode(String.self, forKey: .name)
      try super.init(from: container.superDecoder())
    }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(name, forKey: .name)
      try super.encode(to: container.superEncoder())
    }
  }

  struct Place: DescribedModel, Codable, Hashable {
    var name: String
    var notes: [String] = []
    var inside: [Place] = []
    static let fields = Fields(
      Place.self, version: 3, Field("name", \.name), Field("notes", \.notes), Field("inside", \.inside),
      make: { Place(name: $0, notes: $1, inside: $2) })
  }
  /// Any value that an archive can contain.
  struct Untyped: Archivable, Codable {
    var value: ArchiveValue
    init(value: ArchiveValue) { self.value = value }
    init(from decoder: any Decoder) throws { value = "not called" }
    func encode(to encoder: any Encoder) throws {}
    func write(to writer: inout ArchiveWriter) throws { try writer.write(value) }
    static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Untyped {
      Untyped(value: value)
    }
  }
  /// A class that is not Archivable, and a subclass that is.
  class Unknown: Encodable { func encode(to encoder: any Encoder) throws {} }
  final class Known: Unknown, Archivable {
    func write(to writer: inout ArchiveWriter) throws { writer.write("known") }
    static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Known { Known() }
  }

  static func random(_ random: inout SeededRandom, _ encode: (any Encodable) throws -> Void) throws {
    try encode(value(&random))
  }

  private static func text(_ random: inout SeededRandom) -> String {
    random.oneOf([
      "", "x", "abc", "urgent", "\u{E9}t\u{E9}", "title", String(repeating: "long ", count: 9), "\(random.below(50))",
    ])
  }

  private static func number(_ random: inout SeededRandom) -> any Encodable {
    switch random.below(14) {
    case 0: Int.random(in: .min ... .max, using: &random)
    case 1: Int8.random(in: .min ... .max, using: &random)
    case 2: Int16.random(in: .min ... .max, using: &random)
    case 3: Int32.random(in: .min ... .max, using: &random)
    case 4: Int64(random.below(30))
    case 5: UInt.random(in: .min ... .max, using: &random)
    case 6: UInt8.random(in: .min ... .max, using: &random)
    case 7: UInt16.random(in: .min ... .max, using: &random)
    case 8: UInt32.random(in: .min ... .max, using: &random)
    case 9: UInt64.random(in: .min ... .max, using: &random)
    case 10: Int128(random.below(1000)) << random.oneOf([0, 40, 90])
    case 11: UInt128(random.below(1000)) << random.oneOf([0, 60, 100])
    case 12: random.oneOf([0.5, -0.0, .nan, .infinity, 1e300] as [Double])
    default: random.oneOf([0.5, -0.0, .nan, -.infinity] as [Float])
    }
  }

  private static func value(_ random: inout SeededRandom) -> any Encodable {
    let small = random.below(5)
    switch random.below(34) {
    case 0...6: return number(&random)
    case 7...11: return text(&random)
    case 12: return random.isOnce(in: 2)
    case 13: return Date(timeIntervalSinceReferenceDate: random.oneOf([0, 0.1, 1e9, -3.25, .nan, .infinity]))
    case 14: return random.oneOf(URLs.all)
    case 15: return UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(small)))
    case 16: return Data(repeating: 7, count: small * 2)
    case 17: return random.oneOf([Decimal(small), Decimal(sign: .minus, exponent: -3, significand: 12345), .nan])
    case 18: return (0..<small).map { "tag \($0)" }
    case 19: return (0..<small).map { $0.isMultiple(of: 2) ? $0 : nil }
    case 20: return Dictionary(uniqueKeysWithValues: (0..<small).map { ("key \($0)", $0) })
    case 21: return Set((0..<small).map { "e\($0)" })
    case 22: return (0..<small).map { Array(repeating: Double($0), count: $0) }
    case 23:
      return Place(
        name: text(&random), notes: (0..<small).map { "\($0)" }, inside: small > 3 ? [Place(name: "in")] : [])
    case 24: return random.isOnce(in: 2) ? Known() as Unknown : Unknown()
    case 25:
      return Untyped(
        value: random.oneOf([
          .null, ["a": 1, "b": ["c"]], .set(["b", "a"]), .map([.init(key: 2, value: "x"), .init(key: 1, value: "x")]),
          .map([.init(key: "text", value: ["a": [1]]), .init(key: 1, value: 2)]),
          .record(ModelRecord(typeName: "R", modelVersion: 2, fields: [("a", 1), ("id", "x")])),
          .wideInteger(.init(isNegative: true, magnitude: 1 << 100)),
        ]))
    case 26: return (0..<small).map { Size(width: $0, height: 0.5, note: $0 == 1 ? nil : "n") }
    case 27: return Set((0..<small).map { Name(name: "n\($0)") })
    case 28:
      return Dictionary(uniqueKeysWithValues: (0..<small).map { (Name(name: "n\($0)"), Size(width: $0, height: 1)) })
    case 29: return Dictionary(uniqueKeysWithValues: (0..<small).map { ("k\($0)", Shape.named("x", $0)) })
    case 30: return Dictionary(uniqueKeysWithValues: (0..<small).map { ($0, [Mood.good: Shape.point]) })
    case 31: return random.isOnce(in: 30) ? Int??.some(nil) as Int?? : Int??.some(small)
    case 32: return random.isOnce(in: 2) ? Dog(name: text(&random)) : Animal(legs: small)
    default: return random.oneOf([Shape.point, .circle(radius: 2), .named("", nil)] as [Shape])
    }
  }

  private enum URLs {
    static let all =
      ["https://example.com/a", "https://example.com/b?q=1#f", "mailto:a@b.c"].compactMap { URL(string: $0) }
      + [URL(string: "c/d", relativeTo: URL(string: "https://example.com/x/"))].compactMap { $0 }
  }
}
