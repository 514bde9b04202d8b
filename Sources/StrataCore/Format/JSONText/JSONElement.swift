/// A value in a JSON text whose syntax has been checked. A value is decoded only when it is accessed.
///
/// A type that implements `decode(fromJSON:in:)` reads from this element. An element cannot outlive the text.
public struct JSONElement: ~Escapable {
  /// The kinds of JSON values.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// `null`.
    case null
    /// `true` or `false`.
    case boolean
    /// A number with any number of digits.
    case number
    /// A string in quotes.
    case string
    /// An array, written in brackets.
    case array
    /// An object, written in braces.
    case object
  }

  package let bytes: RawSpan
  package let tokens: JSONTokens
  package let place: Int

  @_lifetime(copy bytes, copy tokens)
  @inline(__always)
  package init(_ bytes: RawSpan, _ tokens: JSONTokens, at place: Int) {
    self.bytes = bytes
    self.tokens = tokens
    self.place = place
  }

  @inline(__always)
  package var token: JSONToken { tokens[place] }

  /// Returns the value in the same text whose token has this index.
  @usableFromInline
  @inline(__always)
  @_lifetime(copy self)
  package func element(at place: Int) -> JSONElement { JSONElement(bytes, tokens, at: place) }

  /// Returns the index of the first token after a value. `place` is the index of the value's token.
  @usableFromInline
  @inline(__always)
  package func place(after place: Int) -> Int {
    let token = tokens[place]
    return token.isContainer ? token.next : place &+ 1
  }

  /// The bytes of a scalar in the text. The quotes of a string are not included.
  @inline(__always)
  package var text: RawSpan {
    @_lifetime(copy self)
    get { text(of: tokens[place]) }
  }

  @inline(__always)
  @_lifetime(copy self)
  package func text(of token: JSONToken) -> RawSpan {
    // The bounds are not checked again, because the tokenizer has checked them.
    bytes.extracting(unchecked: token.offset..<token.offset &+ token.length)
  }

  /// The kind of the value.
  public var kind: Kind {
    switch token.kind {
    case .null: .null
    case .yes, .no: .boolean
    case .integer, .fraction: .number
    case .string, .escapedString: .string
    case .array: .array
    case .object: .object
    }
  }

  /// Whether the value is null.
  public var isNull: Bool { token.kind == .null }

  /// The offset of the value in the text, in bytes. For a string, the offset after the opening quote.
  public var byteOffset: Int { token.offset }

  /// The content of a string, with escapes decoded; `nil` for any other kind of value.
  public var stringValue: String? {
    if token.isPlainString { return ByteBuffer.validString(text) }
    return token.kind == .escapedString ? Self.unescaped(text) : nil
  }

  /// The text of a number with all its digits; `nil` for any other kind of value.
  public var numberText: String? { kind == .number ? ByteBuffer.validString(text) : nil }

  /// The value under a key; `nil` if the key is absent or this value is not an object. If the key occurs more than
  /// once, the last value is returned.
  ///
  /// - Complexity: linear in the number of members.
  public subscript(key: String) -> JSONElement? {
    @_lifetime(copy self)
    get {
      guard let place = place(ofKey: key) else { return nil }
      return element(at: place)
    }
  }

  private func place(ofKey key: String) -> Int? {
    guard token.kind == .object else { return nil }
    var found: Int?
    var place = place &+ 1
    let end = token.next
    while place < end {
      if ExactKey.isSame(self.key(at: place), key) { found = place &+ 1 }
      place = self.place(after: place &+ 1)
    }
    return found
  }

  /// Returns the token index of the first element of this array.
  @usableFromInline
  func firstElement() throws -> Int {
    guard token.kind == .array else { throw mismatch("an array") }
    return place &+ 1
  }

  /// The index of the first token after this array or object.
  @usableFromInline
  var end: Int { token.next }

  /// Returns the error with a byte offset and with an array index at the front of its path.
  @usableFromInline
  func error(_ error: any Error, atIndex index: Int) -> any Error { located(error).prefixed(by: .index(index)) }

  /// Calls `body` with each element of an array, in order.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` if this value is not an array, and any error that `body`
  ///   throws, with the index at the front of the error's path.
  public func forEachElement(_ body: (JSONElement) throws -> Void) throws {
    var place = try firstElement()
    var index = 0
    while place < end {
      do { try body(element(at: place)) } catch {
        throw element(at: place).error(error, atIndex: index)
      }
      index &+= 1
      place = self.place(after: place)
    }
  }

  /// Calls `body` with each key and value of an object, in order, including duplicate keys.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` if this value is not an object, and any error that
  ///   `body` throws, with the key at the front of the error's path.
  public func forEachMember(_ body: (String, JSONElement) throws -> Void) throws {
    guard token.kind == .object else { throw mismatch("an object") }
    var place = place &+ 1
    let end = token.next
    while place < end {
      let key = key(at: place)
      do { try body(key, element(at: place &+ 1)) } catch {
        throw element(at: place &+ 1).located(error).prefixed(by: .key(key))
      }
      place = self.place(after: place &+ 1)
    }
  }

  package func key(at place: Int) -> String {
    let token = tokens[place]
    return token.kind == .string ? ByteBuffer.validString(text(of: token)) : Self.unescaped(text(of: token))
  }

  @inline(never)
  private static func unescaped(_ bytes: RawSpan) -> String {
    let string = JSONEscape.unescaped(bytes)
    return string.withBytes { ByteBuffer.validString($0) }
  }

  /// The name of the kind, for messages. It is the same as ``ArchiveValue/kind`` of the decoded value.
  package var kindName: String { token.isContainer ? kind.rawValue : scalar(at: place).kind }

  /// The decoded value, for errors that contain the rejected value.
  package var refused: ArchiveValue? {
    // `try?` is safe, because decoding fails only if duplicate keys are rejected.
    try? lastValue().value
  }

  /// Returns the error for a value of an unexpected kind, with the byte offset of the value.
  public func mismatch(_ expected: String) -> ArchiveError {
    ArchiveError.mismatch(expected: expected, found: kindName, at: token.offset).about(refused)
  }

  /// Returns the error with a byte offset, unless it already has one. The offset is the position of the value at the error's
  /// path, or of the innermost existing value along that path.
  package func located(_ error: any Error) -> ArchiveError {
    let known = ArchiveError.wrap(error)
    guard known.byteOffset == nil else { return known }
    let place = place(along: known.jsonPath)
    let located = known.changed { $0.byteOffset = tokens[place].offset }
    switch known.code {
    case .typeMismatch, .unknownCase, .rejected:
      return known.input == nil ? located.about(element(at: place).refused) : located
    default: return located
    }
  }

  private func place(along path: [ArchiveError.PathComponent]) -> Int {
    var place = place
    for component in path {
      let element = element(at: place)
      let next: Int?
      switch component {
      case .key(let key): next = element.place(ofKey: key)
      case .index(let index): next = element.place(ofIndex: index)
      }
      guard let next else { break }
      place = next
    }
    return place
  }

  func place(ofIndex index: Int) -> Int? {
    guard token.kind == .array, index >= 0 else { return nil }
    var (place, rest) = (place &+ 1, index)
    while rest > 0, place < token.next { (place, rest) = (self.place(after: place), rest - 1) }
    return place < token.next ? place : nil
  }
}

extension JSONElement {
  /// The cost of examining the whole value: one for each value in it, plus one for every 16 bytes of each scalar.
  var weight: Int {
    guard token.isContainer else { return 1 + token.length / 16 }
    var weight = 1
    for place in place + 1..<max(place + 1, token.next) {
      weight += tokens[place].isContainer ? 1 : 1 + tokens[place].length / 16
    }
    return weight
  }
}
