import Foundation
import StrataTestSupport
import Testing

/// Checks the first golden results of `Tests/Behaviour`. `.ci/run` checks all of them, with the release build.
@Suite("Golden results")
struct GoldenResultTests {
  private static let python = "/usr/bin/python3"

  @Test(
    "Merges and upgrades reproduce the recorded results and reports",
    .enabled(if: FileManager.default.isExecutableFile(atPath: python), "Python 3 is not installed"))
  func few() throws {
    let output = Pipe()
    let process = Process()
    process.executableURL = URL(filePath: Self.python)
    process.arguments = [
      Repository.root.appending(path: "Tests/Scripts/behaviour").path, try Products.path("strata-behaviour"), "--few",
    ]
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(text)")
  }
}
