import Foundation
import StrataTestSupport
import Testing

@testable import StrataCore

/// Compares the coder for Codable types with a simpler one.
@Suite("Codable: direct coding agrees with coding through ArchiveValue")
struct CodablePathsAgreeTests {
  private static let encoder = ArchiveEncoder(compression: .none)

  private static func outcome(_ work: () throws -> Data) -> CodableOutcome {
    CodableOutcome(work) { $0.map { String($0, radix: 16) }.joined(separator: " ") }
  }

  @Test(
    "Encoding a Codable type gives the same bytes or error on both paths (X-4)", .tags(.long),
    arguments: 0..<Effort.rounds(1, long: 5))
  func bytes(round: Int) throws {
    var random = SeededRandom(seed: UInt64(round))
    var encoded = 0
    let rounds = Effort.rounds(200, long: 250)
    for _ in 0..<rounds {
      let script = CodableScript(seed: random.next())
      var encoder = Self.encoder
      if random.isOnce(in: 8) { encoder.limits.depth = 1 + random.below(4) }
      if random.isOnce(in: 16) { encoder.limits.count = random.below(4) }
      if random.isOnce(in: 16) { encoder.limits.stringLength = random.below(12) }
      let found = Self.outcome { try encoder.encode(script) }
      #expect(found == Self.outcome { try ValueWay.encode(script, with: encoder) }, "script \(script.seed)")
      #expect(
        CodableOutcome { try ValueCoding.value(of: script) } == CodableOutcome { try ValueWay.value(of: script) },
        "script \(script.seed)")
      if case .result = found { encoded += 1 }
    }
    #expect(encoded > rounds * 3 / 5)
  }

  /// Returns the log of a probe that decodes the body.
  private static func notes(
    _ body: [UInt8], _ seed: UInt64, _ decoder: ArchiveDecoder,
    _ decode: (CodableProbe.Type, [UInt8], ArchiveDecoder) throws -> CodableProbe
  ) -> CodableOutcome {
    CodableProbe.$dice.withValue(CodableProbe.Dice(seed: seed)) {
      CodableOutcome { try decode(CodableProbe.self, body, decoder).notes }
    }
  }

  private static func expectSameNotes(_ body: [UInt8], _ seed: UInt64, _ decoder: ArchiveDecoder = ArchiveDecoder()) {
    let found = notes(body, seed, decoder, ValueWay.decodeDirectly)
    let expected = notes(body, seed, decoder, ValueWay.decode)
    #expect(found == expected, "seed \(seed) of \(body.map { String($0, radix: 16) }.joined(separator: " "))")
  }

  @Test(
    "Decoding a Codable type gives the same values and errors on both paths", .tags(.long),
    arguments: 0..<Effort.rounds(1, long: 5))
  func decoding(round: Int) throws {
    var random = SeededRandom(seed: UInt64(1000 + round))
    var read = 0
    let rounds = Effort.rounds(100, long: 250)
    for _ in 0..<rounds {
      guard let archive = try? Self.encoder.encode(CodableScript(seed: random.next())) else { continue }
      var decoder = ArchiveDecoder()
      if random.isOnce(in: 8) { decoder.limits.depth = 1 + random.below(4) }
      if random.isOnce(in: 16) { decoder.limits.values = random.below(40) }
      Self.expectSameNotes(try ValueWay.body(of: archive), random.next(), decoder)
      read += 1
    }
    #expect(read > rounds * 3 / 5)
  }

  @Test(
    "Damaged bodies give the same errors on both paths and never trap (X-7)", .tags(.long),
    arguments: 0..<Effort.rounds(1, long: 5)
  )
  func damage(round: Int) throws {
    var random = SeededRandom(seed: UInt64(2000 + round))
    var changed = 0
    while changed < Effort.rounds(400, long: 1200) {
      guard let archive = try? Self.encoder.encode(CodableScript(seed: random.next())) else { continue }
      let body = try ValueWay.body(of: archive)
      for _ in 0..<20 {
        var damaged = body
        for _ in 0...random.below(3) { Self.change(&damaged, &random) }
        Self.expectSameNotes(damaged, random.next())
        changed += 1
      }
    }
  }

  /// A model with a Codable field between two other fields. The texts of all three fields refer to each other in an archive.
  struct Album: VersionedModel, Equatable {
    struct Track: Codable, Equatable, Sendable {
      var title: String
      var artist: String
      var notes: [String: Size] = [:]
    }
    var artists: [String]
    var tracks: [Track]
    var titles: [String]

    init(artists: [String], tracks: [Track], titles: [String]) {
      self.artists = artists
      self.tracks = tracks
      self.titles = titles
    }

    static let schema = ModelSchema(
      Album.self, name: "Album", version: 1,
      fields: [
        FieldInfo("artists", [String].self), FieldInfo("tracks", [Track].self), FieldInfo("titles", [String].self),
      ])

    init(fields reader: inout ArchiveReader) throws {
      artists = try reader.field(0)
      tracks = try reader.field(1)
      titles = try reader.field(2)
    }

    func encodeFields(to writer: inout ArchiveWriter) throws {
      try writer.field(0, artists)
      try writer.field(1, tracks)
      try writer.field(2, titles)
    }
  }

  @Test(
    "A Codable field and the fields around it share one string table", .tags(.long),
    arguments: 0..<Effort.rounds(8, long: 40))
  func fields(round: Int) throws {
    var random = SeededRandom(seed: UInt64(3000 + round))
    let texts = (0..<30).map { "text number \($0)" } + ["title", "artist", "notes", "width", "a", ""]
    func some(_ most: Int) -> [String] { (0..<random.below(most)).map { _ in random.oneOf(texts) } }
    let album = Album(
      artists: some(60),
      tracks: some(20).map { title in
        let notes = some(4).map { ($0, Size(width: random.below(9), height: 1, note: random.oneOf(texts))) }
        return .init(title: title, artist: random.oneOf(texts), notes: Dictionary(notes) { $1 })
      }, titles: some(60))
    let encoder = ArchiveEncoder(compression: .none)
    let albums = [album, album]
    let archive = try encoder.encode(albums)
    #expect(try ArchiveDecoder().decode([Album].self, from: archive) == albums)
    let read = try ArchiveDecoder().decodeStampedValue(from: archive)
    #expect(try encoder.encode(asRead: read.value, stamp: read.stamp) == archive)
    let tracks = ArchiveValue.array(try album.tracks.map { try ValueWay.value(of: $0) })
    #expect(read.value.arrayValue?.first?["tracks"] == tracks)
  }

  private static func change(_ body: inout [UInt8], _ random: inout SeededRandom) {
    guard body.count > 4 else { return }
    let place = 3 + random.below(body.count - 3)
    switch random.below(5) {
    case 0: body.remove(at: place)
    case 1: body.insert(random.oneOf([0x60, 0xA1, 0x81, 0xF6, 0xD8, 0x19, 0xC1, 0xD9, 0xFB, 0x00]), at: place)
    case 2: body[place] ^= 1 << UInt8(random.below(8))
    case 3: body[place] = UInt8(truncatingIfNeeded: random.next())
    default:
      let piece = Array(body[place..<min(body.count, place + random.below(12))])
      body.insert(contentsOf: piece, at: 3 + random.below(body.count - 3))
    }
  }
}
