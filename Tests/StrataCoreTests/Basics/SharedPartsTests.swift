import Foundation
import Testing

@testable import StrataCore
import StrataTestSupport

/// Values whose parts share memory, like copies of copies.
@Suite struct SharedPartsTests {
  /// How each value contains the previous value twice.
  enum Form: String, CaseIterable, Codable, Sendable {
    case array, object, record, map, otherOrder

    /// A value of 2^`levels` parts.
    func value(_ levels: Int, _ leaf: ArchiveValue = "leaf") -> ArchiveValue {
      var value: ArchiveValue = .array([leaf, 1])
      let shapes = [["a", "b"], ["b", "a"]].map { RecordShape(typeName: "R", modelVersion: 1, keys: $0) }
      for level in 0..<levels {
        switch self {
        case .array: value = .array([value, value])
        case .object: value = ["a": value, "b": value]
        case .record: value = .record(ModelRecord(shape: shapes[0], values: [value, value]))
        case .map: value = .map([.init(key: 1, value: value), .init(key: 2, value: value)])
        case .otherOrder: value = .record(ModelRecord(shape: shapes[level % 2], values: [value, value]))
        }
      }
      return value
    }
  }

  @Test(
    "X-33: values with shared parts are compared and hashed in linear time", .tags(.long),
    arguments: Effort.sample(1, of: Form.allCases))
  func comparing(form: Form) async {
    await #expect(processExitsWith: .success) { [form = form as Form] in
      Child.limit()
      let depth = Effort.rounds(50, long: 100)
      let (one, other) = (form.value(depth), form.value(depth))
      #expect(one == other)
      #expect(one.hashValue == other.hashValue)
      #expect(one != form.value(depth, "other"))
      #expect(one == other)
    }
  }

  @Test("X-33: records with different key orders are compared in linear time", .tags(.long), .longRunsOnly)
  func comparingOtherOrder() async {
    await #expect(processExitsWith: .success) {
      Child.limit()
      func value(_ keys: [String]) -> ArchiveValue {
        let shape = RecordShape(typeName: "R", modelVersion: 1, keys: keys)
        var value: ArchiveValue = 1
        for _ in 0..<200 { value = .record(ModelRecord(shape: shape, values: [value, value])) }
        return value
      }
      #expect(value(["a", "b"]) == value(["b", "a"]))
      #expect(value(["a", "b"]) != value(["b", "c"]))
    }
  }

  @Test(
    "X-33: writers throw limitExceeded for values whose shared parts would multiply in the output", .tags(.long),
    arguments: Effort.sample(1, of: Form.allCases))
  func writing(form: Form) async {
    await #expect(processExitsWith: .success) { [form = form as Form] in
      Child.limit()
      let value = form.value(200)
      // A debug build would need most of a minute to reach the default limit.
      var limits = ArchiveLimits()
      limits.outputSize = Effort.rounds(1 << 18, long: 1 << 20)
      var writer = JSONWriter()
      writer.limits = limits
      #expect(archiveError(.limitExceeded) { _ = try writer.write(value) }?.limit == .outputSize)
      #expect(
        archiveError(.limitExceeded) { _ = try ArchiveEncoder(limits: limits).encode(value) }?.limit == .outputSize)
    }
  }

  @Test("X-33: repeated shared objects and long strings count toward the output limit")
  func writingReferences() async {
    await #expect(processExitsWith: .success) {
      Child.limit()
      var objects: [ArchiveValue] = [.array(Array(repeating: .string(String(repeating: "x", count: 4096)), count: 256))]
      for level in 0..<2 { objects.append(.array(Array(repeating: .reference(level), count: 256))) }
      let graph = ArchiveValue.graph(ObjectGraph(objects: objects, root: .reference(2)))
      #expect(archiveError(.limitExceeded) { _ = try JSONWriter().write(graph) }?.limit == .outputSize)
      let text = ArchiveValue.string(String(repeating: "x", count: 1 << 20))
      let texts = ArchiveValue.array(Array(repeating: text, count: 1 << 16))
      #expect(archiveError(.limitExceeded) { _ = try JSONWriter().write(texts) }?.limit == .outputSize)
    }
  }

  @Test("X-33: the limit on the output size can be changed")
  func outputSize() throws {
    let value = ArchiveValue.array((0..<1000).map { .integer($0) })
    var writer = JSONWriter()
    writer.limits.outputSize = 1000
    #expect(archiveError(.limitExceeded) { _ = try writer.write(value) }?.limit == .outputSize)
    writer.limits.outputSize = 10_000
    #expect(try writer.write(value).count == 3891)
    var limits = ArchiveLimits()
    limits.outputSize = 1000
    let nested = ArchiveValue.array([value, value])
    #expect(
      archiveError(.limitExceeded) { _ = try ArchiveEncoder(limits: limits).encode(nested) }?.limit == .outputSize)
  }

  @Test("X-33: equal values have equal hashes, however their parts are stored")
  func hashing() {
    let pairs: [(ArchiveValue, ArchiveValue)] = [
      (.decimal(Decimal(string: "1.50") ?? 0), .decimal(Decimal(3) / Decimal(2))),
      (.decimal(Decimal(sign: .plus, exponent: 2, significand: 1)), .decimal(100)),
      (.string("\u{E9}"), .string("e\u{301}")), (.double(0), .double(-0.0)), (.float(0), .float(-0.0)),
      (["a": 1, "b": 2], ["b": 2, "a": 1]), (.data(Data([1, 2, 3, 4])[1...]), .data(Data([2, 3, 4]))),
      (
        .record(ModelRecord(typeName: "R", modelVersion: 1, fields: [("a", 1), ("b", 2)])),
        .record(ModelRecord(typeName: "R", modelVersion: 1, fields: [("b", 2), ("a", 1)]))
      ),
    ]
    for (one, other) in pairs {
      #expect(one == other)
      #expect(one.hashValue == other.hashValue, "\(one.kind)")
    }
    // The value has so many parts that their hashes are cached. Its records share storage but have different keys.
    let values: [ArchiveValue] = [1, 2]
    let shapes = (0..<400).map { RecordShape(typeName: "R", modelVersion: 1, keys: ["a\($0)", "b"]) }
    let shared = ArchiveValue.array(shapes.map { .record(ModelRecord(shape: $0, values: values)) })
    let apart = ArchiveValue.array(shapes.map { .record(ModelRecord(shape: $0, values: [1] + [2])) })
    #expect(shared == apart && shared.hashValue == apart.hashValue)
  }
}
