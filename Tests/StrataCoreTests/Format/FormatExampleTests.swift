import Foundation
import StrataCore
import StrataTestSupport
import Testing

private struct Label: Equatable {
  var name: String
  var color: String
}

extension Label: DescribedModel {
  static let fields = Fields(
    Label.self, version: 1, Field("name", \.name), Field("color", \.color),
    make: { Label(name: $0, color: $1) })
}

/// Checks that the library writes and reads the worked example in Docs/Format.md.
@Suite struct FormatExampleTests {
  private let labels = [Label(name: "bug", color: "red"), Label(name: "red", color: "red")]
  private let fixture = Repository.fixtures.appending(path: "archives/v1/example.strata")

  /// The bytes of the hex dump in section 13, whose lines contain an offset and up to sixteen bytes.
  private func documented() throws -> Data {
    let text = try Repository.text("Docs/Format.md")
    let dump = text.split(separator: "\n").filter { $0.prefixMatch(of: /\ {4}[0-9a-f]{4}\ \ [0-9a-f]{2}(\ |$)/) != nil }
    return Data(dump.flatMap { $0.dropFirst(10).split(separator: " ").compactMap { UInt8($0, radix: 16) } })
  }

  @Test func theDocumentShowsWhatIsWritten() throws {
    let documented = try documented()
    #expect(documented.count == 129)
    #expect(try ArchiveEncoder(compression: .none).encode(labels) == documented)
    #expect(try ArchiveDecoder().decode([Label].self, from: documented) == labels)
  }

  @Test func theFixtureIsTheExample() throws {
    // A fixture is never overwritten, because it documents the bytes of an earlier release.
    if ProcessInfo.processInfo.environment["STRATA_WRITE_FIXTURES"] == "1" {
      try FileManager.default.createDirectory(
        at: fixture.deletingLastPathComponent(), withIntermediateDirectories: true)
      try documented().write(to: fixture, options: .withoutOverwriting)
    }
    #expect(try Data(contentsOf: fixture) == documented())
    #expect(try ArchiveDecoder().decode([Label].self, from: fixture) == labels)
  }
}
