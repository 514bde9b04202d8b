import Foundation
import StrataTestSupport
import Testing

@testable import StrataCore

@Suite("Ordered work") struct OrderedWorkTests {
  private struct Failure: Error {}

  /// Counts the running jobs and remembers the highest count.
  private final class Running: Sendable {
    let counts = StrataCore.Mutex((now: 0, most: 0))

    func job<T>(_ body: () -> T) -> T {
      counts.withLock { counts in
        counts.now += 1
        counts.most = max(counts.most, counts.now)
      }
      defer { counts.withLock { $0.now -= 1 } }
      return body()
    }
  }

  @Test(
    "Results arrive in the order of the jobs, and at most one job per thread runs at a time", arguments: 1...5)
  func order(threads: Int) throws {
    let running = Running()
    let work = OrderedWork<Int>(threads: threads)
    var results: [Int] = []
    var random = SeededRandom(seed: UInt64(threads))
    for number in 0..<300 {
      while !work.hasRoom, let result = try work.first() {
        results.append(result)
        work.removeFirst()
      }
      let pause = random.below(200)
      work.add(weight: random.below(40_000)) {
        running.job {
          usleep(UInt32(pause))
          return number
        }
      }
    }
    while let result = try work.first() {
      results.append(result)
      work.removeFirst()
    }
    #expect(results == Array(0..<300))
    #expect(running.counts.withLock { $0.most } <= threads)
  }

  @Test("The source is called for one job at a time until it returns nil", arguments: 1...5)
  func source(threads: Int) throws {
    let running = Running()
    let next = StrataCore.Mutex(0)
    let work = OrderedWork<Int>(threads: threads) {
      running.job {
        let number = next.withLock { next in
          next += 1
          return next - 1
        }
        return number % 100 == 99 ? nil : (number * 100, { number })
      }
    }
    var results: [Int] = []
    while let result = try work.first() {
      results.append(result)
      work.removeFirst()
    }
    #expect(results == Array(0..<99))
    #expect(running.counts.withLock { $0.most } == 1)
    work.stop()
    #expect(try work.first() == 100)
  }

  @Test("The next call retries a failed job, and the jobs after it are kept", arguments: [1, 3])
  func failure(threads: Int) throws {
    let work = OrderedWork<Int>(threads: threads)
    let attempts = StrataCore.Mutex(0)
    work.add(weight: 100_000) {
      let attempt = attempts.withLock { attempts in
        attempts += 1
        return attempts
      }
      if attempt < 3 { throw Failure() }
      return attempt
    }
    if threads > 1 { work.add(weight: 100_000) { 7 } }
    #expect(throws: Failure.self) { try work.first() }
    // If a worker has already made the second attempt, this call makes the third one, which succeeds.
    #expect((try? work.first()) ?? (try? work.first()) == 3)
    work.removeFirst()
    #expect(try work.first() == (threads > 1 ? 7 : nil))
  }

  @Test("After stop(), no job starts until the next result is requested")
  func stop() throws {
    let made = StrataCore.Mutex(0)
    let work = OrderedWork<Int>(threads: 4) {
      let number = made.withLock { made in
        made += 1
        return made
      }
      return (10_000, { number })
    }
    _ = try work.first()
    work.stop()
    let before = made.withLock { $0 }
    usleep(20_000)
    #expect(made.withLock { $0 } == before)
    #expect(before <= 2 * 4 + 1)
    #expect(try work.first() == before + 1)
  }

  @Test("The queue holds only a few jobs, and fewer if they are heavy")
  func room() {
    func count(_ weight: Int, threads: Int) -> Int {
      let work = OrderedWork<Int>(threads: threads)
      while work.hasRoom { work.add(weight: weight) { 0 } }
      defer { work.stop() }
      return (0...).first { _ in
        defer { work.removeFirst() }
        return ((try? work.first()) ?? nil) == nil
      } ?? 0
    }
    #expect(count(100, threads: 1) == 1)
    #expect(count(100, threads: 3) == 6)
    #expect(count(2 << 20, threads: 3) == 2)
  }

  private final class Held: Sendable {}

  @Test("A released queue releases its source, even if no thread of the pool is free")
  func release() {
    let blocked = StrataCore.Mutex(0), end = DispatchSemaphore(value: 0)
    let blockers = 2 * ProcessInfo.processInfo.activeProcessorCount
    @Sendable func block() {
      blocked.withLock { $0 += 1 }
      end.wait()
    }
    for _ in 0..<blockers { Task { block() } }
    defer { for _ in 0..<blockers { end.signal() } }
    let deadline = ContinuousClock.now + .seconds(2)
    while blocked.withLock({ $0 }) < blockers / 2 - 1, ContinuousClock.now < deadline { usleep(1000) }
    weak var held: Held?
    do {
      let source = Held()
      held = source
      let work = OrderedWork<Int>(threads: 2) { [source] in (1 << 16, { withExtendedLifetime(source) { 1 } }) }
      #expect((try? work.first()) == 1)
    }
    while held != nil, ContinuousClock.now < deadline { usleep(1000) }
    #expect(held == nil)
  }
}
