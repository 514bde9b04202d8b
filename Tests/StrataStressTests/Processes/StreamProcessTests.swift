import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// Several processes append to one stream and are killed at random.
///
/// Each process runs this program with a single test, which appends until it is killed and acknowledges each session.
/// `STRATA_PROCESS_ROUNDS` is the number of kills; Tests/Scripts/process-simulation requests 3,000.
@Suite("Killed processes", .serialized, .tags(.long))
struct StreamProcessTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static var isChild: Bool { environment["STRATA_APPENDER"] != nil }
  private static var rounds: Int {
    environment["STRATA_PROCESS_ROUNDS"].flatMap(Int.init) ?? Effort.rounds(3, long: 80)
  }

  @Test("Helper process: appends until it is killed", .enabled(if: isChild, "a helper of the other test"))
  func appender() throws {
    guard let name = Self.environment["STRATA_APPENDER"], let path = Self.environment["STRATA_STREAM"] else { return }
    let url = URL(fileURLWithPath: path)
    let log = try FileHandle(forWritingTo: URL(fileURLWithPath: path + "." + name))
    for session in 0..<10_000 {
      var writer = try ArchiveStreamWriter<Address>(appendingTo: url, recovering: true, waiting: .seconds(120))
      for number in 0..<3 { try writer.append(Address(street: "\(name)-\(session)-\(number)", country: "C")) }
      try writer.finish()
      try log.write(contentsOf: Data("\(session)\n".utf8))
    }
  }

  #if os(Linux)
    @Test(
      "X-31: killing processes that append to a stream loses no acknowledged session", .enabled(if: !isChild),
      arguments: [2, 8])
    func kills(count: Int) throws {
      let seed = Self.environment["STRATA_PROCESS_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0..<1 << 48)
      print("processes: \(count), STRATA_PROCESS_SEED=\(seed)")
      var random = SeededRandom(seed: seed)
      try SessionStream.with { stream in
        _ = try stream.sessions(1)
        var names: [String] = []
        var running: [Process] = []
        var kills = 0
        func start() throws {
          let name = "p\(names.count)"
          names.append(name)
          try Data().write(to: URL(fileURLWithPath: stream.url.path + "." + name))
          let process = Process()
          process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
          process.arguments = ["--testing-library", "swift-testing", "--filter", "StreamProcessTests/appender"]
          process.environment = Self.environment.merging(
            ["STRATA_APPENDER": name, "STRATA_STREAM": stream.url.path]) { $1 }
          process.standardOutput = FileHandle.nullDevice
          process.standardError = FileHandle.nullDevice
          try process.run()
          running.append(process)
        }
        /// The number of bytes that all processes have acknowledged.
        func logged() throws -> UInt64 {
          try names.reduce(0) {
            try $0 + FileHandle(forReadingFrom: URL(fileURLWithPath: "\(stream.url.path).\($1)")).seekToEnd()
          }
        }
        while kills < Self.rounds {
          while running.count < count { try start() }
          // Waits until a process has appended since the last kill, even on a slow machine.
          let before = try logged()
          while try logged() == before, running.contains(where: \.isRunning) { Thread.sleep(forTimeInterval: 0.02) }
          Thread.sleep(forTimeInterval: Double(random.below(400)) / 1000)
          let process = running.remove(at: random.below(running.count))
          kill(process.processIdentifier, SIGKILL)
          process.waitUntilExit()
          #expect(process.terminationReason == .uncaughtSignal, "an appender stopped by itself")
          kills += 1
        }
        for process in running {
          kill(process.processIdentifier, SIGKILL)
          process.waitUntilExit()
        }
        // The last process may have been killed during a write.
        try stream.session(10..<20, recovering: true)
        let streets = try stream.read().models.map(\.street)
        #expect(Set(streets).count == streets.count)
        var acknowledged = 0
        let found = Set(streets)
        for name in names {
          let log = try String(contentsOfFile: stream.url.path + "." + name, encoding: .utf8)
          for session in log.split(separator: "\n") {
            acknowledged += 1
            for number in 0..<3 {
              #expect(found.contains("\(name)-\(session)-\(number)"), "\(name)-\(session)-\(number)")
            }
          }
        }
        print(
          "processes: \(kills) kills of \(count) at a time, \(acknowledged) sessions acknowledged, \(streets.count) models"
        )
        #expect(acknowledged >= kills)
        #expect(try stream.files.filter { $0.hasPrefix(".strata-") }.isEmpty)
      }
    }
  #endif
}
