import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// Docs/Format.md has rules for readers. This suite tests those that the tests of damage and limits don't cover.
@Suite("Format rules")
struct FormatRuleTests {
  private static func bytes(_ hex: String) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = hex.filter { $0 != " " }[...]
    while let byte = UInt8(rest.prefix(2), radix: 16) {
      bytes.append(byte)
      rest = rest.dropFirst(2)
    }
    return bytes
  }

  private func read(_ hex: String, limits: ArchiveLimits = ArchiveLimits()) throws -> ArchiveValue {
    var file: [UInt8] = []
    try Gzip.appendMember(body: Self.bytes("d90100" + hex).bytes, stamp: Stamp(typeName: "Value"), to: &file)
    return try ArchiveDecoder(limits: limits).decodeValue(from: Data(file))
  }

  // MARK: The stamp (section 3)

  @Test("The extra field consists of complete subfields, exactly one of which is the stamp")
  func subfields() throws {
    let stamp = Stamp.sample()
    let extra = try stamp.extraField()
    let other: [UInt8] = [0x42, 0x43, 2, 0, 1, 2]
    func read(_ extra: [UInt8]) throws -> Stamp { try Stamp(extraField: extra.bytes) }
    #expect(try read(other + extra + other) == stamp)
    archiveError(.damaged) { _ = try read(extra + extra) }
    archiveError(.damaged) { _ = try read(extra + other + extra) }
    for cut in 1..<other.count { archiveError(.damaged) { _ = try read(extra + other.prefix(cut)) } }
    // If the stamp has a newer format version, the reader cannot interpret the rest of the extra field.
    var newer = extra
    newer[4] = 2
    archiveError(.newerFormat) { _ = try read(newer + [0x42]) }
  }

  @Test("The checksum of the header is verified before its format version")
  func checksumFirst() throws {
    var header = try GzipHeader.bytes(for: .sample())
    header[16] = 2
    archiveError(.damaged) { _ = try GzipHeader(at: 0, in: header.bytes, fileOffset: 0) }
    let checked = Array(header.dropLast(2))
    let crc = UInt16(truncatingIfNeeded: Checksum.crc32(of: checked.bytes))
    header.replaceSubrange(header.count - 2..<header.count, with: [UInt8(crc & 0xFF), UInt8(crc >> 8)])
    archiveError(.newerFormat) { _ = try GzipHeader(at: 0, in: header.bytes, fileOffset: 0) }
  }

  @Test("A stamp that counts more models than the body has bytes throws damaged", arguments: [0, 1, 4, 5, UInt64.max])
  func count(count: UInt64) throws {
    let body = Self.bytes("d90100f6")
    var file: [UInt8] = []
    let stamp = Stamp(typeName: "Value", plainSize: 4, count: count)
    try Gzip.appendMember(body: body.bytes, stamp: stamp, to: &file)
    let data = Data(file)
    guard count > 4 else {
      #expect(try ArchiveDecoder().decodeValue(from: data) == .null)
      return
    }
    archiveError(.damaged) { _ = try ArchiveDecoder().decodeValue(from: data) }
    archiveError(.damaged) { _ = try ArchiveDecoder().decode(ArchiveValue.self, from: data) }
    var order = StreamOrder()
    archiveError(.damaged) { try order.accept(stamp) }
  }

  @Test(
    "The array of a stream's member must have a count of four bytes",
    arguments: ["81f6", "9801f6", "9a00000001f6", "f6"])
  func memberCount(hex: String) throws {
    var file: [UInt8] = []
    let body = Self.bytes("d90100" + hex)
    let stamp = Stamp(kind: .member, typeName: "Value", count: 1)
    try Gzip.appendMember(body: body.bytes, stamp: stamp, to: &file)
    let end = Stamp(kind: .end, sequenceNumber: 1, typeName: "Value", plainSize: UInt64(body.count), count: 1)
    try Gzip.appendMember(body: RawSpan(), stamp: end, to: &file)
    let found = try withFolder { folder in
      let url = folder.appending(path: "stream.strata")
      try Data(file).write(to: url)
      return archiveError { try ArchiveSequence(ArchiveValue.self, from: url).results.map { try $0.get() } }
    }
    #expect(found?.code == (hex.hasPrefix("9a") ? nil : .damaged))
  }

  // MARK: Graphs (section 9)

  private static let graph = "d81b83 656772617068"
  private static let later = "d81b82 656c61746572"

  @Test(
    "Tag 29 refers to an earlier object, and \"later\" to the current object or a later one",
    arguments: [
      // Each row has the contents of objects 0 and 1, the root, and whether the graph is valid.
      ("d81d00", "f6", "f6", false), ("d81d01", "f6", "f6", false), ("f6", "d81d00", "d81d01", true),
      ("f6", "d81d01", "f6", false), ("later00", "later01", "d81d00", true), ("later01", "f6", "f6", true),
      ("f6", "later00", "f6", false), ("f6", "f6", "later00", false), ("f6", "f6", "later01", false),
      ("f6", "f6", "d81d02", false),
    ])
  func references(first: String, second: String, root: String, isValid: Bool) throws {
    func reference(_ text: String) -> String { text.replacing("later", with: Self.later) }
    let record = "d9dfff 83 19e000 82 6166 664e6f64654031"
    let body =
      Self.graph + "82 d81c" + record + reference(first) + "d81c d9e00081" + reference(second) + reference(root)
    #expect(archiveError { try read(body) }?.code == (isValid ? nil : .damaged), "\(body)")
    let typed = archiveError {
      try ArchiveDecoder().decodeBody(FormatNode?.self, from: Data(Self.bytes("d90100" + body)))
    }
    #expect(typed?.code == (isValid ? nil : .damaged), "\(typed?.description ?? "")")
  }

  @Test("A graph may occur wherever a value may, except inside another graph")
  func nestedGraphs() throws {
    let graph = Self.graph + "81 d81c a0 d81d00"
    #expect(try read("81" + graph) == .array([.graph(ObjectGraph(objects: [[:]], root: .reference(0)))]))
    let value = ArchiveValue.record(
      ModelRecord(
        typeName: "Box", modelVersion: 1, fields: [("a", .graph(ObjectGraph(objects: [1], root: .reference(0))))]))
    #expect(try ArchiveDecoder().decodeValue(from: ArchiveEncoder().encode(value)) == value)
    archiveError(.damaged) { _ = try read(Self.graph + "81 d81c a0" + graph) }
    archiveError(.damaged) { _ = try read(Self.graph + "81 d81c 81" + graph + "f6") }
  }

  @Test("An object of a graph may be any value except a reference")
  func otherObjects() throws {
    for hex in ["01", "80", "a0", "f6", "63616263"] {
      #expect(try read(Self.graph + "81 d81c" + hex + "d81d00").kind == "graph")
    }
    archiveError(.damaged) { _ = try read(Self.graph + "81 d81c" + Self.later + "00" + "f6") }
    archiveError(.damaged) { _ = try read(Self.graph + "81 01 f6") }
  }

  // MARK: Equal keys and elements (section 12)

  @Test(
    "Keys and elements are duplicates exactly if their canonical encodings are equal",
    arguments: [
      // The first pairs are é in NFC and NFD, 1 in a longer encoding, 1 as a bignum, 1 and 1.0, -1 as a bignum, two NaNs,
      // and 0.0 and -0.0.
      ("62c3a9", "6365cc81", true), ("01", "1801", false), ("01", "c24101", false), ("01", "fb3ff0000000000000", true),
      ("20", "c34100", false), ("fb7ff8000000000000", "fb7ff8000000000000", true),
      ("fb0000000000000000", "fb8000000000000000", true), ("63616263", "63616263", false),
      ("63616263", "d81900", false), ("43616263", "63616263", true), ("c48201 01", "c48200 0a", false),
      ("d9010282 01 02", "d9010282 02 01", false), ("8101", "8101", false), ("c100", "c1fb0000000000000000", false),
    ])
  func equality(one: String, other: String, areDifferent: Bool) throws {
    let expected: ArchiveError.Code? = areDifferent ? nil : .damaged
    #expect(archiveError { try read("d9010282" + one + other) }?.code == expected)
    #expect(archiveError { try read("d9010282" + other.replacing("d81900", with: one) + one) }?.code == expected)
    #expect(archiveError { try read("a2" + one + "f6" + other + "f6") }?.code == expected)
    #expect(archiveError { try read("a3 00 f6" + one + "f6" + other + "f6") }?.code == expected)
  }

  @Test("Keys of a record definition are duplicates only if their bytes are equal")
  func definitionKeys() throws {
    #expect(try read("d9dfff 84 19e000 83 62c3a9 6365cc81 614e 01 02").recordValue?.keys.count == 2)
    archiveError(.damaged) { _ = try read("d9dfff 84 19e000 83 6161 6161 614e 01 02") }
  }

  @Test("Sets and maps are accepted in any order")
  func order() throws {
    #expect(try read("d9010282 02 01").kind == "set")
    #expect(try read("a2 02 f6 01 f6") == .map([.init(key: 2, value: .null), .init(key: 1, value: .null)]))
  }

  // MARK: Levels (section 12)

  @Test(
    "Arrays, sets, maps, records and the object list of a graph each count as a nesting level",
    arguments: [
      ("f6", 0), ("80", 1), ("8180", 2), ("d9010281 80", 2), ("a1 6161 80", 2), ("a0", 1), ("a180f6", 2),
      ("d9dfff 82 19e000 81 614e", 1), ("d9dfff 83 19e000 82 6161 614e 80", 2), ("c482 0001", 0),
      ("d81b82 69446174652e32303031 fb0000000000000000", 0),
      // A graph's array of objects counts as a level. The root is not inside that array.
      (graph + "81 d81c a0 f6", 2), (graph + "80 f6", 1), (graph + "80 80", 1), (graph + "80 8180", 2),
      ("81" + graph + "81 d81c a0 f6", 3),
    ])
  func levels(hex: String, levels: Int) throws {
    var limits = ArchiveLimits()
    limits.depth = levels
    let value = try read(hex, limits: limits)
    let encoder = ArchiveEncoder(limits: limits)
    _ = try encoder.encode(value)
    guard levels > 0 else { return }
    limits.depth = levels - 1
    #expect(archiveError { try read(hex, limits: limits) }?.limit == .depth)
    #expect(archiveError { try ArchiveEncoder(limits: limits).encode(value) }?.limit == .depth)
  }

  @Test("Writers and readers count the array of a stream's member as a nesting level")
  func levelsOfStreams() throws {
    for depth in [1, 2] {
      var limits = ArchiveLimits()
      limits.depth = depth
      let error = try withFolder { folder in
        let url = folder.appending(path: "stream.strata")
        return archiveError {
          var writer = try ArchiveStreamWriter<ArchiveValue>(creating: url, limits: limits)
          try writer.append([])
          try writer.finish()
          return try ArchiveSequence(ArchiveValue.self, from: url, limits: limits).results.map { try $0.get() }
        }
      }
      #expect(error?.limit == (depth == 1 ? .depth : nil))
    }
  }

  // MARK: Decimals (section 7)

  @Test(
    "A decimal must be representable with a 128-bit mantissa and an exponent from -128 to 127",
    arguments: [
      ("c482 00 c250ffffffffffffffffffffffffffffffff", true), ("c482 387f c250ffffffffffffffffffffffffffffffff", true),
      ("c482 3880 0a", true), ("c482 3880 01", false), ("c482 3880 00", true), ("c482 187f 01", true),
      ("c482 1880 01", true), ("c482 18a5 03", true), ("c482 18a5 04", false),
      ("c482 187f c250ffffffffffffffffffffffffffffffff", true),
    ])
  func decimals(hex: String, isHeld: Bool) {
    #expect(archiveError { try read(hex) }?.code == (isHeld ? nil : .damaged))
  }
}

private final class FormatNode: DescribedModel {
  var f: FormatNode?

  init(f: FormatNode?) { self.f = f }

  static let fields = Fields(FormatNode.self, name: "Node", version: 1, Field("f", \.f), make: { FormatNode(f: $0) })
}
