internal import Foundation
internal import StrataCore

/// An entity tag, which tells one state of a resource from others (RFC 9110, section 8.8.3).
struct EntityTag: Sendable, Hashable {
  let isWeak: Bool
  /// What stands between the quotes.
  let opaque: String

  /// What `If-Match` and `If-None-Match` name.
  enum Condition: Sendable, Hashable {
    /// `*`, which any state matches.
    case any
    case tags([EntityTag])
  }

  init(isWeak: Bool = false, opaque: String) { (self.isWeak, self.opaque) = (isWeak, opaque) }

  /// The strong tag of bytes: half of their digest. So it is the same in each run of the program, and another for other bytes.
  init(of content: Data) {
    let digest = SHA256.digest(of: content.bytes)
    let digits = digest.prefix(16).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }
    self.init(opaque: digits.joined())
  }

  /// As a header has it.
  var text: String { (isWeak ? "W/" : "") + "\"\(opaque)\"" }

  /// Whether both are strong, and the same (section 8.8.3.2).
  func matchesStrongly(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && opaque == other.opaque }

  /// Whether both are the same, weak or strong.
  func matchesWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque }
}

extension EntityTag.Condition {
  /// Reads the value of a field (section 13.1.1). What is no tag, up to the next comma, matches nothing.
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

  /// The tag that begins at a place, which is then behind it; `nil` where none does.
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
