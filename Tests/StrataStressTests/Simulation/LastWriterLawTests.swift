import StrataCore
import StrataTestSupport
import Testing

@Suite("Laws of the lastWriter policy", .tags(.long))
struct LastWriterLawTests {
  @Test("lastWriter is commutative and idempotent, and keeps one-sided changes")
  func laws() throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededRandom(seed: seed)
    let options = MergeOptions(policy: .lastWriter(by: "time"))
    func document(since time: Int = 0) -> ArchiveValue {
      // The time of a document is never earlier than `time`.
      var object = ArchiveObject([.init(key: "time", value: .integer(time + random.below(3)))])
      for key in ["a", "b"] { object[key] = random.value(for: .scalar) }
      return .object(object)
    }
    func merge(_ base: ArchiveValue, _ local: ArchiveValue, _ server: ArchiveValue) throws -> ArchiveValue {
      try Merger(options: options).merge(["in": server], into: ["in": local], base: ["in": base]).value["in"] ?? .null
    }
    for _ in 0..<1000 {
      let base = document()
      let time = base["time"]?.intValue ?? 0
      let (one, other) = (document(since: time), document(since: time))
      let merged = try merge(base, one, other)
      #expect(try merge(base, other, one) == merged, "seed \(seed)")
      #expect(try merge(base, merged, other) == merged, "seed \(seed)")
      #expect(try merge(base, one, base) == one, "seed \(seed)")
    }
  }
}
