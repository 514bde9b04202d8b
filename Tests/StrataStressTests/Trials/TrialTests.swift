import Foundation
import StrataTestSupport
import Testing

@Suite("Fuzzing seeds and findings")
struct TrialTests {
  private static func files(_ folder: String) throws -> [URL] {
    let folder = Repository.root.appending(path: folder)
    guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
    return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      .sorted { $0.path < $1.path }
  }

  @Test("The fuzzing trials pass for all seeds and findings", .tags(.long), arguments: Trial.allCases)
  func replay(trial: Trial) throws {
    let seeds = try Self.files("Tests/Fuzz/Seeds/\(trial)")
    #expect(!seeds.isEmpty)
    for file in try Effort.sample(12, of: seeds) + Self.files("Fixtures/fuzz/\(trial)") {
      #expect(throws: Never.self, "\(trial): \(file.lastPathComponent)") { try trial.run(Data(contentsOf: file)) }
    }
  }
}
