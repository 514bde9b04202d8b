/// A value or a key in a JSON text, with its kind, its start and its length.
///
/// The tokens of a document are stored in one array, in text order. A container precedes its contents, and a key
/// precedes its value. The tokens of `{"a": [1, "x"]}` are:
///
///     0 object   from byte 0, next token 5, 1 member
///     1 string   from byte 2, 1 byte
///     2 array    from byte 6, next token 5, 2 elements
///     3 integer  from byte 7, 1 byte
///     4 string   from byte 11, 1 byte
package struct JSONToken: BitwiseCopyable, Sendable {
  package enum Kind: UInt8, Sendable {
    case null, yes, no
    /// A number without a fraction and without an exponent.
    case integer
    /// A number with a fraction or an exponent.
    case fraction
    /// A string without escapes. Its bytes in the text are its content.
    case string
    /// A string with escapes.
    case escapedString
    case array, object
  }

  /// The kind in the highest byte, and the byte offset in the other seven bytes.
  fileprivate let head: UInt64
  /// For a scalar, the length in bytes. For a container, the lower 40 bits are the index of the token after the
  /// container, and the upper 24 bits are the number of elements or members, at most ``mostCounted``.
  fileprivate var tail: UInt64

  @inline(__always)
  package init(_ kind: Kind, at offset: Int, length: Int) {
    head = UInt64(kind.rawValue) &<< 56 | UInt64(truncatingIfNeeded: offset)
    tail = UInt64(truncatingIfNeeded: length)
  }

  @inline(__always)
  package var kind: Kind { Kind(rawValue: UInt8(truncatingIfNeeded: head &>> 56)) ?? .null }

  /// The byte offset of the value. For a string, the offset after the opening quote.
  @inline(__always)
  package var offset: Int { Int(truncatingIfNeeded: head & 0xFF_FFFF_FFFF_FFFF) }

  @inline(__always)
  package var length: Int { Int(truncatingIfNeeded: tail) }

  @inline(__always)
  package var next: Int { Int(truncatingIfNeeded: tail & 0xFF_FFFF_FFFF) }

  /// The number of elements or members of a container, at most ``mostCounted``.
  @inline(__always)
  package var count: Int { Int(truncatingIfNeeded: tail &>> 40) }

  package static let mostCounted = 0xFF_FFFF

  /// Returns the value of `tail` for a container that has ended. `next` is the index of the token after the container.
  @inline(__always)
  package static func tail(next: Int, count: Int) -> UInt64 {
    UInt64(truncatingIfNeeded: next) | UInt64(truncatingIfNeeded: min(count, mostCounted)) &<< 40
  }

  @inline(__always)
  fileprivate init(head: UInt64, tail: UInt64) {
    self.head = head
    self.tail = tail
  }

  @inline(__always)
  package var isContainer: Bool { head &>> 56 >= UInt64(Kind.array.rawValue) }

  /// Whether this is a string without escapes.
  @inline(__always)
  package var isPlainString: Bool { head &>> 56 == UInt64(Kind.string.rawValue) }
}

/// Read access to the tokens of a document.
package struct JSONTokens: ~Escapable {
  private let bytes: RawSpan

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan) { self.bytes = bytes }

  @_lifetime(immortal)
  init() { bytes = RawSpan() }

  /// Returns the token at an index, which must be valid.
  @inline(__always)
  package subscript(place: Int) -> JSONToken {
    JSONToken(
      head: bytes.unsafeLoad(fromByteOffset: place &* 16, as: UInt64.self),
      tail: bytes.unsafeLoad(fromByteOffset: place &* 16 &+ 8, as: UInt64.self))
  }
}

/// The tokens of a document during tokenizing. This is not an array, because an array would check at each append whether its storage is
/// shared.
struct JSONTokenBuffer: ~Copyable {
  private(set) var buffer: ByteBuffer

  init(minimumCapacity: Int) { buffer = ByteBuffer(minimumCapacity: minimumCapacity &* 16) }

  @inline(__always)
  var count: Int { buffer.count &>> 4 }

  @inline(__always)
  mutating func append(_ token: JSONToken) { buffer.append(words: token.head, token.tail) }

  @inline(__always)
  mutating func close(_ place: Int, next: Int, count: Int) {
    buffer.overwrite(at: place &* 16 &+ 8, withWord: JSONToken.tail(next: next, count: count))
  }
}
