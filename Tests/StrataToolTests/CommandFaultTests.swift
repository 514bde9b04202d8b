import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

#if os(Linux)
  /// Makes system calls of whole commands fail, including those of SQLite and Foundation. If `STRATA_FAULT_STEP` is n, only every nth call
  /// fails. Tests/Scripts/store-faults makes every call fail.
  @Suite("Commands with failing system calls", .serialized, .tags(.long))
  struct CommandFaultTests {
    private static let commands = [
      "convert old -o new", "store import models.store archives", "store backup models.store -o new",
    ]
    private static let step = Effort.faultStep(199, long: 47)

    private static func prepare(_ scratch: Scratch) throws {
      for folder in ["old", "archives"] {
        try FileManager.default.createDirectory(atPath: scratch.path(folder), withIntermediateDirectories: true)
      }
      for name in ["bookmarks.plist", "settings.bplist"] { _ = try scratch.file("old/" + name, Legacy.data(name)) }
      for number in 0..<3 {
        _ = try scratch.file("archives/\(number).strata", ArchiveEncoder().encode("\(number)"))
      }
      let store = try SnapshotStore(url: scratch.url.appending(path: "models.store"))
      try store.write { _ = try $0.save("old", as: "old") }
      try store.close()
    }

    private static func run(_ command: String, _ scratch: Scratch, _ faults: [String: String] = [:]) throws -> Int32 {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: try Executable.path())
      process.arguments = command.split(separator: " ").map(String.init)
      process.currentDirectoryURL = scratch.url
      process.environment = faults
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle(forWritingAtPath: try scratch.file("error", Data()))
      try process.run()
      process.waitUntilExit()
      #expect(process.terminationReason == .exit)
      return process.terminationStatus
    }

    /// The values of the stores by key and revision, and the bytes of all other files by path.
    private static func state(_ scratch: Scratch) throws -> [String: Data] {
      var state: [String: Data] = [:]
      for path in try FileManager.default.subpathsOfDirectory(atPath: scratch.url.path) {
        guard !path.hasPrefix("models.store-"), path != "error", path != "new/.strata-convert.jsonl" else { continue }
        guard path == "models.store" || path == "new" else {
          state[path] = FileManager.default.contents(atPath: scratch.path(path)) ?? Data()
          continue
        }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: scratch.path(path), isDirectory: &isFolder), !isFolder.boolValue
        else { continue }
        let store = try SnapshotStore(url: URL(fileURLWithPath: scratch.path(path)))
        #expect(try store.check(.full).isClean)
        for revision in try store.read({ try $0.revisions(since: 0) }) {
          state["\(path) \(revision.key) \(revision.number)"] = try store.read {
            Data("\(try $0.untypedValue(for: revision.key, at: .revision(revision.number)) as Any)".utf8)
          }
        }
        try store.close()
      }
      return state
    }

    @Test(
      "Rerunning a command after a failed system call completes its work", arguments: Effort.sample(1, of: commands))
    func faults(command: String) throws {
      let build = try Scratch()
      guard let library = try Faults.library(in: build.url) else {
        return print("commands: no faults, as there is no C compiler")
      }
      let clean = try Scratch()
      try Self.prepare(clean)
      #expect(try Self.run(command, clean) == 0)
      let expected = try Self.state(clean)
      var faults = 0, failed = 0
      for way in Faults.Way.allCases {
        var call = 1 + way.rawValue * Self.step / 5
        while true {
          let scratch = try Scratch()
          try Self.prepare(scratch)
          let mark = build.path("mark")
          // In the first round, the file does not exist yet, so errors are ignored.
          try? FileManager.default.removeItem(atPath: mark)
          let variables = Faults.environment(library, path: scratch.url.path, at: call, way)
          let code = try Self.run(command, scratch, variables.merging(["STRATA_FAULT_MARK": mark]) { $1 })
          if code != 0 {
            failed += 1
            let error = try String(decoding: scratch.data("error"), as: UTF8.self)
            #expect(!error.contains("is damaged") && !error.contains("salvage"), "\(way) at \(call): \(error)")
          }
          guard FileManager.default.fileExists(atPath: mark) else { break }
          faults += 1
          let again = try Self.run(command, scratch)
          let error = try String(decoding: scratch.data("error"), as: UTF8.self)
          #expect(again == 0, "\(way) at \(call): then \(error)")
          #expect(try Self.state(scratch) == expected, "\(way) at \(call)")
          call += Self.step
        }
      }
      print("commands: \(faults) faults at \(command), \(failed) ended it")
    }
  }
#endif
