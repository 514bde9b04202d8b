internal import Foundation
internal import StrataCore

/// An entity tag, which identifies a state of a resource (RFC 9110, section 8.8.3).
struct EntityTag: Sendable, Hashable {
  let isWeak: Bool
  /// The text between the quotes.
  let opaque: String

  /// The value of `If-Match` or `If-None-Match`.
  enum Condition: Sendable, Hashable {
    /// `*`, which matches any state.
    case any
    case tags([EntityTag])
  }

  init(isWeak: Bool = false, opaque: String) { (self.isWeak, self.opaque) = (isWeak, opaque) }

  /// Creates a strong tag from the first half of the content's digest. Equal content has the same tag in every run of the program, and
  /// different content has a different tag.
  init(of content: Data) {
    let digest = SHA256.digest(of: content.bytes)
    let digits = digest.prefix(16).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }
    self.init(opaque: digits.joined())
  }

  /// The tag as a header value.
  var text: String { (isWeak ? "W/" : "") + "\"\(opaque)\"" }

  /// Whether both tags are strong and equal (section 8.8.3.2).
  func matchesStrongly(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && opaque == other.opaque }

  /// Whether the tags are equal, regardless of their strength.
  func matchesWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque }
}

extension EntityTag.Condition {
  /// Parses a header value (section 13.1.1). Invalid items between commas are ignored.
  init(_ field: String) {
    guard field.trimmingCharacters(in: .whitespaces) != "*" else {
      self = .any
      return
    }
    let bytes = Array(field.utf8)
    var (tags, place): ([EntityTag], Int) = ([], 0)
    while place < bytes.count {
      while place < bytes.count, " \t,".utf8.contains(bytes[place]) { place += 1 }
      let tag = Self.tag(in: bytes, at: &place)
      let end = bytes[place...].firstIndex(of: UInt8(ascii: ",")) ?? bytes.count
      if let tag, bytes[place..<end].allSatisfy({ " \t".utf8.contains($0) }) { tags.append(tag) }
      place = end
    }
    self = .tags(tags)
  }

  /// Parses the tag at a position and advances the position past it. Returns `nil` if there is no tag.
  private static func tag(in bytes: [UInt8], at place: inout Int) -> EntityTag? {
    let isWeak = bytes[place...].starts(with: "W/".utf8)
    let start = place + (isWeak ? 2 : 0)
    guard start < bytes.count, bytes[start] == UInt8(ascii: "\""),
      let end = bytes[(start + 1)...].firstIndex(of: UInt8(ascii: "\""))
    else { return nil }
    place = end + 1
    return EntityTag(isWeak: isWeak, opaque: String(decoding: bytes[start + 1..<end], as: UTF8.self))
  }
}
