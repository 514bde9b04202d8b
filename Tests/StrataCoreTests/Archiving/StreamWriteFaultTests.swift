import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// What an application does with an error of a writer.
private enum Application: CaseIterable, Sendable {
  /// It drops the writer.
  case stops
  /// It makes the same call again, three times at most, and a whole session again where it has no writer any more.
  case retries
  /// It leaves the model out and goes on.
  case carriesOn
}

/// A stream before a session of faults.
private enum Beginning: CaseIterable, Sendable {
  case created, replaced, grown, recovered

  func prepare(_ stream: SessionStream) throws {
    guard self != .created else { return }
    let sizes = try stream.sessions(3)
    let bytes = try stream.bytes
    try bytes.prefix(self == .recovered ? sizes[2] - 9 : sizes[1]).write(to: stream.url)
  }

  /// The models that were acknowledged.
  var old: [Address] { self == .created ? [] : SessionStream.models(0..<20) }

  /// The models of the file after a session that wrote these.
  func content(after session: [Address]) -> [Address] {
    self == .grown || self == .recovered ? old + session : session
  }

  func writer(_ stream: SessionStream) throws -> ArchiveStreamWriter<Address> {
    self == .grown || self == .recovered
      ? try ArchiveStreamWriter(appendingTo: stream.url, recovering: true, compression: .none)
      : try ArchiveStreamWriter(creating: stream.url, compression: .none)
  }
}

@Suite("Streams: an error while writing")
struct StreamWriteFaultTests {
  /// Models of which 10 fill a member.
  private static let models: [Address] = (0..<24).map { number in
    Address(street: "\(number) " + String(repeating: "street", count: 4800), country: "C\(number)")
  }

  /// The models whose calls returned, in a session that the application sees acknowledged; `nil` where none was.
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
        // Nobody knows what is in the file then, so nothing may be repeated.
        if isUnknown(error) { break }
      }
    }
    return (nil, last)
  }

  /// Whether the error of a writer says that its session may be in the file.
  private static func isUnknown(_ error: (any Error)?) -> Bool {
    (error as? ArchiveError)?.reason.contains("read the stream before anything is written again") ?? false
  }

  /// The models of the file, after what broke off was cut.
  private static func content(_ stream: SessionStream) throws -> [Address] {
    guard FileManager.default.fileExists(atPath: stream.url.path) else { return [] }
    do { return try stream.read().models } catch let error as ArchiveError where error.code == .truncated {
      try ArchiveStreamWriter<Address>(appendingTo: stream.url, recovering: true).finish()
      return try stream.read().models
    }
  }

  @Test("X-36: a full disk takes no model with it that was accepted", arguments: [false, true])
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

  @Test("X-36: after every fault, the file has the models that were acknowledged, once, and no others", .tags(.long))
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
          // Once a new file has its name, only a loss of power undoes that.
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
    "X-36: a writer whose failed write cannot be taken back refuses every call, and finishing says what may be there")
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
        #expect(codes.count > 2 && codes.dropFirst().allSatisfy { $0.contains("taken back") }, "\(codes.prefix(2))")
        #expect(try Self.content(stream) == beginning.old)
      }
    }
  }
}
