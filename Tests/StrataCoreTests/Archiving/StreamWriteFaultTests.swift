import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// How an application reacts if a writer throws an error.
private enum Application: CaseIterable, Sendable {
  /// Drops the writer.
  case stops
  /// Repeats the call up to three times, and the whole session if there is no writer left.
  case retries
  /// Skips the model and continues.
  case carriesOn
}

/// The state of a stream before a session with faults.
private enum Beginning: CaseIterable, Sendable {
  case created, replaced, grown, recovered

  func prepare(_ stream: SessionStream) throws {
    guard self != .created else { return }
    let sizes = try stream.sessions(3)
    let bytes = try stream.bytes
    try bytes.prefix(self == .recovered ? sizes[2] - 9 : sizes[1]).write(to: stream.url)
  }

  /// The models that were acknowledged before the session with faults.
  var old: [Address] { self == .created ? [] : SessionStream.models(0..<20) }

  /// The models in the file after a session that wrote the given models.
  func content(after session: [Address]) -> [Address] {
    self == .grown || self == .recovered ? old + session : session
  }

  /// Creates the writer of a session. With one thread, the append that completes a member also writes it.
  func writer(_ stream: SessionStream, threads: Int = 1) throws -> ArchiveStreamWriter<Address> {
    self == .grown || self == .recovered
      ? try ArchiveStreamWriter(appendingTo: stream.url, recovering: true, compression: .none, threads: threads)
      : try ArchiveStreamWriter(creating: stream.url, compression: .none, threads: threads)
  }
}

@Suite("Streams: write errors")
struct StreamWriteFaultTests {
  /// Ten of these models fill a member.
  private static let models: [Address] = (0..<24).map { number in
    Address(street: "\(number) " + String(repeating: "street", count: 4800), country: "C\(number)")
  }

  /// Runs a session. Returns the last error and the models that `append` accepted, or `nil` instead of the models if no session was
  /// acknowledged.
  private static func run(
    _ application: Application, _ beginning: Beginning, _ stream: SessionStream
  ) -> (acknowledged: [Address]?, error: (any Error)?) {
    var last: (any Error)?
    for _ in 0..<(application == .retries ? 4 : 1) {
      do {
        var writer = try beginning.writer(stream)
        var accepted: [Address] = []
        models: for model in models {
          for attempt in 0... {
            do {
              try writer.append(model)
              accepted.append(model)
              continue models
            } catch {
              last = error
              if application == .carriesOn { continue models }
              if application == .stops || attempt == 3 { throw error }
            }
          }
        }
        try writer.finish()
        return (accepted, last)
      } catch {
        last = error
        // The content of the file is unknown in this case, so the session is not repeated.
        if isUnknown(error) { break }
      }
    }
    return (nil, last)
  }

  /// Whether the error means that the session may or may not be in the file.
  private static func isUnknown(_ error: (any Error)?) -> Bool {
    (error as? ArchiveError)?.reason.contains("check that the stream can be read before you append to it again")
      ?? false
  }

  /// The models in the file after an incomplete session has been cut off.
  private static func content(_ stream: SessionStream) throws -> [Address] {
    guard FileManager.default.fileExists(atPath: stream.url.path) else { return [] }
    do { return try stream.read().models } catch let error as ArchiveError where error.code == .truncated {
      try ArchiveStreamWriter<Address>(appendingTo: stream.url, recovering: true).finish()
      return try stream.read().models
    }
  }

  @Test("X-36: a full disk loses no model that `append` accepted", arguments: [false, true])
  func fullDisk(isNew: Bool) throws {
    for application in [Application.retries, .carriesOn] {
      try SessionStream.with { stream in
        let beginning: Beginning = isNew ? .replaced : .grown
        try beginning.prepare(stream)
        let plan = FaultPlan(.write, 0, [.isShort, .fails(ENOSPC)])
        let (acknowledged, error) = plan.run { Self.run(application, beginning, stream) }
        #expect((error as? ArchiveError)?.code == .fileSystem)
        #expect(acknowledged?.count == Self.models.count - (application == .carriesOn ? 1 : 0))
        let found = try Self.content(stream)
        #expect(found == beginning.content(after: acknowledged ?? []), "\(application): \(found.count)")
      }
    }
  }

  @Test("X-36: after every fault, the file contains each acknowledged model once, and no others", .tags(.long))
  func faults() throws {
    let faults: [(outcomes: [SystemCall.Outcome], isLasting: Bool)] = [
      ([.fails(EIO)], false), ([.fails(ENOSPC)], false), ([.isShort], false), ([.isShort, .fails(ENOSPC)], false),
      ([.fails(ENOSPC)], true),
    ]
    var cases: [(Beginning, SystemCall, Int, Application)] = []
    for beginning in Beginning.allCases {
      for call in SystemCall.allCases {
        for fault in faults.indices {
          for application in Application.allCases { cases.append((beginning, call, fault, application)) }
        }
      }
    }
    let step = Effort.faultStep(9, long: 13)
    var count = 0
    for (place, (beginning, call, fault, application)) in Effort.sample(40, of: cases).enumerated() {
      for number in stride(from: place % step, to: 1000, by: step) {
        let isReached = try SessionStream.with { stream in
          try beginning.prepare(stream)
          let plan = FaultPlan(call, number, faults[fault].outcomes, isLasting: faults[fault].isLasting)
          let (acknowledged, error) = plan.run { Self.run(application, beginning, stream) }
          guard plan.wasReached else { return false }
          count += 1
          let found = try Self.content(stream)
          // A failed sync does not remove a new file that has already been renamed into place. Only a power failure can undo the
          // renaming.
          let isInPlace =
            acknowledged == nil
            && (call == .synchronize && [.created, .replaced].contains(beginning) || Self.isUnknown(error))
          #expect(
            found == acknowledged.map { beginning.content(after: $0) } ?? beginning.old
              || isInPlace && found == beginning.content(after: Self.models),
            "\(beginning), \(call) \(number), fault \(fault), \(application): \(found.count), \(error.map { "\($0)" } ?? "")"
          )
          if let error { #expect((error as? ArchiveError)?.code == .fileSystem, "\(call) \(number): \(error)") }
          return true
        }
        if !isReached { break }
      }
    }
    print("streams: \(count) faults")
  }

  @Test(
    "X-36: after a failed write that cannot be undone, every call to the writer throws")
  func unrestored() throws {
    for beginning in [Beginning.replaced, .grown] {
      try SessionStream.with { stream in
        try beginning.prepare(stream)
        let plan = FaultPlan(.write, 0, [.isShort, .fails(ENOSPC)])
        let taking = FaultPlan(.truncate, 0, .fails(EIO))
        var codes: [String] = []
        try plan.run {
          let outer = SystemCall.interceptor
          try taking.run {
            let inner = SystemCall.interceptor
            try SystemCall.$interceptor.withValue({ call in
              let outcome = outer?(call) ?? .proceeds
              return outcome == .proceeds ? inner?(call) ?? .proceeds : outcome
            }) {
              var writer = try beginning.writer(stream)
              for model in Self.models {
                do { try writer.append(model) } catch { codes.append("\((error as? ArchiveError)?.reason ?? "")") }
              }
              do {
                try writer.finish()
                Issue.record("finished")
              } catch { codes.append("\((error as? ArchiveError)?.reason ?? "")") }
            }
          }
        }
        #expect(
          codes.count > 2 && codes.dropFirst().allSatisfy { $0.contains("could not be undone") }, "\(codes.prefix(2))")
        #expect(try Self.content(stream) == beginning.old)
      }
    }
  }

  /// A session on several threads that ends early, because of an error or a cancelled task.
  private struct BrokenOff {
    var accepted: [Address] = []
    var isFinished = false
    var error: (any Error)?

    mutating func run(
      _ writer: consuming ArchiveStreamWriter<Address>, _ models: [Address], until end: Int, retries: Int
    ) {
      do {
        for (number, model) in models.enumerated() {
          if number == end { return }
          for attempt in 0...retries {
            do {
              try writer.append(model)
              accepted.append(model)
              break
            } catch {
              self.error = error
              if attempt == retries { throw error }
            }
          }
        }
        try writer.finish()
        isFinished = true
      } catch { self.error = error }
    }
  }

  @Test(
    "X-36: on several threads, cancellation and system errors leave the old stream or the complete new one",
    .tags(.long))
  func brokenOff() throws {
    let models = Self.models + Self.models + Self.models
    var finished = 0, failed = 0
    for seed in 0..<UInt64(Effort.rounds(50, long: 1000)) {
      var random = SeededRandom(seed: seed)
      let beginning = random.oneOf(Beginning.allCases)
      let threads = 2 + random.below(3)
      try SessionStream.with { stream in
        try beginning.prepare(stream)
        let call = random.oneOf([SystemCall.write, .write, .write, .synchronize, .rename, .truncate, .status, .open])
        let faults: [SystemCall.Outcome] = random.oneOf([
          [.fails(EIO)], [.isShort, .fails(ENOSPC)], [.isShort], [.fails(ENOSPC), .fails(ENOSPC)],
        ])
        let plan = FaultPlan(call, random.below(call == .status ? 40 : 8), faults, isLasting: random.isOnce(in: 4))
        let end = random.isOnce(in: 3) ? random.below(models.count) : models.count
        let retries = random.below(3)
        var session = BrokenOff()
        plan.run {
          do {
            let writer = try beginning.writer(stream, threads: threads)
            session.run(writer, models, until: end, retries: retries)
          } catch { session.error = error }
        }
        finished += session.isFinished ? 1 : 0
        failed += session.error == nil ? 0 : 1
        let found = try Self.content(stream)
        let isInPlace =
          !session.isFinished && end == models.count && (call == .synchronize || Self.isUnknown(session.error))
        #expect(
          found == (session.isFinished ? beginning.content(after: models) : beginning.old)
            || isInPlace && found == beginning.content(after: models),
          "seed \(seed), \(beginning), \(call), \(threads) threads: \(found.count), \(session.error.map { "\($0)" } ?? "")"
        )
        if session.isFinished { #expect(session.accepted == models) }
      }
    }
    print("streams broken off: \(finished) finished, \(failed) with an error")
    #expect(finished > 10 && failed > 10)
  }

  @Test("X-36: on several threads, a full disk loses no model that `append` accepted", arguments: [2, 4])
  func fullDiskOnThreads(threads: Int) throws {
    try SessionStream.with { stream in
      // There are enough members that some are written while models are still being appended.
      let models = (0..<12).flatMap { _ in Self.models }
      var errors = 0
      let plan = FaultPlan(.write, 1, [.isShort, .fails(ENOSPC), .fails(ENOSPC), .fails(ENOSPC)])
      try plan.run {
        var writer = try Beginning.replaced.writer(stream, threads: threads)
        for model in models {
          while true {
            do {
              try writer.append(model)
              break
            } catch { errors += 1 }
          }
        }
        try writer.finish()
      }
      #expect(errors == 3)
      #expect(try Self.content(stream) == models)
    }
  }
}
