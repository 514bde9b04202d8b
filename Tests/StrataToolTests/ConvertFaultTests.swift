import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// Makes each system call of `convert` fail once.
@Suite("convert with failing system calls") struct ConvertFaultTests {
  private static let faults: [SystemCall.Outcome] = [
    .fails(EIO), .fails(ENOSPC), .fails(EINTR), .fails(EACCES), .isShort,
  ]
  /// System calls that `convert` always makes.
  private static let calls: Set<SystemCall> = [
    .open, .read, .write, .status, .synchronize, .close, .rename, .list,
  ]
  private static let files = ["bookmarks.plist", "settings.bplist", "everything.plist"]

  /// The results of conversions without faults: of the original files (`false`), and after one of them has changed (`true`).
  private static let converted = Result {
    try [false: convert(files, as: files), true: convert(["settings.plist"] + files.dropFirst(), as: files)]
  }

  private static func convert(_ files: [String], as names: [String]) throws -> [String: Data] {
    let scratch = try Scratch()
    let (input, output) = (scratch.path("old"), scratch.path("new"))
    try FileManager.default.createDirectory(atPath: input, withIntermediateDirectories: true)
    for (file, name) in zip(files, names) { try Legacy.data(file).write(to: URL(fileURLWithPath: input + "/" + name)) }
    #expect(Run("convert", input, "-o", output).code == 0)
    return try withExtendedLifetime(scratch) { try archives(output) }
  }

  private static func archives(_ folder: String) throws -> [String: Data] {
    guard FileManager.default.fileExists(atPath: folder) else { return [:] }
    var result: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasSuffix(".strata") {
      result[name] = FileManager.default.contents(atPath: folder + "/" + name)
    }
    return result
  }

  /// Each archive must be complete or absent, a failure must be reported, and the next run must write the remaining archives.
  ///
  /// - Parameter isAgain: whether an earlier run converted all files and one of them has changed since.
  @Test(
    "X-30: after a failed system call, each archive is either the old one or the new one", .tags(.long),
    arguments: [false, true], SystemCall.allCases)
  func faults(isAgain: Bool, call: SystemCall) throws {
    for fault in Effort.sample(1, of: Self.faults) {
      for number in stride(from: 0, to: 1000, by: Effort.rounds(5, long: 2)) {
        guard try run(call, number, fault, isAgain) else {
          #expect(number > 0 || !Self.calls.contains(call), "convert makes no call \(call)")
          break
        }
      }
    }
  }

  /// - Returns: whether the command made enough calls to reach the failing one.
  private func run(_ call: SystemCall, _ number: Int, _ fault: SystemCall.Outcome, _ isAgain: Bool) throws -> Bool {
    let scratch = try Scratch()
    let (input, output) = (scratch.path("old"), scratch.path("new"))
    try FileManager.default.createDirectory(atPath: input, withIntermediateDirectories: true)
    for name in Self.files { try Legacy.data(name).write(to: URL(fileURLWithPath: input + "/" + name)) }
    var old: [String: Data] = [:]
    if isAgain {
      #expect(Run("convert", input, "-o", output).code == 0)
      old = try Self.archives(output)
      try Legacy.data("settings.plist").write(to: URL(fileURLWithPath: input + "/bookmarks.plist"))
    }
    let new = try #require(Self.converted.get()[isAgain])
    #expect(new.count == 3)

    let plan = FaultPlan(call, number, fault)
    let failed = plan.run { Run("convert", input, "-o", output, "--jobs", "1") }
    guard plan.wasReached else { return false }
    let place: Comment = "\(call) \(number), \(fault), again: \(isAgain): \(failed.text) \(failed.error)"
    let found = try Self.archives(output)
    for (name, data) in found { #expect(data == new[name] || data == old[name], place) }
    for name in old.keys { #expect(found[name] != nil, place) }
    // If the status of a file cannot be read, converting that file fails. A folder that cannot be synchronized is not an error.
    if failed.code == 0 { #expect(found == new, place) } else { #expect(!failed.text.isEmpty || !failed.error.isEmpty) }
    // Interrupted calls, except `close`, and short calls must not make `convert` fail.
    if fault == .fails(EINTR) && call != .close || fault == .isShort { #expect(failed.code == 0, place) }

    let again = Run("convert", input, "-o", output)
    #expect(again.code == 0, "\(place): then \(again.text) \(again.error)")
    #expect(try Self.archives(output) == new, place)
    let names = try Set(FileManager.default.contentsOfDirectory(atPath: output))
    #expect(names == Set(new.keys).union([".strata-convert.jsonl"]), place)
    return true
  }
}
