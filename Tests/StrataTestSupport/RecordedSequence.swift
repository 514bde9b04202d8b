import Foundation
package import StrataCore
import Testing

/// Successive responses of a server for the same resource. Each sequence is a folder of the corpus.
package struct RecordedSequence: Decodable, Sendable, CustomTestStringConvertible {
  /// The path of the folder.
  package let seq: String
  package let steps: Int

  package var testDescription: String { seq }

  package static let all: [RecordedSequence] = {
    // Without the corpus there are no sequences, so a test that checks their number fails.
    guard let data = try? Corpus.data("MERGE_SEQUENCES.json") else { return [] }
    return (try? JSONDecoder().decode([RecordedSequence].self, from: data)) ?? []
  }()

  package func documents() throws -> [ArchiveValue] {
    try Corpus.jsonFiles(in: seq).map { try JSONReader().read(Corpus.data($0)) }
  }
}
