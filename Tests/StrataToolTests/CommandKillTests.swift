import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

/// Tests commands that are killed or interrupted while they work, and are then run again.
@Suite("Killed commands", .serialized, .tags(.long))
struct CommandKillTests {
  private static let commands = [
    "store backup models.store -o out", "store salvage models.store -o out", "store import models.store old",
    "store prune models.store --keep-last 2", "convert plists -o out", "salvage stream.strata -o out",
    "store export models.store large -o out", "encode large.json -o out",
  ]

  /// Creates a store, folders of archives and property lists, a stream and a JSON document. They are so large that
  /// commands can be interrupted.
  private func prepare(_ scratch: Scratch) throws {
    var random = SeededRandom(seed: 9)
    let text = (0..<20_000).map { _ in String(random.next(), radix: 36) }.joined()
    _ = try scratch.file("large.json", "[\"\(text)\", \"b\"]")
    for folder in ["old", "plists"] {
      try FileManager.default.createDirectory(atPath: scratch.path(folder), withIntermediateDirectories: true)
    }
    for number in 0..<40 {
      _ = try scratch.file("plists/\(number).plist", Legacy.data("everything.plist"))
      _ = try scratch.file("old/\(number).strata", ArchiveEncoder().encode("\(number) " + text.prefix(5_000)))
    }
    let store = try SnapshotStore(url: scratch.url.appending(path: "models.store"))
    try store.write { transaction in
      try transaction.save(text, as: "large")
      for number in 0..<200 { try transaction.save("\(number)", as: "small/\(number % 5)") }
    }
    try store.close()
    var writer = try ArchiveStreamWriter<String>(creating: scratch.url.appending(path: "stream.strata"))
    for number in 0..<50 { try writer.append("\(number) " + text.prefix(5_000)) }
    try writer.finish()
  }

  private func paths(_ scratch: Scratch) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: scratch.url.path).sorted()
  }

  private func run(_ command: String, _ scratch: Scratch, endedAfter time: Double, by signal: Int32) throws -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try Executable.path())
    process.arguments = command.split(separator: " ").map(String.init)
    process.currentDirectoryURL = scratch.url
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    Thread.sleep(forTimeInterval: time)
    kill(process.processIdentifier, signal)
    process.waitUntilExit()
    return process.terminationReason == .uncaughtSignal
  }

  @Test(
    "Rerunning a killed command gives the result of a single run and removes temporary files",
    arguments: Effort.sample(2, of: commands))
  func kills(command: String) throws {
    let clean = try Scratch()
    try prepare(clean)
    let start = ContinuousClock.now
    let expected = try Executable.run(
      Executable.path(), command.split(separator: " ").map(String.init), nil, in: clean.url)
    let duration = (ContinuousClock.now - start) / .seconds(1)
    #expect(expected.code == 0, "\(expected.error)")
    let paths = try paths(clean)
    var ended = 0, left = 0
    let kills = Effort.rounds(2, long: 10)
    let scratch = try Scratch()
    try prepare(scratch)
    for number in 0..<kills {
      // The signals are spread evenly over the duration of a run, and alternate between SIGKILL and SIGINT.
      let time = duration * (Double(number) + 0.5) / Double(kills)
      if try run(command, scratch, endedAfter: time, by: number.isMultiple(of: 2) ? SIGKILL : SIGINT) { ended += 1 }
      if try self.paths(scratch).contains(where: { $0.contains(".strata-") && $0.hasSuffix(".tmp") }) { left += 1 }
      if number % 6 == 5 { try again(command, scratch, paths) }
    }
    try again(command, scratch, paths)
    print("commands: \(kills) signals at \(command), \(ended) ended it, \(left) left a temporary file")
  }

  private func again(_ command: String, _ scratch: Scratch, _ paths: [String]) throws {
    // Removes the new store if an earlier run has completed it.
    if command.contains("store salvage") { try? FileManager.default.removeItem(atPath: scratch.path("out")) }
    let arguments = command.split(separator: " ").map(String.init)
    let run = try Executable.run(Executable.path(), arguments, nil, in: scratch.url)
    #expect(run.code == 0, "\(run.text) \(run.error)")
    // Ignores the journal files of a store, which remain after a kill until the store is opened for writing.
    func files(_ paths: [String]) -> [String] { paths.filter { !$0.hasPrefix("models.store-") } }
    #expect(try files(self.paths(scratch)) == files(paths))
    let store = try SnapshotStore(url: scratch.url.appending(path: "models.store"))
    #expect(try store.check(.full).findings.map(\.description) == [])
    let keys = try store.read { try $0.revisions(since: 0) }.map(\.key).filter { !$0.hasPrefix("small/") }
    #expect(Set(keys).count == keys.count, "what was imported before is not saved again")
    try store.close()
  }
}
