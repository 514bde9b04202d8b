import Foundation
import StrataCore
import StrataLegacy
import StrataTestSupport
import Testing

@Suite("Keyed archives nested in data")
struct NestedArchiveTests {
  private static func data(_ objects: Plist..., top: Plist = ["root": .uid(1)]) throws -> Data {
    try PropertyListWriter().write(Plist.keyed(objects, top: top).table)
  }

  private static func plist(_ data: Data) -> Plist { .plain(.data(data)) }

  /// Nests archives to the given number of levels.
  private static func onion(_ levels: Int) throws -> Data {
    var data = try data("core")
    for _ in 0..<levels {
      data = try self.data(["$class": .uid(3), "NS.objects": [.uid(2)]], plist(data), .type("NSArray"))
    }
    return data
  }

  private static var user: [Plist] {
    [
      ["$class": .uid(2), "MTLModelVersion": 1, "count": 5, "friend": .uid(3)], .type("MTLTestModel", "NSObject"),
      ["$class": .uid(2), "MTLModelVersion": 1, "count": 6],
    ]
  }

  @Test("Data stays data unless nested archives are opened, which adds their objects to the same graph")
  func opened() throws {
    let inner = try PropertyListWriter().write(Plist.keyed(Self.user).table)
    let outer = try Self.data(
      ["$class": .uid(3), "id": 1, "payload": .uid(2), "again": .uid(2), "own": Self.plist(inner)], Self.plist(inner),
      .type("Box"))
    #expect(try KeyedArchive(outer).graph.objects[0]["payload"] == .data(inner))
    let archive = try KeyedArchive(outer, opensNested: true)
    let box = try #require(archive.graph.objects.first)
    // References to the same data object share the objects of its archive. Another data object has its own, even if its bytes are the same.
    #expect(box["payload"] == .reference(1) && box["again"] == .reference(1) && box["own"] == .reference(3))
    #expect(archive.graph.objects.count == 5)
    #expect(archive.graph.objects[1]["friend"] == .reference(2))
    #expect(archive.graph.objects[3]["friend"] == .reference(4))
    #expect(archive.classChain(of: "MTLTestModel") == ["MTLTestModel", "NSObject"])
    // When it is written again, the nested archive keeps its place.
    let again = try KeyedArchive(archive.data())
    #expect(again.graph == archive.graph)
  }

  @Test("A nested archive in an NSData object is opened", arguments: ["NS.data", "NS.bytes"])
  func dataObjects(_ key: String) throws {
    let inner = try Self.onion(1)
    func outer(_ data: Data) throws -> Data {
      try Self.data(.dictionary([("$class", .uid(2)), (key, Self.plist(data))]), .type("NSMutableData", "NSData"))
    }
    #expect(try KeyedArchive(outer(inner)).graph.root == .data(inner))
    #expect(try KeyedArchive(outer(inner), opensNested: true).graph.root == ["core"])
    #expect(try KeyedArchive(outer(Data([1])), opensNested: true).graph.root == .data(Data([1])))
  }

  @Test("Models are decoded from nested data")
  func models() throws {
    let inner = try PropertyListWriter().write(Plist.keyed(Self.user).table)
    let outer = try Self.data(["$class": .uid(2), "MTLModelVersion": 3, "lead": Self.plist(inner)], .type("Team"))
    let archive = try KeyedArchive(outer, opensNested: true)
    #expect(try ArchiveDecoder().decode(fromKeyed: archive) == LegacyTeam(lead: LegacyUser(count: 5), members: []))
    let error = archiveError { _ = try ArchiveDecoder().decode(LegacyTeam.self, fromKeyed: KeyedArchive(outer)) }
    #expect(error?.code == .typeMismatch)
  }

  @Test("Nested XML archives, other top keys and an archive at the root are opened")
  func forms() throws {
    let xml = Data(
      """
      <?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict><key>$archiver</key><string>A</string>
      <key>$version</key><integer>100000</integer><key>$objects</key><array><string>$null</string><string>x</string></array>
      <key>$top</key><dict><key>a</key><dict><key>CF$UID</key><integer>1</integer></dict></dict></dict></plist>
      """.utf8)
    #expect(try KeyedArchive(Self.data(Self.plist(xml)), opensNested: true).graph.root == ["a": "x"])
  }

  @Test("Data that contains text, plain property lists or other XML stays data")
  func other() throws {
    for bytes in [
      Data(), Data("bplist".utf8), Data("<html></html>".utf8), Data([0xFF, 0xD8]),
      try PropertyListWriter().write((["a": 1] as Plist).table), Data("<plist><dict/></plist>".utf8),
    ] {
      #expect(try KeyedArchive(Self.data(Self.plist(bytes)), opensNested: true).graph.root == .data(bytes))
    }
  }

  @Test("Damage in a nested archive throws an error with its path")
  func damage() throws {
    let broken = try Self.data(["$class": .uid(2), "a": .uid(9)], .type("T"))
    let outer = try Self.data(["$class": .uid(2), "payload": Self.plist(broken)], .type("Box"))
    let error = archiveError { _ = try KeyedArchive(outer, opensNested: true) }
    #expect(error?.code == .damaged)
    #expect(error?.pathDescription == "root.payload.root.a")
    let cut = try Self.data(Self.plist(broken.dropLast(40)))
    let code = archiveError { _ = try KeyedArchive(cut, opensNested: true) }?.code
    #expect(code == .damaged || code == .truncated)
    #expect(throws: Never.self) { try KeyedArchive(cut) }
  }

  @Test("Nested archives are opened up to 8 levels deep, and deeper ones stay data", arguments: [0, 1, 7, 8, 9, 20])
  func levels(_ levels: Int) throws {
    var value = try KeyedArchive(Self.onion(levels), opensNested: true).graph.root
    var depth = 0
    while case .array(let elements) = value {
      value = try #require(elements.first)
      depth += 1
    }
    #expect(depth == min(levels, 9))
    if levels <= 8 { #expect(value == "core") } else { #expect(value.kind == "data") }
  }

  @Test("The depth of plain values is counted across nested archives", arguments: [5, 6])
  func depth(_ limit: Int) throws {
    var limits = ArchiveLimits()
    limits.depth = limit
    let data = try Self.onion(6)
    let error = archiveError { _ = try KeyedArchive(data, limits: limits, opensNested: true) }
    #expect(error?.limit == (limit == 5 ? .depth : nil))
    #expect((error == nil) == (limit == 6))
  }

  @Test("The values of all nested archives count toward one limit")
  func laughs() throws {
    var objects: [Plist] = (1...18).map { ["$class": .uid(20), "NS.objects": [.uid($0 + 1), .uid($0 + 1)]] }
    objects += ["ha", .type("NSArray", "NSObject")]
    let inner = try PropertyListWriter().write(Plist.keyed(objects).table)
    #expect(throws: Never.self) { try KeyedArchive(inner) }
    // The copies are separate data objects, so the values of each copy are counted.
    let outer = try PropertyListWriter().write(
      Plist.keyed([
        ["$class": .uid(2), "NS.objects": .array((0..<40).map { _ in Self.plist(inner) })], .type("NSArray"),
      ])
      .table)
    #expect(archiveError { _ = try KeyedArchive(outer, opensNested: true) }?.limit == .values)
  }

  @Test("Nested archives with overlapping objects cannot exceed the inflated size", arguments: [1, 2, 3])
  func bytes(_ copies: Int) throws {
    // Each archive contains the next one several times, in overlapping objects.
    var data = try Self.data(Self.plist(Data(count: 1000)))
    for _ in 0..<5 {
      let uids = (0..<copies).map { Plist.uid(UInt64($0 + 3)) }
      let objects = [["$class": .uid(2), "NS.objects": .array(uids)], .type("NSArray"), Self.plist(data)]
      let table = Plist.keyed(objects + (1..<copies).map { _ in Self.plist(Data()) }).table
      data = try Self.overlaid(PropertyListWriter().write(table), table)
    }
    let error = archiveError { _ = try KeyedArchive(data, opensNested: true) }
    #expect(error?.limit == (copies == 1 ? nil : .inflatedSize))
    #expect((error == nil) == (copies == 1))
  }

  /// A property list whose empty data objects overlap its first data object.
  private static func overlaid(_ data: Data, _ table: PropertyList) -> Data {
    var bytes = [UInt8](data)
    let size = Int(bytes[bytes.count - 26])
    let start = bytes.suffix(4).reduce(0) { $0 << 8 | Int($1) }
    var first: ArraySlice<UInt8>?
    for (number, object) in table.objects.enumerated() {
      guard case .data(let content) = object else { continue }
      let place = start + number * size
      if content.isEmpty, let first { bytes.replaceSubrange(place..<place + size, with: first) }
      if !content.isEmpty { first = bytes[place..<place + size] }
    }
    return Data(bytes)
  }
}
