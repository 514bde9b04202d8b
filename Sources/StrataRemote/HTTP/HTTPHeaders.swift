/// Header fields in the order of their lines. Names are case-insensitive (RFC 9110, section 5.1).
public struct HTTPHeaders: Sendable, Hashable {
  /// All lines, in order and with their original spelling.
  public private(set) var fields: [Field]

  /// One header field line.
  public struct Field: Sendable, Hashable {
    /// The name, with the original spelling.
    public let name: String
    /// The value exactly as it was sent or received.
    public let value: String

    /// Creates a header field line.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// Creates headers from the given lines, in order.
  public init(_ fields: [Field] = []) { self.fields = fields }

  /// The values of all lines with the given name, joined by commas (RFC 9110, section 5.3), or `nil` if there are no such lines.
  /// Setting a value replaces all lines with this name, and setting `nil` removes them.
  public subscript(name: String) -> String? {
    get {
      let found = values(of: name)
      return found.isEmpty ? nil : found.joined(separator: ", ")
    }
    set {
      fields.removeAll { Self.isSame($0.name, name) }
      if let newValue { fields.append(Field(name, newValue)) }
    }
  }

  /// Returns the values of all lines with the given name, in order.
  public func values(of name: String) -> [String] { fields.filter { Self.isSame($0.name, name) }.map(\.value) }

  /// Appends a line. Existing lines with the same name are kept.
  public mutating func add(_ name: String, _ value: String) { fields.append(Field(name, value)) }

  /// Whether two names are equal, ignoring the case of ASCII letters. Names consist of ASCII characters only (RFC 9110,
  /// section 5.6.2).
  static func isSame(_ one: String, _ other: String) -> Bool {
    func folded(_ byte: UInt8) -> UInt8 { 65...90 ~= byte ? byte + 32 : byte }
    return one.utf8.lazy.map(folded).elementsEqual(other.utf8.lazy.map(folded))
  }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, String)...) { fields = elements.map { Field($0, $1) } }
}
