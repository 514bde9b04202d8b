import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("Shared values that multiply")
struct SharingTests {
  private func archive(_ objects: [ArchiveValue], root: ArchiveValue) throws -> Data {
    try ArchiveEncoder().encode(ObjectGraph(objects: objects, root: root), typeName: "T", modelVersion: nil)
  }

  @Test(
    "X-7: shared values that would expand to millions exceed the count limit", .tags(.long),
    .longRunsOnly)
  func values() throws {
    var objects: [ArchiveValue] = [.array((0..<100).map { .int($0) })]
    for number in 0..<4 { objects.append(.array(.init(repeating: .reference(number), count: 100))) }
    let data = try archive(objects, root: .reference(4))
    #expect(data.count < 1000)
    #expect(archiveError { _ = try ArchiveDecoder().decode(ArchiveValue.self, from: data) }?.limit == .count)
    // The same check with records as the objects of the graph, as in keyed archives.
    func form(_ children: [ArchiveValue]) -> ArchiveValue {
      .record(ModelRecord(typeName: "Form", modelVersion: 1, fields: [("c", .array(children))]))
    }
    objects = [form([])]
    for number in 0..<4 { objects.append(form(.init(repeating: .reference(number), count: 100))) }
    let forms = try archive(objects, root: .reference(4))
    #expect(archiveError { _ = try ArchiveDecoder().decode(Form.self, from: forms) }?.limit == .count)
  }

  @Test("Shared objects in an untyped field throw limitExceeded if they would multiply", .tags(.long), .longRunsOnly)
  func objects() throws {
    func knot(_ others: [ArchiveValue], any: ArchiveValue = .null) -> ArchiveValue {
      .record(ModelRecord(typeName: "Knot", modelVersion: 1, fields: [("others", .array(others)), ("any", any)]))
    }
    var objects = [knot([])]
    for number in 0..<40 { objects.append(knot([.reference(number), .reference(number)])) }
    objects.append(knot([], any: .reference(40)))
    let data = try archive(objects, root: .reference(41))
    let error = archiveError { _ = try ArchiveDecoder().decode(Knot.self, from: data) }
    #expect(error?.code == .limitExceeded && error?.codingPath.first == .key("any"))
    let few = try archive(Array(objects[..<3]) + [knot([], any: .reference(2))], root: .reference(3))
    let kept = try ArchiveDecoder().decode(Knot.self, from: few).any
    #expect(kept.recordValue?["others"]?.arrayValue?.count == 2)
    #expect(kept.recordValue?["others"]?.arrayValue?.first?.recordValue?["others"]?.arrayValue?.count == 2)
  }

  @Test("A reference outside a graph, or to an index beyond its objects, throws damaged")
  func withoutGraph() throws {
    let plain = GzipMember.archive(body: Data([0xD9, 1, 0, 0x81, 0xD8, 0x1D, 0]))
    let error = archiveError { _ = try ArchiveDecoder().decodeValue(from: plain) }
    #expect(error?.code == .damaged && error?.byteOffset == 4)
    let graph: [UInt8] =
      [0xD9, 1, 0, 0xD8, 0x1B, 0x83, 0x65] + Array("graph".utf8) + [0x81, 0xD8, 0x1C, 1, 0xD8, 0x1D]
    let right = try ArchiveDecoder().decodeValue(from: GzipMember.archive(body: Data(graph + [0])))
    #expect(right == .graph(ObjectGraph(objects: [1], root: .reference(0))))
    let wrong = GzipMember.archive(body: Data(graph + [1]))
    #expect(archiveError { _ = try ArchiveDecoder().decodeValue(from: wrong) }?.code == .damaged)
    #expect(archiveError { _ = try ArchiveDecoder().decode(ArchiveValue.self, from: wrong) }?.code == .damaged)
  }

  @Test("Deeply nested sets and map keys do not take exponential time")
  func setsInSets() throws {
    let deep = (0..<200).reduce(ArchiveValue.int(1)) { value, _ in .set([value]) }
    #expect(try ArchiveDecoder().decodeValue(from: ArchiveEncoder().encode(deep)) == deep)
    let keys = (0..<200).reduce(ArchiveValue.int(1)) { key, _ in .map([ArchiveValue.MapEntry(key: key, value: 2)]) }
    #expect(try ArchiveDecoder().decodeValue(from: ArchiveEncoder().encode(keys)) == keys)
    let trees = (0..<60).reduce(SetTree(inside: [])) { tree, _ in SetTree(inside: [tree]) }
    #expect(try ArchiveDecoder().decode(SetTree.self, from: ArchiveEncoder().encode(trees)) == trees)
  }

  @Test("Sets that differ only in order are a single set element, and duplicates as map keys")
  func equalSets() throws {
    let pair: [ArchiveValue] = [.set([1, 2]), .set([2, 1])]
    #expect(
      try ArchiveDecoder().decodeValue(from: ArchiveEncoder().encode(ArchiveValue.set(pair))) == .set([.set([1, 2])]))
    let map = ArchiveValue.map(pair.map { ArchiveValue.MapEntry(key: $0, value: 1) })
    #expect(archiveError { _ = try ArchiveEncoder().encode(map) }?.code == .notEncodable)
    let nan: ArchiveValue = .set([.double(.nan), .double(.nan)])
    #expect(try ArchiveDecoder().decodeValue(from: ArchiveEncoder().encode(nan)).kind == "set")
  }
}

private struct SetTree: DescribedModel, Hashable {
  var inside: Set<SetTree>
  static let fields = Fields(
    SetTree.self, version: 1, Field("inside", \.inside, default: []), make: { SetTree(inside: $0) })
}
