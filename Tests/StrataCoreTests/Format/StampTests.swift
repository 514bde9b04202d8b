import StrataCore
import StrataTestSupport
import Testing

@Suite("Stamps")
struct StampTests {
  private func read(_ extra: [UInt8]) throws -> Stamp { try Stamp(extraField: extra.bytes) }

  @Test("Every field of a stamp round-trips", arguments: Stamp.Kind.allCases, ["", "A", "Größe.Größer<Straße?>"])
  func roundTrip(kind: Stamp.Kind, typeName: String) throws {
    for version in [nil, 0, 1, Int.max] as [Int?] {
      for number in [0, 1, UInt64.max] {
        let stamp = Stamp(
          kind: kind, sequenceNumber: number, typeName: typeName, modelVersion: version,
          fingerprint: ~number, plainSize: number, count: number)
        #expect(try read(stamp.extraField()) == stamp)
      }
    }
  }

  @Test("A newer format version throws newerFormat, whatever follows", arguments: [2, 3, 255] as [UInt8])
  func newer(version: UInt8) throws {
    var extra = try Stamp.sample().extraField()
    extra[4] = version
    for bytes in [extra, [0x53, 0x74, 1, 0, version]] {
      let error = archiveError(.newerFormat) { _ = try read(bytes) }
      #expect(error?.foundVersion == Int(version))
      #expect(error?.supportedVersion == Stamp.currentFormatVersion)
    }
  }

  @Test("Subfields of other programs are skipped")
  func otherSubfields() throws {
    let other: [UInt8] = [0x42, 0x43, 3, 0, 1, 2, 3]
    let stamp = Stamp.sample()
    #expect(try read(other + [0x53, 0x75, 0, 0] + stamp.extraField() + other) == stamp)
    archiveError(.notAnArchive) { _ = try read(other) }
    archiveError(.notAnArchive) { _ = try read([]) }
  }

  @Test("An invalid stamp throws damaged")
  func damage() throws {
    let extra = try Stamp.sample(typeName: "T").extraField()
    for count in 1..<extra.count {
      archiveError(.damaged) { _ = try read(Array(extra.prefix(count))) }
    }
    for size in 0..<42 {
      archiveError(.damaged) { _ = try read([0x53, 0x74, UInt8(size), 0] + extra[4..<4 + size]) }
    }
    func changed(_ place: Int, _ value: UInt8) -> [UInt8] {
      var bytes = extra
      bytes[place] = value
      return bytes
    }
    archiveError(.damaged) { _ = try read(changed(4, 0)) }
    archiveError(.damaged) { _ = try read(changed(5, 3)) }
    archiveError(.damaged) { _ = try read(changed(21, 0x80)) }
    archiveError(.damaged) { _ = try read(changed(46, 0xFF)) }
  }

  @Test("Writing a stamp that could not be read back throws notEncodable")
  func notEncodable() {
    archiveError(.notEncodable) { _ = try Stamp(typeName: "T", modelVersion: -1).extraField() }
    archiveError(.notEncodable) { _ = try Stamp(formatVersion: 2, typeName: "T").extraField() }
  }
}
