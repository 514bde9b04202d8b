import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("Damage")
struct DamageTests {
  static let people = [MigrationTests.new, MigrationTests.new]

  static func small() throws -> [(name: String, data: Data)] {
    [
      ("people", try ArchiveEncoder().encode(people)),
      ("stored", try ArchiveEncoder(compression: .none).encode(people)),
      ("payment", try ArchiveEncoder().encode(Payment.split(.cash, .card(number: "4111", expiry: .distantPast)))),
      ("old", try ArchiveEncoder().encode(MigrationTests.old)),
    ]
  }

  @Test("X-7: every truncation throws an error")
  func truncations() throws {
    for (name, data) in try Self.small() {
      for length in 0..<data.count {
        let cut = Data(data.prefix(length))
        #expect(throws: ArchiveError.self, "\(name) cut to \(length)") { try ArchiveDecoder().decodeValue(from: cut) }
        #expect(throws: ArchiveError.self, "\(name) cut to \(length)") {
          try ArchiveDecoder().decode([Person].self, from: cut)
        }
      }
    }
  }

  @Test("Every single-bit flip throws an error or leaves the value unchanged")
  func flips() throws {
    for (name, data) in try Self.small() {
      let value = try ArchiveDecoder().decodeValue(from: data)
      var refused = 0
      for bit in 0..<data.count * 8 {
        var flipped = data
        flipped[bit / 8] ^= 1 << (bit % 8)
        do {
          #expect(try ArchiveDecoder().decodeValue(from: flipped) == value, "bit \(bit) of \(name)")
        } catch is ArchiveError { refused += 1 }
      }
      // A flip goes unnoticed only in the few unused bits of the header.
      #expect(refused > data.count * 7, "\(name): \(refused) of \(data.count * 8)")
    }
  }

  @Test("Changing any byte of the body throws an error or returns a value, but never traps", .tags(.long))
  func bodies() throws {
    let body = try ArchiveEncoder().encodeBody(Self.people)
    var accepted = 0
    for place in body.indices {
      for byte in Effort.sample(16, of: UInt8.min ... .max) where byte != body[place] {
        var changed = body
        changed[place] = byte
        if (try? ArchiveDecoder().decodeBody([Person].self, from: changed)) != nil { accepted += 1 }
        _ = try? ArchiveDecoder().decodeBody(ArchiveValue.self, from: changed)
      }
    }
    #expect(accepted > 0, "some changes only change a value")
  }

  @Test("Decoding random bodies neither traps nor hangs", arguments: [UInt64.random(in: .min ... .max)])
  func random(seed: UInt64) {
    print("seed: \(seed)")
    var random = SeededRandom(seed: seed)
    for _ in 0..<5000 {
      var body = Data([0xD9, 1, 0])
      for _ in 0..<random.below(64) { body.append(UInt8(truncatingIfNeeded: random.next())) }
      _ = try? ArchiveDecoder().decodeBody(ArchiveValue.self, from: body)
      _ = try? ArchiveDecoder().decodeBody(Everything.self, from: body)
    }
  }

  @Test(
    "X-7: malformed bodies are rejected, for example a declared count without enough bytes",
    arguments: [
      [0x9B, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x9A, 0xFF, 0xFF, 0xFF, 0xFF],
      [0xBB, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x7B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
      [0x5B, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x9F, 0xFF], [0xD8, 0x19, 0x00],
      [0xD9, 0xE0, 0x00, 0x80],
      [0xD8, 0x1C, 0x80], [0x62, 0xC3, 0x28], [0xA2, 0x61, 0x61, 0x01, 0x61, 0x61, 0x02], [0xF7], [0xF9, 0, 0],
      [0x01, 0x01],
    ] as [[UInt8]])
  func claims(bytes: [UInt8]) {
    #expect(throws: ArchiveError.self) {
      try ArchiveDecoder().decodeBody(ArchiveValue.self, from: Data([0xD9, 1, 0] + bytes))
    }
  }

  @Test(
    "X-7: 100,000 nested levels throw limitExceeded without overflowing the stack",
    arguments: [[0x81], [0xA1, 0x61, 0x61], [0xD9, 1, 2, 0x81]] as [[UInt8]])
  func deep(unit: [UInt8]) {
    let body = Data([0xD9, 1, 0] + (0..<100_000).flatMap { _ in unit } + [0x80])
    let error = #expect(throws: ArchiveError.self) { try ArchiveDecoder().decodeBody(ArchiveValue.self, from: body) }
    #expect(error?.code == .limitExceeded)
  }

  @Test("X-7: the error names the exceeded limit")
  func limits() throws {
    let data = try ArchiveEncoder().encode(
      ArchiveValue.array([.string(String(repeating: "a", count: 1000)), .array([1, 2, 3])]))
    func error(_ change: (inout ArchiveLimits) -> Void) -> ArchiveLimits.Limit? {
      var limits = ArchiveLimits()
      change(&limits)
      let error = #expect(throws: ArchiveError.self) { try ArchiveDecoder(limits: limits).decodeValue(from: data) }
      #expect(error?.code == .limitExceeded)
      return error?.limit
    }
    #expect(error { $0.depth = 1 } == .depth)
    #expect(error { $0.count = 2 } == .count)
    #expect(error { $0.stringLength = 999 } == .stringLength)
    #expect(error { $0.inflatedSize = 1000 } == .inflatedSize)
  }

  @Test(
    "Data that is not an archive throws notAnArchive or truncated, not damaged",
    arguments: ["", "{}", "\u{1F}\u{8B}", "bplist00"])
  func other(text: String) {
    let error = #expect(throws: ArchiveError.self) { try ArchiveDecoder().decodeValue(from: Data(text.utf8)) }
    #expect(error?.code == .notAnArchive || error?.code == .truncated)
  }
}
