import Foundation
import Testing

@testable import StrataCore
import StrataTestSupport

/// A decoder reads everything that an encoder with the same limits writes.
@Suite struct ReadableAgainTests {
  /// Content that compresses extremely well.
  enum Content: String, CaseIterable, Sendable {
    case numbers, rows, texts, data, records, objects, maps

    /// A value with `count` equal elements.
    func value(_ count: Int) -> ArchiveValue {
      let text = String(repeating: "a long text ", count: 100)
      let one: ArchiveValue =
        switch self {
        case .numbers: .int(0)
        case .rows: .array(Array(repeating: .int(0), count: 1000))
        case .texts: .string(text)
        case .data: .data(Data(text.utf8))
        case .records:
          .record(
            ModelRecord(typeName: "Sensor", modelVersion: 1, fields: [(String(repeating: "k", count: 300), .null)]))
        case .objects: .object(ArchiveObject([ArchiveObject.Entry(key: "a", value: .string(text))]))
        case .maps: .map([ArchiveValue.MapEntry(key: .int(1), value: .string(text))])
        }
      return .array(Array(repeating: one, count: count))
    }
  }

  @Test("X-33: an archive of highly repetitive values can be decoded", .tags(.long), arguments: Content.allCases)
  func archive(content: Content) throws {
    let value = content.value(content == .rows ? Effort.rounds(600, long: 6_000) : Effort.rounds(15_000, long: 150_000))
    let archive = try ArchiveEncoder().encode(value)
    #expect(try ArchiveDecoder().decodeValue(from: archive) == value)
  }

  /// A stream gets the allowance for small files only once, for all of its members together.
  @Test(
    "X-33: a stream of highly repetitive values can be decoded", .tags(.long), arguments: [Content.numbers, .records])
  func stream(content: Content) throws {
    try withFolder { folder in
      let url = folder.appending(path: "stream.strata")
      let value = content.value(
        content == .numbers ? Effort.rounds(10_000, long: 100_000) : Effort.rounds(1_000, long: 10_000))
      var writer = try ArchiveStreamWriter<ArchiveValue>(creating: url)
      for _ in 0..<60 { try writer.append(value) }
      try writer.finish()
      var count = 0
      var models = ArchiveSequence(ArchiveValue.self, from: url).makeAsyncIterator()
      while let model = try models.next() {
        count += 1
        if count == 60 { #expect(model == value) }
      }
      #expect(count == 60)
    }
  }

  @Test(
    "X-33: encodeBody throws limitExceeded for a body that needs padding to be decodable", .tags(.long),
    .longRunsOnly)
  func body() throws {
    let value = Content.texts.value(400_000)
    let error = archiveError(.limitExceeded) { _ = try ArchiveEncoder().encodeBody(value) }
    #expect(error?.limit == .expandedBytes)
    var limits = ArchiveLimits()
    limits.maxWorkPerByte = .max
    let body = try ArchiveEncoder(limits: limits).encodeBody(value)
    #expect(try ArchiveDecoder(limits: limits).decodeBody(ArchiveValue.self, from: body) == value)
  }

  /// For any limits, either the encoder throws or the decoder succeeds.
  @Test(
    "X-33: an encoder rejects exactly the values that a decoder with the same limits would reject", .tags(.long),
    arguments: 0..<Effort.rounds(1, long: 8))
  func limits(round: Int) throws {
    let seed = UInt64.random(in: 0..<1 << 32)
    var random = SeededRandom(seed: seed)
    var refused: [ArchiveLimits.Limit: Int] = [:]
    // For some seeds, it takes more than 400 values until every limit has rejected one.
    for number in 0..<4000 where number < 400 || refused.count < 6 {
      let value = Self.value(&random, 4)
      var limits = ArchiveLimits()
      switch random.below(6) {
      case 0: limits.depth = random.below(6)
      case 1: limits.count = random.below(8)
      case 2: limits.stringLength = random.below(24)
      case 3: limits.inflatedSize = random.below(200)
      case 4: limits.values = random.below(40)
      default: limits.expandedBytes = random.below(60)
      }
      let archive: Data
      do { archive = try ArchiveEncoder(limits: limits).encode(value) } catch let error as ArchiveError {
        guard let limit = error.limit else { throw error }
        refused[limit, default: 0] += 1
        // The decoder would reject the value as well.
        let archive = try ArchiveEncoder().encode(value)
        archiveError(.limitExceeded) { _ = try ArchiveDecoder(limits: limits).decodeValue(from: archive) }
        continue
      }
      do {
        let read = try ArchiveDecoder(limits: limits).decodeValue(from: archive)
        #expect(try read == ArchiveDecoder().decodeValue(from: archive))
      } catch { Issue.record("seed \(seed): \(error): \(value), \(limits)") }
    }
    #expect(refused.count == 6, "seed \(seed): \(refused)")
  }

  private static func value(_ random: inout SeededRandom, _ depth: Int) -> ArchiveValue {
    func text() -> String { random.oneOf(["", "a", "abc", "a longer text", String(repeating: "x", count: 30)]) }
    func some<T>(_ make: () -> T) -> [T] { (0..<random.below(5)).map { _ in make() } }
    switch random.below(depth > 0 ? 14 : 8) {
    case 0: return .null
    case 1: return .int(Int64(random.below(1000)))
    case 2, 3: return .string(text())
    case 4: return .data(Data(text().utf8))
    case 5: return .date(Date(timeIntervalSinceReferenceDate: Double(random.below(1000)) / 8))
    case 6: return .decimal(Decimal(string: random.oneOf(["1.5", "123456789012345678901234567890"])) ?? 0)
    case 7: return .url(URL(string: "https://example.org/\(random.below(3))") ?? URL(filePath: "/"))
    case 8: return .array(some { value(&random, depth - 1) })
    case 9: return .set((0..<random.below(5)).map { .int(Int64($0)) })
    case 10:
      return .object(
        ArchiveObject(
          (0..<random.below(4)).map { ArchiveObject.Entry(key: "key\($0)", value: value(&random, depth - 1)) }))
    case 11:
      return .map(
        (0..<random.below(4)).map { ArchiveValue.MapEntry(key: .int(Int64($0)), value: value(&random, depth - 1)) })
    default:
      let keys = (0..<random.below(4)).map { "field\($0)" }
      let fields = keys.map { (key: $0, value: Self.value(&random, depth - 1)) }
      return .record(ModelRecord(typeName: "Model\(random.below(3))", modelVersion: 1, fields: fields))
    }
  }
}
