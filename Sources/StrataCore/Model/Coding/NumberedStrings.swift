import Foundation

/// The strings of a body, indexed by their reference numbers (Docs/Format.md, section 5).
package struct NumberedStrings {
  /// The number of strings in a body without references; -1 in a body with references. Strings are stored only in a body
  /// with references.
  private var countAlone = -1
  /// The last text in a body without references. If the next text is equal, both share the same memory.
  private var lastAlone = ""
  private var texts: [String] = []
  private var others: Others?

  /// The numbered data and URLs of a body. A separate class keeps the reader small, because few bodies contain data or
  /// URLs.
  private final class Others {
    // Swift's exclusive access check is disabled, because only the reader uses these properties, and the check would cost more than the
    // access.
    @exclusivity(unchecked) var data: [Int: Data] = [:]
    @exclusivity(unchecked) var urls: [URL?] = []
  }

  init() {}

  /// Creates the list of strings for a new body.
  ///
  /// - Parameter areReferred: whether the body may contain references to the strings. If false, the strings are only counted.
  init(areReferred: Bool) { countAlone = areReferred ? -1 : 0 }

  /// Whether the strings are kept, because the body may contain references to them.
  var isKept: Bool { countAlone < 0 }

  var count: Int { countAlone < 0 ? texts.count : countAlone }

  /// Returns the text with the given number, which must be valid; `nil` if the number refers to data.
  @inline(__always)
  func text(_ number: Int) -> String? { data(number) == nil ? texts[number] : nil }

  @inline(__always)
  func data(_ number: Int) -> Data? { others?.data[number] }

  /// Returns the URL that was parsed from the text with this number; `nil` if the text has not been parsed as a URL.
  func url(_ number: Int) -> URL? {
    guard let others, number < others.urls.count else { return nil }
    return others.urls[number]
  }

  /// Assigns the next number to a text.
  ///
  /// - Returns: the text to use, and whether the text needs new memory. A text that equals the previous one shares its memory. Such
  ///   repetitions occur because an encoder with a full string index writes repeated texts in full.
  @inline(__always)
  mutating func append(_ text: String) -> (text: String, isNew: Bool) {
    guard isKept else { return appendAlone(text) }
    if let last = texts.last, last.utf8.count == text.utf8.count, ExactKey.isSame(last, text) {
      texts.append(last)
      return (last, false)
    }
    texts.append(text)
    return (text, true)
  }

  private mutating func appendAlone(_ text: String) -> (text: String, isNew: Bool) {
    countAlone &+= 1
    if lastAlone.utf8.count == text.utf8.count, ExactKey.isSame(lastAlone, text) { return (lastAlone, false) }
    lastAlone = text
    return (text, true)
  }

  /// Assigns the next number to data.
  mutating func append(_ content: Data) {
    guard isKept else { return countAlone &+= 1 }
    kept.data[count] = content
    texts.append("")
  }

  /// Numbers the texts at the start of a body, beginning with 0.
  mutating func begin(with first: [String]) {
    if isKept { texts = first } else { countAlone = first.count }
  }

  /// Caches the URL that was parsed from the text with this number.
  mutating func remember(_ url: URL, _ number: Int) {
    guard isKept else { return }
    let kept = kept
    while kept.urls.count <= number { kept.urls.append(nil) }
    kept.urls[number] = url
  }

  private var kept: Others {
    mutating get {
      if let others { return others }
      let new = Others()
      others = new
      return new
    }
  }

  /// Removes all strings with this number or a higher number.
  mutating func removeAll(from number: Int) {
    guard count > number else { return }
    guard isKept else { return countAlone = number }
    texts.removeLast(texts.count - number)
    guard let others else { return }
    if others.urls.count > number { others.urls.removeLast(others.urls.count - number) }
    for known in others.data.keys where known >= number { others.data[known] = nil }
  }
}

extension RawSpan {
  /// Whether a body may contain a string reference. Searches for the tag number 25 after the head of a tag, in any encoding, eight bytes at
  /// a time. Text or data can contain the same bytes, so the result can be true even if there is no reference.
  package var mayHoldReference: Bool {
    let tag = UInt8(truncatingIfNeeded: CBOR.Tag.stringReference)
    let pattern = UInt64(tag) &* 0x0101_0101_0101_0101
    var place = 0
    while byteCount &- place >= 8 {
      let difference =
        UInt64(littleEndian: unsafeLoadUnaligned(fromUncheckedByteOffset: place, as: UInt64.self)) ^ pattern
      // Sets the highest bit of each byte that equals the tag number. The calculation may also set the bits of bytes above such a byte, so
      // each hit is checked again.
      var hits = (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080
      while hits != 0 {
        if isReference(at: place &+ hits.trailingZeroBitCount / 8) { return true }
        hits &= hits &- 1
      }
      place &+= 8
    }
    while place < byteCount {
      if isReference(at: place) { return true }
      place &+= 1
    }
    return false
  }

  /// Whether the byte at this position is the tag number 25, following the head of a tag or a zero byte of a longer tag
  /// number.
  private func isReference(at place: Int) -> Bool {
    guard place > 0, unsafeLoad(fromUncheckedByteOffset: place, as: UInt8.self) == CBOR.Tag.stringReference else {
      return false
    }
    let before = unsafeLoad(fromUncheckedByteOffset: place &- 1, as: UInt8.self)
    return before == 0xD8 || before == 0
  }
}
