import Foundation
import Strata
import StrataCore
import StrataTestSupport
import Testing

@Model(version: 3)
private struct Berth: Equatable {
  var id = 1
  var name = "name"
  var harbourOfRegistration: String? = "harbourOfRegistration"
  var marks: [String] = ["id", "name", "draught", "Berth@3"]
  var draught = 1.5
}

@Model(version: 1)
private struct Pier: Equatable {
  var name = "draught"
  var title = "harbourOfRegistration"
  var berths: [Berth] = [Berth(), Berth(id: 2, name: "x")]
  var spare: Berth?
}

@Suite("Record definitions that match the current schema")
struct LeadingDefinitionTests {
  private static let decoder = ArchiveDecoder()

  /// Decodes a body as an untyped value first, so that the parser reads every definition.
  private static func parsed<T: Archivable>(_ type: T.Type, _ body: [UInt8]) throws -> T {
    let context = DecodingContext()
    var reader = ArchiveReader(body.bytes, context: context)
    try reader.beginBody()
    let value = try reader.readValue()
    try reader.endBody()
    return try T.decode(from: value, in: context)
  }

  private static func replacing(_ old: [UInt8], with new: [UInt8], in body: [UInt8]) throws -> [UInt8] {
    let place = try #require((0...(body.count - old.count)).first { Array(body[$0..<$0 + old.count]) == old })
    return Array(body[..<place]) + new + Array(body[(place + old.count)...])
  }

  private static func text(_ text: String) -> [UInt8] { [0x60 + UInt8(text.utf8.count)] + Array(text.utf8) }

  @Test("Bodies with references to keys decode the same on the fast path and with the parser")
  func references() throws {
    for pier in [
      Pier(), Pier(name: "berths", berths: [], spare: Berth()), Pier(berths: Array(repeating: Berth(), count: 30)),
    ] {
      let body = try ArchiveEncoder().encodeBody(pier)
      #expect(try Self.decoder.decodeBody(Pier.self, from: body) == pier)
      #expect(try Self.parsed(Pier.self, Array(body)) == pier)
      #expect(
        try Self.decoder.decodeBody([Pier].self, from: ArchiveEncoder().encodeBody([pier, pier])) == [pier, pier])
    }
  }

  @Test("A definition in another encoding, or of another shape, decodes the same as with the parser")
  func otherForms() throws {
    // No later record refers to this definition by its mark, so the bytes of the mark may differ.
    let berth = Berth(marks: ["id", "name", "draught"])
    let body = Array(try ArchiveEncoder().encodeBody(berth))
    let others = [
      try Self.replacing([0x19, 0xE0, 0x00], with: [0x19, 0xE0, 0xFF], in: body),
      try Self.replacing([0x19, 0xE0, 0x00], with: [0x1A, 0, 0, 0xE0, 0x00], in: body),
      try Self.replacing([0xD9, 0xDF, 0xFF, 0x87], with: [0xD9, 0xDF, 0xFF, 0x98, 7], in: body),
      try Self.replacing([0x86] + Self.text("id"), with: [0x98, 6] + Self.text("id"), in: body),
      try Self.replacing(Self.text("draught"), with: [0x78, 7] + Array("draught".utf8), in: body),
      try Self.replacing(Self.text("Berth@3"), with: Self.text("Berth@03"), in: body),
    ]
    for other in others {
      #expect(try Self.decoder.decodeBody(Berth.self, from: Data(other)) == berth)
      #expect(try Self.parsed(Berth.self, other) == berth)
    }
    // Changes one byte, first in each key and then in the version.
    for (key, name) in zip(["id", "name", "draught", "Berth@3"], ["ie", "nome", "draughs", "Berth@2"]) {
      let other = try Self.replacing(Self.text(key), with: Self.text(name), in: body)
      let isRead = (try? Self.decoder.decodeBody(Berth.self, from: Data(other))) != nil
      let isParsed = (try? Self.parsed(Berth.self, other)) != nil
      #expect(isRead == isParsed)
    }
    for end in 0..<body.count {
      archiveError(end < 3 ? .damaged : .truncated) {
        _ = try Self.decoder.decodeBody(Berth.self, from: Data(body[..<end]))
      }
    }
  }

  @Test("A duplicate key in a definition throws damaged")
  func keyTwice() throws {
    let body = try Self.replacing(
      Self.text("name"), with: Self.text("id"), in: Array(ArchiveEncoder().encodeBody(Berth())))
    archiveError(.damaged) { _ = try Self.decoder.decodeBody(Berth.self, from: Data(body)) }
  }

  @Test("mayHoldReference detects a reference in every encoding, at every offset and next to every byte")
  func encodingsOfReferences() {
    let heads: [[UInt8]] = [[0xD8], [0xD9, 0], [0xDA, 0, 0, 0], [0xDB, 0, 0, 0, 0, 0, 0, 0]]
    for head in heads {
      for place in 0..<20 {
        for filling in UInt8.min...UInt8.max {
          for rest in [0, 1, 7, 8, 9] {
            let bytes = Array(repeating: filling, count: place) + head + [25] + Array(repeating: filling, count: rest)
            if !bytes.bytes.mayHoldReference { Issue.record("\(head) at \(place) among \(filling) is not seen") }
          }
        }
      }
    }
    let none: [[UInt8]] = [[], Array(repeating: 25, count: 40), (UInt8.min...UInt8.max).filter { $0 != 25 }]
    for bytes in none where bytes.bytes.mayHoldReference { Issue.record("a reference is seen in \(bytes)") }
  }

  @Test("A body decodes to the same values with or without references", arguments: 0..<40 as Range<UInt64>)
  func withoutReferences(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    // The strings are distinct, except for one duplicate in every other body.
    var texts = (0..<random.below(60)).map { "text \($0) \(random.below(1000))" }
    if seed.isMultiple(of: 2), let first = texts.first { texts.append(first) }
    let uuids = (0..<random.below(4)).map { UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8($0))) }
    let values: ArchiveValue = .array(
      texts.map { .string($0) } + uuids.map { .uuid($0) } + [.url(URL(string: "https://a.example/\(seed)")!)])
    let body = try ArchiveEncoder().encodeBody(values)
    #expect(try Self.decoder.decodeBody(ArchiveValue.self, from: body) == values)
  }
}
