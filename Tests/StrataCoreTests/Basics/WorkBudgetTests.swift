import Foundation
import Testing

@testable import StrataCore
import StrataTestSupport

/// Small files that would expand to more values or text than fits into memory.
@Suite struct WorkBudgetTests {
  /// The content of a body.
  enum Content: String, CaseIterable, Codable, Sendable {
    case numbers, nestedArrays, objects, wideIntegers, definitions

    /// A body with `size` bytes.
    func body(_ size: Int) -> HostileBody {
      var one = HostileBody()
      let before = one.bytes.count
      switch self {
      case .numbers: one.integer(0)
      case .nestedArrays:
        for _ in 0..<400 { one.array(1) }
        one.integer(0)
      case .objects:
        one.map(1)
        one.text("")
        one.integer(0)
      case .wideIntegers: one.raw(0xC2, 0x41, 0x01)
      case .definitions: one.record("N", [])
      }
      let piece = Array(one.bytes[before...])
      var body = HostileBody()
      let (pieces, most) = (size / piece.count, 1 << 24)
      let arrays = pieces / most + 1
      body.array(arrays + 1)
      body.record("N", [])
      for number in 0..<arrays {
        let count = min(most, pieces - number * most)
        body.array(count)
        body.repeat(piece, count)
      }
      return body
    }
  }

  @Test(
    "X-33: a small file with very many values throws limitExceeded before it uses much memory", .tags(.long),
    arguments: Effort.sample(1, of: Content.allCases))
  func values(content: Content) async {
    await #expect(processExitsWith: .success) { [content = content as Content] in
      let file = try content.body(64 << 20).archive()
      #expect(file.count < 1_000_000)
      Child.limit()
      let error = archiveError(.limitExceeded) { _ = try ArchiveDecoder().decodeValue(from: file) }
      #expect(error?.limit == .values)
    }
  }

  @Test("X-33: many references to a long string throw limitExceeded", arguments: ["values", "keys", "data", "urls"])
  func references(kind: String) async {
    await #expect(processExitsWith: .success) { [kind = kind as String] in
      Child.limit()
      let long = String(repeating: "x", count: 1 << 20)
      var body = HostileBody()
      switch kind {
      case "keys":
        body.array(4001)
        body.record("N", [long])
        body.integer(0)
        for _ in 0..<4000 { body.raw(0xD9, 0xE0, 0x00, 0x81, 0x00) }
      case "values", "data":
        body.array(4001)
        if kind == "data" { body.data(Array(long.utf8)) } else { body.text(long) }
        for _ in 0..<4000 { body.reference(0) }
      default:
        body.array(4001)
        body.raw(0xD8, 0x20)
        body.text(long)
        for _ in 0..<4000 {
          body.raw(0xD8, 0x20)
          body.reference(0)
        }
      }
      let file = try body.archive()
      #expect(file.count < 8000)
      let error = archiveError(.limitExceeded) { _ = try ArchiveDecoder().decodeValue(from: file) }
      #expect(error?.limit == .expandedBytes)
    }
  }

  @Test("X-33: each work limit can be changed, and its error names it")
  func limits() throws {
    let value = ArchiveValue.array((0..<200).map { ["name": "a name that comes again", "number": .integer($0)] })
    let file = try ArchiveEncoder().encode(value)
    func error(_ change: (inout ArchiveLimits) -> Void) -> ArchiveError? {
      var limits = ArchiveLimits()
      change(&limits)
      return #expect(throws: ArchiveError.self) { try ArchiveDecoder(limits: limits).decodeValue(from: file) }
    }
    #expect(error { $0.values = 1000 }?.limit == .values)
    #expect(error { $0.expandedBytes = 1000 }?.limit == .expandedBytes)
    var enough = ArchiveLimits()
    // The array and its 200 objects count as 201 values. Each object adds two keys, two values and one more value.
    enough.values = 201 + 200 * 5
    enough.expandedBytes =
      199 * "a name that comes again".utf8.count + 199 * "name".utf8.count + 199 * "number".utf8.count
    #expect(try ArchiveDecoder(limits: enough).decodeValue(from: file) == value)
    enough.values -= 1
    #expect(throws: ArchiveError.self) { try ArchiveDecoder(limits: enough).decodeValue(from: file) }

    let sets = try ArchiveEncoder().encode(ArchiveValue.set((0..<200).map { .array([.integer($0)]) }))
    var limits = ArchiveLimits()
    limits.steps = 100
    #expect(
      archiveError(.limitExceeded) { _ = try ArchiveDecoder(limits: limits).decodeValue(from: sets) }?.limit == .steps)
    limits.steps = 1000
    #expect(try ArchiveDecoder(limits: limits).decodeValue(from: sets).kind == "set")

    var reader = JSONReader()
    reader.limits.values = 100
    #expect(archiveError(.limitExceeded) { _ = try reader.read(JSONWriter().write(value)) }?.limit == .values)
  }

  @Test("X-33: the work budget is a free amount plus a share per byte, and a stream gets the free amount once")
  func ratio() throws {
    func left(_ budget: WorkBudget) -> Int {
      var (low, high) = (0, 1 << 40)
      while low < high {
        let middle = (low + high + 1) / 2
        if budget.allows(values: middle) { low = middle } else { high = middle - 1 }
      }
      return low
    }
    let limits = ArchiveLimits()
    #expect(left(WorkBudget(limits)) == limits.values)
    #expect(left(WorkBudget(limits, fileSize: 100)) == 1 << 22 + 6400)
    #expect(left(WorkBudget(limits, fileSize: 1 << 30)) == limits.values)
    let stream = WorkBudget(limits, fileSize: 100)
    try stream.spend(values: 1 << 22)
    stream.begin(fileSize: 50)
    #expect(left(stream) == 6400 + 3200)
    var most = limits
    most.maxWorkPerByte = .max
    #expect(left(WorkBudget(most, fileSize: 100)) == limits.values)
  }

  @Test("X-33: decoding sets of decimals or URLs with colliding hashes throws limitExceeded")
  func comparisons() throws {
    for kind in [Lookalikes.decimal, .url] {
      var body = HostileBody()
      body.set(3000)
      for number in 0..<3000 { kind.write(number, to: &body) }
      let file = try body.archive()
      let error = archiveError(.limitExceeded) {
        if kind == .url {
          _ = try ArchiveDecoder().decode(Set<URL>.self, from: file)
        } else {
          _ = try ArchiveDecoder().decode(Set<Decimal>.self, from: file)
        }
      }
      #expect(error?.limit == .steps)
    }
  }

  @Test("X-33: a value that needs more memory counts as several values")
  func weights() throws {
    var limits = ArchiveLimits()
    limits.values = .max
    /// Returns the number of values that the budget charges for a body if the file size is 0.
    func spent(_ write: (inout HostileBody) -> Void) throws -> Int {
      var body = HostileBody()
      write(&body)
      let context = DecodingContext(limits: limits)
      context.budget.begin(fileSize: 0)
      var reader = ArchiveReader(body.bytes.bytes, context: context)
      try reader.beginBody()
      _ = try reader.readValue()
      var left = 0
      for bit in (0..<23).reversed() where context.budget.allows(values: left + 1 << bit) { left += 1 << bit }
      return 1 << 22 - left
    }
    #expect(try spent { $0.array(0) } == 2)
    #expect(try spent { $0.text("abc") } == 4)
    #expect(try spent { $0.data([1, 2, 3]) } == 11)
    func url(_ body: inout HostileBody, _ text: String) {
      body.raw(0xD8, 0x20)
      body.text(text)
    }
    #expect(try spent { url(&$0, "a:") } == 14)
    #expect(try spent { url(&$0, "abc:") } == 18)
    // Equal URLs share their memory.
    #expect(
      try spent {
        $0.array(100)
        for _ in 0..<100 { url(&$0, "a:") }
      } == 102 + 14)
    #expect(
      try spent {
        $0.array(100)
        for _ in 0..<100 { $0.raw(0x3B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF) }
      } == 102 + 14)
    #expect(
      try spent {
        $0.array(100)
        for _ in 0..<100 { $0.text("a text that an encoder had no room for") }
      } == 102 + 4)
  }

  @Test("X-33: an encoder pads archives enough for values that count as several")
  func padded() throws {
    let wide = ArchiveValue.wideInteger(WideInteger(isNegative: true, magnitude: 1 << 64))
    for one in [wide, .array([.null]), .decimal(1), .uuid(UUID()), .string("a text of some length")] {
      let value = ArchiveValue.array(Array(repeating: one, count: Effort.rounds(100_000, long: 2_000_000)))
      let file = try ArchiveEncoder().encode(value)
      #expect(try ArchiveDecoder().decodeValue(from: file) == value)
    }
  }
}
