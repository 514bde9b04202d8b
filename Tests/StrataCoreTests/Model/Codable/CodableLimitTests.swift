import Foundation
import StrataTestSupport
import Testing

@testable import StrataCore

/// Codable types at the limits of depth and number of keys, and bytes that would make them expensive to decode.
@Suite("Codable limits")
struct CodableLimitTests {
  /// A chain of containers. The last one is empty.
  struct Chain: Codable {
    enum Link: CaseIterable { case keyed, unkeyed, single, nested }
    enum Key: CodingKey { case next }
    let links: [Link]

    init(_ links: some Collection<Link>) { self.links = Array(links) }

    func encode(to encoder: any Encoder) throws {
      let rest = Chain(links.dropFirst())
      switch links.first {
      case .keyed?:
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(rest, forKey: .next)
      case .unkeyed?:
        var container = encoder.unkeyedContainer()
        try container.encode(rest)
      case .single?:
        var container = encoder.singleValueContainer()
        try container.encode(rest)
      case .nested?:
        var container = encoder.container(keyedBy: Key.self)
        try rest.encode(to: container.superEncoder(forKey: .next))
      case nil: _ = encoder.unkeyedContainer()
      }
    }

    init(from decoder: any Decoder) throws {
      if let container = try? decoder.container(keyedBy: Key.self) {
        links = try [.keyed] + container.decode(Chain.self, forKey: .next).links
      } else {
        var container = try decoder.unkeyedContainer()
        links = container.isAtEnd ? [] : try [.unkeyed] + container.decode(Chain.self).links
      }
    }
  }

  @Test("Direct coding has the same nesting limit as coding through ArchiveValue", arguments: 508..<518)
  func depth(count: Int) throws {
    let encoder = ArchiveEncoder(compression: .none)
    var random = SeededRandom(seed: UInt64(count))
    let mixed = Chain((0..<count).map { _ in random.oneOf([.keyed, .unkeyed, .nested]) })
    for chain in [
      Chain(repeatElement(.keyed, count: count)), Chain(repeatElement(.unkeyed, count: count)),
      Chain(repeatElement(.nested, count: count)), Chain(repeatElement(.single, count: count)), mixed,
    ] {
      let found = CodableOutcome { try encoder.encode(chain).base64EncodedString() }
      #expect(found == CodableOutcome { try ValueWay.encode(chain, with: encoder).base64EncodedString() })
      guard case .result = found else { continue }
      let body = try ValueWay.body(of: encoder.encode(chain))
      let read = CodableOutcome { try ValueWay.decodeDirectly(Chain.self, from: body, with: ArchiveDecoder()).links }
      #expect(read == CodableOutcome { try ValueWay.decode(Chain.self, from: body, with: ArchiveDecoder()).links })
      guard case .result = read else {
        Issue.record("\(read)")
        continue
      }
    }
  }

  /// Decodes its keys in an order that differs from the encoded one.
  struct Reader: Decodable {
    var found: [Int?] = []

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: ScriptKey.self)
      var random = SeededRandom(seed: UInt64(container.allKeys.count))
      let keys = container.allKeys.reversed() + container.allKeys.shuffled(using: &random) + ScriptKey.all
      for key in keys { found.append(try container.decodeIfPresent(Int.self, forKey: key)) }
    }
  }

  @Test(
    "Any number of keys can be decoded in any order", .tags(.long),
    arguments: Effort.isLong ? [0, 1, 2, 31, 127, 128, 129, 5000, 10_000] : [0, 1, 2, 31, 127, 128, 129, 500],
    [false, true])
  func keys(count: Int, hasOthers: Bool) throws {
    // This type is Codable but not Archivable, so its keys are looked up as in any other Codable type.
    struct Number: Codable { var value: Int }
    var dictionary = Dictionary(uniqueKeysWithValues: (0..<count).map { ("key \($0)", Number(value: $0)) })
    if hasOthers { dictionary["e\u{301}"] = Number(value: 1) }
    let encoder = ArchiveEncoder(compression: .none)
    let archive = try encoder.encode(dictionary)
    #expect(archive == (try ValueWay.encode(dictionary, with: encoder)))
    #expect(
      try ArchiveDecoder().decode([String: Number].self, from: archive).mapValues(\.value)
        == dictionary.mapValues(\.value))
    let numbers = try encoder.encode(dictionary.mapValues(\.value))
    let body = try ValueWay.body(of: numbers)
    let found = try ValueWay.decodeDirectly(Reader.self, from: body, with: ArchiveDecoder()).found
    #expect(found == (try ValueWay.decode(Reader.self, from: body, with: ArchiveDecoder()).found))
    #expect(found.count(where: { $0 != nil }) >= 2 * count)
  }

  @Test("A repeated long string is written each time, the same as through ArchiveValue", .tags(.long))
  func sharedTexts() throws {
    struct Line: Codable { var text: String }
    // The texts are too long to be written as references to each other. In the long test, they are large enough in total that the limit
    // for repeated shared parts applies.
    let lines = Array(
      repeating: Line(text: String(repeating: "long ", count: 30_000)), count: Effort.rounds(20, long: 600))
    let encoder = ArchiveEncoder(compression: .none)
    #expect(try encoder.encode(lines) == ValueWay.encode(lines, with: encoder))
    var limited = encoder
    limited.limits.outputSize = 1 << 20
    let found = CodableOutcome { try limited.encode(lines).count }
    #expect(found == CodableOutcome { try ValueWay.encode(lines, with: limited).count })
    guard case .failure = found else {
      Issue.record("3 MB or more are within a limit of one")
      return
    }
  }

  /// Tries to decode several types at each level.
  indirect enum Guess: Decodable {
    case numbers([String: Int])
    case texts([String])
    case model(ScriptValue.Place)
    case list([Guess])
    case other

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let numbers = try? container.decode([String: Int].self) {
        self = .numbers(numbers)
      } else if let texts = try? container.decode([String].self) {
        self = .texts(texts)
      } else if let model = try? container.decode(ScriptValue.Place.self) {
        self = .model(model)
      } else if let list = try? container.decode([Guess].self) {
        self = .list(list)
      } else {
        self = .other
      }
    }
  }

  @Test("X-33: decoding a type that tries several other types at each level takes linear work", .tags(.long))
  func guesses() async {
    await #expect(processExitsWith: .success) {
      Child.limit()
      var body = HostileBody()
      for _ in 0..<500 { body.array(1) }
      let count = Effort.rounds(25_000, long: 250_000)
      body.array(count)
      for _ in 0..<count { body.map(0) }
      let found = try ValueWay.decodeDirectly(Guess.self, from: body.bytes, with: ArchiveDecoder())
      guard case .list = found else { throw CodableScript.Refusal() }
    }
  }
}
