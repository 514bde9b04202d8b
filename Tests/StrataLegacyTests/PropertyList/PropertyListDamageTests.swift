import Foundation
import StrataCore
import StrataLegacy
import StrataTestSupport
import Testing

private let small = """
  <plist version="1.0"><dict><key>a&amp;</key><array><integer>-1</integer><real>1.5</real><data>AQID</data></array>\
  <key>b</key><date>2001-01-01T00:00:00Z</date></dict></plist>
  """

/// A binary property list with the given bytes, table and trailer.
private func binary(
  _ objects: [UInt8], offsets: [UInt8], offsetSize: UInt8 = 1, referenceSize: UInt8 = 1, count: UInt64? = nil,
  root: UInt64 = 0, table: UInt64? = nil
) -> Data {
  var data = Data("bplist00".utf8) + objects
  let place = UInt64(data.count)
  data += offsets
  data += [0, 0, 0, 0, 0, 0, offsetSize, referenceSize]
  for number in [count ?? UInt64(offsets.count / max(1, Int(offsetSize))), root, table ?? place] {
    data += (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> UInt64($0 * 8)) }
  }
  return data
}

private func code(_ data: Data, _ reader: PropertyListReader = PropertyListReader()) -> ArchiveError.Code? {
  do {
    _ = try reader.readValue(data)
    return nil
  } catch {
    return (error as? ArchiveError)?.code
  }
}

@Suite("Property lists: damage")
struct PropertyListDamageTests {
  static func fixtures() throws -> [Data] {
    [try PropertyListWriter().write(propertyListOfEverything), Data(small.utf8)]
  }

  @Test("X-7: every truncation throws")
  func truncations() throws {
    for data in try Self.fixtures() {
      _ = try PropertyListReader().read(data)
      for length in 0..<data.count {
        let error = #expect(throws: ArchiveError.self) { try PropertyListReader().read(Data(data.prefix(length))) }
        #expect([.truncated, .damaged, .notAnArchive].contains(error?.code), "\(length)")
      }
    }
  }

  @Test("Every single-bit flip throws or gives a list that round-trips")
  func flips() throws {
    for data in try Self.fixtures() {
      var read = 0
      for bit in 0..<data.count * 8 {
        var flipped = data
        flipped[bit / 8] ^= 1 << (bit % 8)
        do {
          let list = try PropertyListReader().read(flipped)
          read += 1
          let written = try PropertyListWriter().write(list)
          // The written bytes are compared instead of the tables, because NaN isn't equal to itself.
          #expect(try PropertyListWriter().write(PropertyListReader().read(written)) == written)
          _ = try? PropertyListReader().value(of: list)
        } catch let error as ArchiveError {
          #expect([.truncated, .damaged, .notAnArchive, .limitExceeded].contains(error.code))
          #expect(error.byteOffset.map { 0...data.count ~= $0 } == true, "\(error)")
        }
      }
      #expect(read > 0)
    }
  }

  @Test("Random byte changes neither trap nor hang", .tags(.long), arguments: [UInt64.random(in: 0 ... .max)])
  func changes(seed: UInt64) throws {
    print("property lists, changed: seed \(seed)")
    var random = SeededRandom(seed: seed)
    for data in try Self.fixtures() {
      for _ in 0..<Effort.rounds(300, long: 2000) {
        var changed = data
        for _ in 0..<Int.random(in: 1...6, using: &random) {
          changed[Int.random(in: 0..<data.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        _ = try? PropertyListReader().readValue(changed)
      }
    }
  }

  @Test("Unusual integer sizes, ordered sets, fill bytes and UTF-8 strings are read")
  func unusual() throws {
    let odd = binary([0xA1, 0, 0, 1, 0x10, 5], offsets: [0, 0, 8, 0, 0, 12], offsetSize: 3, referenceSize: 3)
    #expect(try PropertyListReader().readValue(odd) == [5])
    let ordered = binary([0xB2, 1, 2, 0x0F, 0x52, 0xC3, 0xA9], offsets: [8, 11, 12])
    #expect(try PropertyListReader().readValue(ordered) == [.null, "é"])
    #expect(try PropertyListReader().readValue(binary([0x82, 1, 0, 0], offsets: [8])) == ["CF$UID": 65536])
  }

  @Test(
    "X-7: lengths, offsets and references out of range throw",
    arguments: [
      // Lengths that are stored in eight bytes and exceed any file.
      binary([0xAF, 0x13, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], offsets: [8]),
      binary([0x4F, 0x13, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], offsets: [8]),
      binary([0x6F, 0x13, 0x80, 0, 0, 0, 0, 0, 0, 0], offsets: [8]),
      binary([0xDF, 0x13, 0x80, 0, 0, 0, 0, 0, 0, 1], offsets: [8]), binary([0xAF, 0x12, 0, 0xFF, 0, 0], offsets: [8]),
      binary([0x5F, 0x10], offsets: [8]), binary([0x5F, 0x14, 0, 0], offsets: [8]), binary([0x54, 65], offsets: [8]),
      // Offsets and numbers out of range.
      binary([0x09], offsets: [7]), binary([0x09], offsets: [9]), binary([0x09], offsets: [255]),
      binary([0xA1, 1], offsets: [8]), binary([0x09], offsets: [8], root: 1), binary([0x09], offsets: [8], count: 0),
      binary([0x09], offsets: [8], count: .max), binary([0x09], offsets: [8], table: .max),
      binary([0x09], offsets: [8], table: 8), binary([0x09], offsets: [8, 8], count: 1),
      binary([0x09], offsets: [8], offsetSize: 0, count: 1), binary([0x09], offsets: [8], offsetSize: 9, count: 1),
      binary([0x09], offsets: [8], referenceSize: 0), binary([0x09], offsets: [8], referenceSize: 200),
      // Markers and contents that the format does not define.
      binary([0x01], offsets: [8]), binary([0x70], offsets: [8]), binary([0xF0], offsets: [8]),
      binary([0x15] + [UInt8](repeating: 0, count: 32), offsets: [8]), binary([0x21, 0, 0], offsets: [8]),
      binary([0x88] + [UInt8](repeating: 0, count: 9), offsets: [8]), binary([0x51, 0xFF], offsets: [8]),
      binary([0x61, 0xD8, 0], offsets: [8]), binary([0x33, 0x7F, 0xF0, 0, 0, 0, 0, 0, 0], offsets: [8]),
      // Cycles, which a value cannot contain.
      binary([0xA1, 0], offsets: [8]), binary([0xA1, 1, 0xD1, 0, 0], offsets: [8, 10]),
    ])
  func hostile(data: Data) {
    #expect([.damaged, .limitExceeded].contains(code(data)))
  }

  @Test("A table may contain cycles")
  func circles() throws {
    let list = try PropertyListReader().read(binary([0xA1, 0], offsets: [8]))
    #expect(list == PropertyList(objects: [.array([0])], root: 0))
  }

  @Test("Overlapping objects that expand far beyond the file size throw")
  func overlap() {
    let many = 10000
    let array = [0xAF, 0x11, UInt8(many >> 8), UInt8(many & 0xFF)] + [UInt8](repeating: 0, count: many)
    let data = binary(array, offsets: [UInt8](repeating: 8, count: many))
    #expect(throws: ArchiveError.self) { try PropertyListReader().read(data) }
    let text = binary(
      [0x5F, 0x11, 0x27, 0x10] + [UInt8](repeating: 65, count: many), offsets: .init(repeating: 8, count: many))
    #expect(code(text) == .damaged)
  }

  @Test("An object with too many shared references throws limitExceeded", .tags(.long), .longRunsOnly)
  func sharing() throws {
    var objects: [PropertyList.Object] = (1...60).map { .array([$0, $0, $0, $0]) }
    objects.append(.string("lol"))
    let list = PropertyList(objects: objects, root: 0)
    let error = #expect(throws: ArchiveError.self) { try PropertyListReader().value(of: list) }
    #expect(error?.code == .limitExceeded && error?.limit == .values)
  }

  @Test("Depth, length and count limits are enforced")
  func limits() throws {
    let deep = PropertyList(objects: (1...100_000).map { .array([$0]) } + [.null], root: 0)
    let data = try PropertyListWriter().write(deep)
    #expect(try PropertyListReader().read(data) == deep)
    var reader = PropertyListReader()
    #expect(code(data, reader) == .limitExceeded)
    reader.limits.depth = .max
    #expect(code(data, reader) == .limitExceeded)
    let text = String(repeating: "<array>", count: 100_000)
    #expect(code(Data(text.utf8)) == .limitExceeded)
    reader = PropertyListReader()
    reader.limits.stringLength = 3
    #expect(code(binary([0x54, 65, 65, 65, 65], offsets: [8]), reader) == .limitExceeded)
    #expect(code(Data("<string>abcd</string>".utf8), reader) == .limitExceeded)
    reader = PropertyListReader()
    reader.limits.count = 1
    #expect(code(binary([0xA2, 0, 0], offsets: [8]), reader) == .limitExceeded)
    #expect(code(Data("<array><true/><true/></array>".utf8), reader) == .limitExceeded)
  }
}
