import Foundation
import Testing

/// The program as it is run.
struct ExecutableTests {
  /// The program stands beside the test bundle.
  private func executable() throws -> URL {
    let places =
      [URL(fileURLWithPath: CommandLine.arguments[0])] + Bundle.allBundles.map(\.bundleURL)
      + [Bundle.main.executableURL].compactMap { $0 }
    let candidates = places.flatMap { place in
      [place, place.deletingLastPathComponent()].map { $0.appendingPathComponent("strata") }
    }
    return try #require(
      candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) }, "strata is not built")
  }

  private func run(
    _ arguments: [String], input: Data? = nil
  ) throws -> (code: Int32, output: Data, error: String) {
    let scratch = try Scratch()
    let process = Process()
    process.executableURL = try executable()
    process.arguments = arguments
    process.environment = ["LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo"]
    process.standardInput = try FileHandle(
      forReadingFrom: URL(fileURLWithPath: scratch.file("in", input ?? Data())))
    let outputPath = try scratch.file("out", Data())
    let errorPath = try scratch.file("err", Data())
    process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: outputPath))
    process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: errorPath))
    try process.run()
    process.waitUntilExit()
    return (
      process.terminationStatus, try scratch.data("out"),
      try String(decoding: scratch.data("err"), as: UTF8.self)
    )
  }

  @Test func standardStreams() throws {
    let archive = try run(["encode", "-", "-o", "-"], input: Data("[1,18446744073709551615]".utf8))
    #expect(archive.code == 0, "\(archive.error)")
    let back = try run(["decode", "-"], input: archive.output)
    #expect(String(decoding: back.output, as: UTF8.self) == "[1,18446744073709551615]\n")
    let checked = try run(["verify", "-"], input: archive.output)
    #expect(checked.code == 0 && checked.error.isEmpty)
  }

  @Test func exitCodes() throws {
    let usage = try run(["verify"])
    #expect(usage.code == 64 && usage.error.hasPrefix("strata: "))
    let failure = try run(["decode", "-"])
    #expect(failure.code == 1 && failure.output.isEmpty)
    #expect(failure.error == "strata: standard input: the file is empty; an archive has at least a header\n")
  }

  @Test func outputDependsOnNoLocale() throws {
    let scratch = try Scratch()
    let folder = scratch.path("tour")
    let tour = try run(["tour", "--output", folder])
    #expect(tour.code == 0, "\(tour.error)")
    let text = String(decoding: tour.output, as: UTF8.self)
    #expect(text.contains("2025-02-24T08:03:17Z"))
    #expect(text.contains("(2,894 bytes of JSON)"))
  }
}
