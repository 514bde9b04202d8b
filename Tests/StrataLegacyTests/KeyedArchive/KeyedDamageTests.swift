import Foundation
import StrataCore
import StrataLegacy
import StrataTestSupport
import Testing

@Suite("Keyed archives: damage")
struct KeyedDamageTests {
  /// A small archive with records, a cycle, and Foundation values.
  private static let plist = Plist.keyed([
    [
      "$class": .uid(4), "name": .uid(2), "nodes": .uid(3), "when": .uid(6), "parent": .uid(0), "MTLModelVersion": 1,
    ],
    "a", ["$class": .uid(5), "NS.objects": [.uid(1), .uid(8)]], .type("Node", "NSObject"), .type("NSArray", "NSObject"),
    ["$class": .uid(7), "NS.time": 1.5], .type("NSDate"), ["$class": .uid(4), "name": .uid(2), "parent": .uid(1)],
  ])

  private static func archives() throws -> [Data] {
    [try PropertyListWriter().write(plist.table), Data(xml(plist).utf8)]
  }

  private static func xml(_ plist: Plist) -> String {
    switch plist {
    case .plain(.uid(let number)): "<dict><key>CF$UID</key><integer>\(number)</integer></dict>"
    case .plain(.string(let text)): "<string>\(text)</string>"
    case .plain(.integer(let number)): "<integer>\(number)</integer>"
    case .plain(.double(let number)): "<real>\(number)</real>"
    case .plain: "<true/>"
    case .array(let elements): "<array>\(elements.map(xml).joined())</array>"
    case .dictionary(let members): "<dict>\(members.map { "<key>\($0.0)</key>\(xml($0.1))" }.joined())</dict>"
    }
  }

  /// Decodes an archive into models. Returns `false` if the archive is rejected with an `ArchiveError`, and throws any other error.
  private func reads(_ data: Data) throws -> Bool {
    do {
      let archive = try KeyedArchive(data)
      let bytes = try ArchiveEncoder().encode(archive.graph, typeName: "T", modelVersion: nil)
      guard case .graph = try ArchiveDecoder().decodeValue(from: bytes) else {
        throw TrialFailure("a graph comes back as another value")
      }
      _ = try? ArchiveDecoder().decode([String: ArchiveValue].self, fromKeyed: archive)
      let node = try ArchiveDecoder().decode(LegacyNode.self, fromKeyed: archive)
      node.nodes = []
      return true
    } catch is ArchiveError { return false }
  }

  @Test("X-7: every truncation throws")
  func truncations() throws {
    for data in try Self.archives() {
      #expect(try reads(data))
      for length in 0..<data.count { #expect(try !reads(data.prefix(length)), "\(length) of \(data.count)") }
    }
  }

  @Test("X-7: every single-bit flip throws or gives models", .tags(.long))
  func flips() throws {
    for data in try Self.archives() {
      var refused = 0
      let bits = Effort.sample(600, of: 0..<data.count * 8)
      for bit in bits {
        var flipped = data
        flipped[bit / 8] ^= 1 << (bit % 8)
        if try !reads(flipped) { refused += 1 }
      }
      #expect(refused * 8 > bits.count && refused < bits.count)
    }
  }

  @Test("X-7: random byte changes neither trap nor hang", .tags(.long), arguments: [UInt64.random(in: 0 ... .max)])
  func changes(seed: UInt64) throws {
    print("keyed archives, changed: seed \(seed)")
    var random = SeededRandom(seed: seed)
    for data in try Self.archives() {
      for _ in 0..<Effort.rounds(200, long: 1000) {
        var changed = data
        for _ in 0..<Int.random(in: 1...6, using: &random) {
          changed[Int.random(in: 0..<data.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        _ = try reads(changed)
      }
    }
  }

  @Test("X-7: empty dictionaries, deep nesting and shared arrays respect the limits")
  func many() throws {
    let empty = Plist.keyed([.array(.init(repeating: .dictionary([]), count: 50_000))])
    #expect(try KeyedArchive(empty.table).graph.root.arrayValue?.count == 50_000)

    var nested: [Plist] = (2...3000).map { .array([.uid(UInt64($0))]) }
    nested.append("end")
    #expect(archiveError { _ = try KeyedArchive(Plist.keyed(nested).table) }?.limit == .depth)

    var shared: [Plist] = (2...40).map { .array(.init(repeating: .uid(UInt64($0)), count: 8)) }
    shared.append("end")
    #expect(archiveError { _ = try KeyedArchive(Plist.keyed(shared).table) }?.limit == .values)

    // Records may be nested to any depth, and models are decoded from them without recursion.
    var list: [Plist] = (2...20_000).map { ["$class": .uid(20_002), "name": "n", "nodes": [.uid(UInt64($0))]] }
    list += [["$class": .uid(20_002), "name": "n"], .plain(.null), .type("Node")]
    let node = try ArchiveDecoder().decode(LegacyNode.self, fromKeyed: KeyedArchive(Plist.keyed(list).table))
    var length = 1
    var rest = node
    while let next = rest.nodes.first {
      rest.nodes = []
      rest = next
      length += 1
    }
    #expect(length == 20_000)
  }

  @Test("X-7: XML entities that expand exponentially are rejected")
  func entities() {
    let bomb = """
      <?xml version="1.0"?><!DOCTYPE plist [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
      <!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><plist><string>&c;</string></plist>
      """
    #expect(archiveError { _ = try PropertyListReader().read(Data(bomb.utf8)) }?.code == .damaged)
    let unknown = "<plist><string>&c;</string></plist>"
    #expect(archiveError { _ = try PropertyListReader().read(Data(unknown.utf8)) }?.code == .damaged)
  }
}
