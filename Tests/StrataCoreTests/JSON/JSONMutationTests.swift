import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// A small document with every element of the grammar.
private let document = Array(
  (#"{"a": [1, -2.5e+3, 0.30000000000000004, 1e400, "x\n\u00e9\ud83d\ude00é日🦀", true, false, null], "#
    + #""b": {"c": {}, "d": [], "a": 18446744073709551616}, "e": 3.14159265358979323846}"#).utf8)

/// Checks that a text is either read and written back unchanged, or rejected with a position.
private func check(_ bytes: [UInt8]) {
  do {
    let value = try JSONReader().read(Data(bytes))
    let text = try JSONWriter().write(value)
    #expect(try JSONReader().read(text) == value, "\(bytes)")
    #expect(try JSONWriter().write(JSONReader().read(text)) == text, "\(bytes)")
    _ = try JSONSerialization.jsonObject(with: text, options: .fragmentsAllowed)
  } catch let error as ArchiveError {
    #expect(error.code == .invalidJSON, "\(bytes)")
    #expect(error.byteOffset.map { $0 <= bytes.count } == true, "\(bytes)")
    #expect(error.reason.hasPrefix("line "), "\(bytes)")
  } catch {
    // The only other error comes from Foundation, which rejects numbers that exceed a double.
    #expect(!bytes.isEmpty)
  }
}

@Suite("JSON: mutated documents")
struct JSONMutationTests {
  @Test("Every truncated document throws invalidJSON")
  func truncations() throws {
    check(document)
    _ = try JSONReader().read(Data(document))
    for count in document.indices {
      let error = #expect(throws: ArchiveError.self) { try JSONReader().read(Data(document[..<count])) }
      #expect(error?.code == .invalidJSON)
    }
  }

  @Test("A document with a flipped bit either round-trips or throws invalidJSON with a position")
  func flips() {
    for place in document.indices {
      for bit in 0..<8 {
        var changed = document
        changed[place] ^= 1 << bit
        check(changed)
      }
    }
  }

  @Test("A document with randomly moved pieces either round-trips or throws invalidJSON with a position", .tags(.long))
  func splices() {
    let seed = UInt64.random(in: 0 ... .max)
    print("JSON splices: seed \(seed)")
    var random = SeededRandom(seed: seed)
    for _ in 0..<Effort.rounds(300, long: 3000) {
      var changed = document
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let start = Int.random(in: 0..<changed.count, using: &random)
        let end = min(changed.count, start + Int.random(in: 0...12, using: &random))
        let piece = Array(changed[start..<end])
        if Bool.random(using: &random) { changed.removeSubrange(start..<end) }
        changed.insert(contentsOf: piece, at: Int.random(in: 0...changed.count, using: &random))
        if changed.isEmpty { changed = document }
      }
      check(changed)
    }
  }
}
