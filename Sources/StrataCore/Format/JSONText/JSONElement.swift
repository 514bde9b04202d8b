/// A value of a JSON text that was checked but not made: only what is asked for costs anything.
///
/// A model's own `make(fromJSON:in:)` reads from it. It cannot outlive the text.
public struct JSONElement: ~Escapable {
  /// What JSON knows.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// `null`.
    case null
    /// `true` or `false`.
    case boolean
    /// A number, of any length.
    case number
    /// A text in quotes.
    case string
    /// Elements in brackets.
    case array
    /// Members in braces.
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

  /// The value at another place of the same text.
  @usableFromInline
  @inline(__always)
  @_lifetime(copy self)
  package func element(at place: Int) -> JSONElement { JSONElement(bytes, tokens, at: place) }

  /// The place of the token after the value of the token given.
  @usableFromInline
  @inline(__always)
  package func place(after place: Int) -> Int {
    let token = tokens[place]
    return token.isContainer ? token.next : place &+ 1
  }

  /// The bytes of a scalar as they are in the text; of a string without its quotes.
  @inline(__always)
  package var text: RawSpan {
    @_lifetime(copy self)
    get { text(of: tokens[place]) }
  }

  @inline(__always)
  @_lifetime(copy self)
  package func text(of token: JSONToken) -> RawSpan {
    // The tokenizer has passed these bytes.
    bytes.extracting(unchecked: token.offset..<token.offset &+ token.length)
  }

  /// What kind of value this is.
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

  /// Where the value starts in the text, in bytes; a string after its quote.
  public var byteOffset: Int { token.offset }

  /// The string, or `nil` for anything else.
  public var stringValue: String? {
    if token.isPlainString { return ByteBuffer.validString(text) }
    return token.kind == .escapedString ? Self.unescaped(text) : nil
  }

  /// A number as it is in the text, with all its digits; `nil` for anything else.
  public var numberText: String? { kind == .number ? ByteBuffer.validString(text) : nil }

  /// The value under a key, the last one where a key is a duplicate; `nil` where it is absent or this is no object.
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

  /// The place of an array's first element.
  @usableFromInline
  func firstElement() throws -> Int {
    guard token.kind == .array else { throw mismatch("an array") }
    return place &+ 1
  }

  /// The place after a container.
  @usableFromInline
  var end: Int { token.next }

  /// The error with its place in the text and, before its path, its place in an array.
  @usableFromInline
  func error(_ error: any Error, atIndex index: Int) -> any Error { located(error).prefixed(by: .index(index)) }

  /// Calls `body` with each element of an array, in order.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` where this is no array, and what `body` throws, with the
  ///   index before its path.
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

  /// Calls `body` with each key and value of an object, in order; with every one of duplicates.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` where this is no object, and what `body` throws, with the
  ///   key before its path.
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

  /// The key whose token has an index.
  package func key(at place: Int) -> String {
    let token = tokens[place]
    return token.kind == .string ? ByteBuffer.validString(text(of: token)) : Self.unescaped(text(of: token))
  }

  @inline(never)
  private static func unescaped(_ bytes: RawSpan) -> String {
    let string = JSONEscape.unescaped(bytes)
    return string.withBytes { ByteBuffer.validString($0) }
  }

  /// The kind as messages and ``ArchiveValue`` name it.
  package var kindName: String {
    switch token.kind {
    case .null: "null"
    case .yes, .no: "boolean"
    case .integer, .fraction: ArchiveValue.number(ofJSON: text, isInteger: token.kind == .integer).kind
    case .string, .escapedString: "string"
    case .array: "array"
    case .object: "object"
    }
  }

  /// The value as errors hold it.
  package var refused: ArchiveValue? {
    // Where the last of duplicates counts, nothing is refused.
    try? lastValue().value
  }

  /// The error for a value that is not what the type expects, with its place in the text.
  public func mismatch(_ expected: String) -> ArchiveError {
    ArchiveError.mismatch(expected: expected, found: kindName, at: token.offset).about(refused)
  }

  /// An error with the place that its path leads to from here, as far as that is there; where it has none yet.
  package func located(_ error: any Error) -> ArchiveError {
    let known = ArchiveError.wrap(error)
    guard known.byteOffset == nil else { return known }
    let place = place(along: known.jsonPath)
    let located = known.changed(byteOffset: tokens[place].offset)
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

  private func place(ofIndex index: Int) -> Int? {
    guard token.kind == .array else { return nil }
    var place = place &+ 1
    for _ in 0..<index where place < token.next { place = self.place(after: place) }
    return place < token.next ? place : nil
  }
}

extension JSONElement {
  /// How many steps it takes to look at all of the value: values inside, and words of 16 bytes of text.
  var weight: Int {
    guard token.isContainer else { return 1 + token.length / 16 }
    var weight = 1
    for place in place + 1..<max(place + 1, token.next) {
      weight += tokens[place].isContainer ? 1 : 1 + tokens[place].length / 16
    }
    return weight
  }
}
