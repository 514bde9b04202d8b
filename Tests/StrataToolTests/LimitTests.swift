import Foundation
import StrataTool
import StrataTestSupport
import Testing

/// Tests the limits that commands take as arguments.
struct LimitTests {
  @Test("X-33: commands that read archives accept limits on values, bytes and steps")
  func limits() throws {
    let scratch = try Scratch()
    let json = try scratch.file("in.json", Data(#"["some text", "some text", "some text", 1, 2, 3]"#.utf8))
    let archive = scratch.path("in.strata")
    #expect(Run("encode", json, "-o", archive).code == 0)
    Run("decode", archive, "--max-values", "3").expectFailure("more than 3 values", "values")
    Run("decode", archive, "--max-bytes", "17").expectFailure("references expand to more than", "expandedBytes")
    Run("inspect", archive, "--max-values", "3").expectFailure("more than 3 values")
    #expect(Run("verify", archive, "--max-values", "3").code == 1)
    #expect(Run("decode", archive, "--max-values", "100", "--max-bytes", "18", "--max-steps", "0").code == 0)
    #expect(Run("decode", archive, "--max-values", "-1").code == 64)

    let list = Legacy.path("bookmarks.plist")
    Run("convert", list, "-o", "-", "--max-bytes", "3").expectFailure("references expand to more than", "expandedBytes")
    #expect(Run("convert", list, "-o", "-", "--max-bytes", "10000").code == 0)
  }

  @Test("Readers with default limits open an archive that convert wrote with higher limits")
  func convertedOpens() throws {
    let scratch = try Scratch()
    // Creates a binary property list whose root is an array of references to object 1, which is `true`.
    let count = 4_300_000
    var data = Data("bplist00".utf8)
    func append(_ bytes: [UInt8]) { data.append(contentsOf: bytes) }
    func append(_ number: Int, size: Int) {
      append((0..<size).map { UInt8(truncatingIfNeeded: number >> (8 * (size - 1 - $0))) })
    }
    append([0xAF, 0x12])
    append(count, size: 4)
    append(Array(repeating: 1, count: count))
    append([0x09])
    let offsets = data.count
    append(8, size: 4)
    append(offsets - 1, size: 4)
    append([0, 0, 0, 0, 0, 0, 4, 1])
    for number in [2, 0, offsets] { append(number, size: 8) }
    let list = try scratch.file("many.plist", data), archive = scratch.path("many.strata")
    #expect(Run("convert", list, "-o", archive, "--max-values", "100000000").code == 0)
    #expect(Run("verify", archive).code == 0)
  }
}
