import Foundation
import StrataCore
import StrataTestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Searches for small inputs that are expensive to read, by repeatedly changing those that took the most time and memory per byte.
///
/// `STRATA_SEARCH_SECONDS` is the time per trial; without it the search is skipped. `Tests/Scripts/work-search` runs it.
@Suite("Small inputs that cause much work", .serialized)
struct WorkSearchTests {
  private struct Candidate {
    let data: Data
    /// Seconds of processor time.
    let time: Double
    /// The largest growth of the process's memory, in bytes.
    let memory: Int
    /// The cost per byte. A gigabyte of memory counts as one second. The size is increased by one kilobyte, so that constant costs have
    /// little weight.
    var score: Double { (time + Double(memory) / 1e9) / Double(data.count + 1024) }
  }

  private static let environment = ProcessInfo.processInfo.environment
  private static var seconds: Double? { environment["STRATA_SEARCH_SECONDS"].flatMap(Double.init) }
  private static let largest = 4096
  /// The search skips smaller inputs, because overhead dominates their cost.
  private static let smallest = 48

  @Test("X-33: search for the inputs that take the most work", .enabled(if: seconds != nil), arguments: Trial.allCases)
  func search(trial: Trial) throws {
    let seed = Self.environment["STRATA_SEARCH_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0..<1 << 48)
    var random = SeededRandom(seed: seed)
    var best: [Candidate] = []
    for folder in ["Tests/Fuzz/Seeds/\(trial)", "Fixtures/fuzz/\(trial)"] {
      let folder = Repository.root.appending(path: folder)
      guard FileManager.default.fileExists(atPath: folder.path) else { continue }
      for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
        best.append(try Self.measure(trial, Data(contentsOf: file)))
      }
    }
    let clock = ContinuousClock()
    let end = clock.now + .seconds(Self.seconds ?? 0)
    var runs = 0
    while clock.now < end {
      runs += 1
      let parent = best[random.below(random.below(best.count) + 1)].data
      let data = Self.changed(parent, by: best[random.below(best.count)].data, &random)
      guard data.count >= Self.smallest, data.count <= Self.largest else { continue }
      var found = try Self.measure(trial, data)
      // A promising input is measured again, because other load on the machine can distort a result.
      if best.count < 64 || found.score > best[best.count - 1].score {
        let again = try Self.measure(trial, data)
        if again.score < found.score { found = again }
      }
      guard best.count < 64 || found.score > best[best.count - 1].score else { continue }
      best.append(found)
      best.sort { $0.score > $1.score }
      if best.count > 64 { best.removeLast() }
    }
    for (place, found) in best.prefix(10).enumerated() {
      print(
        "work: \(trial) \(place + 1). \(found.data.count) bytes, "
          + "\((found.time * 1e6).rounded() / 1e3) ms, "
          + "\(found.memory >> 20) MiB, "
          + "\((found.time / Double(found.data.count) * 1e9).rounded() / 1e3) µs a byte")
      guard let folder = Self.environment["STRATA_SEARCH_OUT"] else { continue }
      let url = URL(filePath: folder).appending(path: "\(trial)")
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
      try found.data.write(to: url.appending(path: "work-\(place + 1)"))
    }
    print("work: \(trial) \(runs) runs, seed \(seed)")
  }

  private static func measure(_ trial: Trial, _ data: Data) throws -> Candidate {
    let peak = PeakMemory()
    let start = now()
    try trial.run(data)
    return Candidate(data: data, time: Double(now() - start) / 1e9, memory: peak?.growth ?? 0)
  }

  /// The processor time of this thread, in nanoseconds.
  private static func now() -> UInt64 { clock_gettime_nsec(CLOCK_THREAD_CPUTIME_ID) }

  private static func clock_gettime_nsec(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  private static func changed(_ data: Data, by other: Data, _ random: inout SeededRandom) -> Data {
    var bytes = [UInt8](data)
    func range(_ bytes: [UInt8]) -> Range<Int> {
      let start = random.below(bytes.count)
      return start..<min(bytes.count, start + 1 + random.below(random.oneOf([4, 16, 64, 512])))
    }
    for _ in 0..<1 + random.below(4) where !bytes.isEmpty {
      switch random.below(7) {
      case 0: bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
      case 1: bytes[random.below(bytes.count)] = UInt8(random.below(256))
      case 2: bytes.insert(contentsOf: bytes[range(bytes)], at: random.below(bytes.count + 1))
      case 3: bytes.removeSubrange(range(bytes))
      case 4:
        let part = [UInt8](other)
        if !part.isEmpty { bytes.insert(contentsOf: part[range(part)], at: random.below(bytes.count + 1)) }
      case 5:
        let part = bytes[range(bytes)]
        for _ in 0..<random.oneOf([2, 8, 32]) where bytes.count < largest {
          bytes.insert(contentsOf: part, at: part.startIndex)
        }
      default: bytes[random.below(bytes.count)] &+= random.oneOf([1, 255, 2, 16])
      }
    }
    return Data(bytes)
  }
}
