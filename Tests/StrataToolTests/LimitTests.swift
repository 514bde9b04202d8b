import Foundation
import StrataTool
import StrataTestSupport
import Testing

/// Limits that a command is told.
struct LimitTests {
  @Test("X-33: commands that read archives take limits on values, bytes and steps")
  func limits() throws {
    let scratch = try Scratch()
    let json = try scratch.file("in.json", Data(#"["some text", "some text", "some text", 1, 2, 3]"#.utf8))
    let archive = scratch.path("in.strata")
    #expect(Run("encode", json, "-o", archive).code == 0)
    Run("decode", archive, "--max-values", "3").expectFailure("more values", "values")
    Run("decode", archive, "--max-bytes", "17").expectFailure("more bytes", "expandedBytes")
    Run("inspect", archive, "--max-values", "3").expectFailure("more values")
    #expect(Run("verify", archive, "--max-values", "3").code == 1)
    #expect(Run("decode", archive, "--max-values", "100", "--max-bytes", "18", "--max-steps", "0").code == 0)
    #expect(Run("decode", archive, "--max-values", "-1").code == 64)

    let list = Legacy.path("bookmarks.plist")
    Run("convert", list, "-o", "-", "--max-bytes", "3").expectFailure("more bytes", "expandedBytes")
    #expect(Run("convert", list, "-o", "-", "--max-bytes", "10000").code == 0)
  }
}
