import Foundation
import Testing

@testable import StrataCore
@testable import StrataLegacy
import StrataTestSupport

/// Sets and maps whose elements have equal hashes, are never equal, or are nested.
@Suite struct SetBudgetTests {
  private static let count = 6_000
  /// A set or dictionary of a program's own types is rejected at this number of elements.
  private static let refusedCount = 20_000

  private static func write(_ kind: Lookalikes, asMap: Bool, count: Int = count, to body: inout HostileBody) {
    if asMap { body.map(count) } else { body.set(count) }
    for number in 0..<count {
      kind.write(number, to: &body)
      if asMap { body.integer(0) }
    }
  }

  private static func body(_ kind: Lookalikes, asMap: Bool, count: Int = count) -> HostileBody {
    var body = HostileBody()
    write(kind, asMap: asMap, count: count, to: &body)
    return body
  }

  private static func count(of value: ArchiveValue?) -> Int? {
    switch value {
    case .set(let elements)?: elements.count
    case .map(let entries)?: entries.count
    default: nil
    }
  }

  @Test(
    "X-33: decoding set elements or map keys with colliding hashes takes linear work", .tags(.long),
    arguments: Effort.sample(1, of: Lookalikes.allCases), Effort.isLong ? [false, true] : [true])
  func lookalikes(kind: Lookalikes, asMap: Bool) async {
    await #expect(processExitsWith: .success) { [kind = kind as Lookalikes, asMap = asMap as Bool] in
      Child.limit()
      let value = try ArchiveDecoder().decodeValue(from: Self.body(kind, asMap: asMap).archive())
      #expect(Self.count(of: value) == Self.count)
    }
  }

  @Test(
    "X-33: decoding an unknown field with colliding hashes takes linear work", .tags(.long),
    arguments: Effort.sample(1, of: Lookalikes.allCases))
  func unknownFields(kind: Lookalikes) async {
    await #expect(processExitsWith: .success) { [kind = kind as Lookalikes] in
      Child.limit()
      var body = HostileBody()
      body.record("Keeper@1", ["name", "more"])
      body.text("it")
      Self.write(kind, asMap: false, to: &body)
      let keeper = try ArchiveDecoder().decode(SetKeeper.self, from: body.archive(typeName: "Keeper", modelVersion: 1))
      #expect(Self.count(of: keeper.unknownFields["more"]) == Self.count)
    }
  }

  private static func refuse<T: Hashable & Archivable>(_ type: T.Type, _ kind: Lookalikes) throws {
    archiveError(.limitExceeded) {
      _ = try ArchiveDecoder().decode(Set<T>.self, from: body(kind, asMap: false, count: refusedCount).archive())
    }
    archiveError(.limitExceeded) {
      _ = try ArchiveDecoder().decode([T: Int].self, from: body(kind, asMap: true, count: refusedCount).archive())
    }
  }

  @Test(
    "X-33: decoding a Swift Set or Dictionary with too many colliding hashes throws limitExceeded", .longRunsOnly,
    .tags(.long),
    arguments: Lookalikes.allCases)
  func typed(kind: Lookalikes) async {
    await #expect(processExitsWith: .success) { [kind = kind as Lookalikes] in
      Child.limit()
      switch kind {
      case .notANumber: try Self.refuse(Double.self, kind)
      case .decimal: try Self.refuse(Decimal.self, kind)
      case .data: try Self.refuse(Data.self, kind)
      case .url: try Self.refuse(URL.self, kind)
      }
    }
  }

  @Test(
    "X-33: reading keyed archives with colliding hashes takes linear work", .tags(.long),
    arguments: Effort.sample(1, of: Lookalikes.allCases), Effort.isLong ? [false, true] : [true])
  func keyed(kind: Lookalikes, asMap: Bool) async {
    await #expect(processExitsWith: .success) { [kind = kind as Lookalikes, asMap = asMap as Bool] in
      Child.limit()
      let value = try ArchiveDecoder().decodeValue(from: Self.body(kind, asMap: asMap).archive())
      let data = try KeyedArchive(ObjectGraph(objects: [], root: value)).data()
      #expect(Self.count(of: try KeyedArchive(data).graph.root) == Self.count)
    }
  }

  @Test("X-33: duplicates among elements and keys with colliding hashes are rejected")
  func duplicates() throws {
    func read(_ write: (inout HostileBody) -> Void) throws -> ArchiveValue {
      var body = HostileBody()
      write(&body)
      return try ArchiveDecoder().decodeValue(from: body.archive())
    }
    for kind in Lookalikes.allCases where kind != .notANumber {
      archiveError(.damaged) {
        _ = try read {
          $0.set(3)
          for number in [1, 2, 1] { kind.write(number, to: &$0) }
        }
      }
      archiveError(.damaged) {
        _ = try read {
          $0.map(12)
          for number in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1] {
            kind.write(number, to: &$0)
            $0.integer(0)
          }
        }
      }
    }
    // NaN equals nothing, so a set may contain it more than once.
    let several = Set([Double.nan, .nan, 1])
    let back = try ArchiveDecoder().decode(Set<Double>.self, from: ArchiveEncoder().encode(several))
    #expect(back.count == several.count)
    // Two inner sets with the same elements are equal in any order, so they are duplicates.
    archiveError(.damaged) {
      _ = try read {
        $0.set(2)
        for numbers in [[1, 2], [2, 1]] {
          $0.set(2)
          for number in numbers { $0.integer(number) }
        }
      }
    }
    // Two spellings of a text are different elements. An integer in a wider encoding is the same element.
    #expect(
      try Self.count(
        of: read {
          $0.set(2)
          $0.text("\u{E9}")
          $0.text("e\u{301}")
        }) == 2)
    archiveError(.damaged) {
      _ = try read {
        $0.set(2)
        $0.integer(5)
        $0.raw(0xC2, 0x41, 0x05)
      }
    }
  }

  /// How sets or keys are nested.
  enum Nesting: String, CaseIterable, Codable, Sendable {
    case sets, keys, setsInArrays, keysOfKeys

    func write(_ depth: Int, to body: inout HostileBody) {
      guard depth > 0 else { return body.integer(9) }
      switch self {
      case .sets:
        body.set(2)
        body.integer(7)
        write(depth - 1, to: &body)
      case .keys:
        body.map(2)
        body.integer(7)
        body.integer(0)
        write(depth - 1, to: &body)
        body.integer(0)
      case .setsInArrays:
        body.set(1)
        body.array(2)
        body.integer(7)
        write(depth - 2, to: &body)
      case .keysOfKeys:
        body.map(1)
        body.set(2)
        body.integer(7)
        write(depth - 2, to: &body)
        body.integer(0)
      }
    }
  }

  @Test(
    "X-33: nested sets and keys are hashed only once", .tags(.long),
    arguments: Effort.sample(1, of: Nesting.allCases))
  func nested(nesting: Nesting) async {
    await #expect(processExitsWith: .success) { [nesting = nesting as Nesting] in
      Child.limit()
      var body = HostileBody()
      // An outer set contains the array of all values, so that each value is also inside a set.
      body.set(1)
      let count = Effort.rounds(20, long: 80)
      body.array(count)
      for _ in 0..<count { nesting.write(500, to: &body) }
      let value = try ArchiveDecoder().decodeValue(from: body.archive())
      // The encoder computes the order of nested sets and keys once, and not again at each level.
      let again = try ArchiveEncoder().archive(Stamp(typeName: "Value")) { try $0.write(value) }
      #expect(try ArchiveDecoder().decodeValue(from: again) == value)
    }
  }
}

/// A model that keeps unknown keys.
struct SetKeeper: VersionedModel {
  var name: String
  var unknownFields = UnknownFields()

  static let schema = ModelSchema(
    SetKeeper.self, name: "Keeper", version: 1, fields: [FieldInfo("name", String.self)], keepsUnknownFields: true)

  init(fields reader: inout ArchiveReader) throws {
    name = try reader.field(0)
    unknownFields = reader.readUnknownFields()
  }

  func encodeFields(to writer: inout ArchiveWriter) throws { try writer.field(0, name) }

  var archivedUnknownFields: UnknownFields { unknownFields }
}
