import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// A model whose rule rejects an empty text. If the text is "damage", its hook throws a damage error.
private struct Word: DescribedModel, Validating, PostDecoding, Equatable {
  var text: String
  static let fields = Fields(Word.self, name: "StreamWord", version: 1, Field("text", \.text), make: { Word(text: $0) })
  static let validation = Validation<Word>(.check("text", \.text, .nonEmpty))

  mutating func didDecode(from source: DecodingSource) throws {
    if text == "damage" { throw ArchiveError(.damaged, "the text is none") }
  }
}

@Suite("Streams: an invalid member does not affect the next one")
struct StreamFailureTests {
  @Test("Skipping damage drops only the member that has an invalid and a damaged model")
  func skipped() throws {
    try withFolder { folder in
      let url = folder.appending(path: "words.strata")
      var isNew = true
      for words in [["a"], ["", "damage"], ["b", "c"]] {
        var writer =
          try isNew ? ArchiveStreamWriter<Word>(creating: url) : ArchiveStreamWriter<Word>(appendingTo: url)
        isNew = false
        for word in words { try writer.append(Word(text: word)) }
        try writer.finish()
      }
      var iterator = ArchiveSequence(Word.self, from: url, damage: .skips).makeAsyncIterator()
      var words: [String] = []
      while let word = try iterator.next() { words.append(word.text) }
      #expect(words == ["a", "b", "c"] && iterator.gaps.count == 1)
    }
  }
}
