import StrataCore
import StrataTestSupport
import Testing

@Suite("Byte buffers")
struct ByteBufferTests {
  @Test("Bytes become a string exactly if they are valid UTF-8", .tags(.long))
  func validation() {
    // A byte from each class that the UTF-8 rules distinguish, plus neighboring bytes.
    let classes: [UInt8] = [
      0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED,
      0xEE,
      0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF, 0xBD,
    ]
    for first in classes {
      for second in classes {
        for third in Effort.sample(5, of: classes) {
          for prefix in ["", "0123456", "0123456789abcdef"] {
            for tail: [UInt8] in [[], [0x80], [0xBF, 0x41]] {
              expectSame(Array(prefix.utf8) + [first, second, third] + tail)
            }
          }
        }
      }
    }
    expectSame([])
    // The replacement character is as long as the bytes that it replaces.
    expectSame([0xF0, 0x9F, 0x98])
    expectSame(Array("\u{FFFD}".utf8))
  }

  private func expectSame(_ bytes: [UInt8]) {
    let made = bytes.withUnsafeBytes { ByteBuffer.string($0) }
    let validated = String(validating: bytes, as: UTF8.self)
    if made.map({ Array($0.utf8) }) != validated.map({ Array($0.utf8) }) {
      Issue.record("\(bytes) made \(String(describing: made))")
    }
  }

  @Test("Repeated strings of any length are encoded as references, and similar strings are not")
  func uniqueStrings() throws {
    for length in 3..<80 {
      let text = String(repeating: "abcdefghijklmnop", count: 5).prefix(length)
      // Each text differs from the original in one character.
      var texts = (0..<length).map { place in
        String(text.enumerated().map { $0 == place ? "#" : $1 })
      }
      texts += texts
      let data = try ArchiveEncoder().encodeBody(texts)
      #expect(try ArchiveDecoder().decodeBody([String].self, from: data) == texts)
      #expect(data.count < length * (length + 2) + length * 4 + 10)
    }
  }
}
