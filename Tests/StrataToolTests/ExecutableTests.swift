import Foundation
import StrataTestSupport
import Testing

/// Tests of the program that run it in a separate process.
struct ExecutableTests {
  @Test func standardStreams() throws {
    let archive = try Executable.run(["encode", "-", "-o", "-"], input: Data("[1,18446744073709551615]".utf8))
    #expect(archive.code == 0, "\(archive.error)")
    let back = try Executable.run(["decode", "-"], input: archive.output)
    #expect(String(decoding: back.output, as: UTF8.self) == "[1,18446744073709551615]\n")
    let checked = try Executable.run(["verify", "-"], input: archive.output)
    #expect(checked.code == 0 && checked.error.isEmpty)
  }

  @Test func exitCodes() throws {
    let usage = try Executable.run(["verify"])
    #expect(usage.code == 64 && usage.error.hasPrefix("strata: "))
    let failure = try Executable.run(["decode", "-"])
    #expect(failure.code == 1 && failure.output.isEmpty)
    #expect(failure.error == "strata: standard input: the file is not an archive because it is empty\n")
  }

  @Test func outputDependsOnNoLocale() throws {
    let scratch = try Scratch()
    let folder = scratch.path("tour")
    let tour = try Executable.run(["tour", "--output", folder])
    #expect(tour.code == 0, "\(tour.error)")
    let text = String(decoding: tour.output, as: UTF8.self)
    #expect(text.contains("2025-02-24T08:03:17Z"))
    #expect(text.contains("(2,894 bytes of JSON)"))
  }
}
