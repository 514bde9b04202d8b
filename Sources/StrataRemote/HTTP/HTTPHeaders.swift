/// The fields of a header, in their order; names are compared without regard to case (RFC 9110, section 5.1).
public struct HTTPHeaders: Sendable, Hashable {
  /// The fields, as they were given.
  public private(set) var fields: [Field]

  /// One line of a header.
  public struct Field: Sendable, Hashable {
    /// The name, as it was given.
    public let name: String
    /// The value, as it was given.
    public let value: String

    /// A line of a header.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// A header of these lines, in their order.
  public init(_ fields: [Field] = []) { self.fields = fields }

  /// All values of a name as one, separated by commas (RFC 9110, section 5.3); `nil` where there is none. Setting replaces all, and
  /// `nil` removes them.
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

  /// The values of a name, a line each.
  public func values(of name: String) -> [String] { fields.filter { Self.isSame($0.name, name) }.map(\.value) }

  /// Adds a line, beside those of the same name.
  public mutating func add(_ name: String, _ value: String) { fields.append(Field(name, value)) }

  /// Names are ASCII (RFC 9110, section 5.6.2), so nothing else is folded.
  static func isSame(_ one: String, _ other: String) -> Bool {
    func folded(_ byte: UInt8) -> UInt8 { 65...90 ~= byte ? byte + 32 : byte }
    return one.utf8.lazy.map(folded).elementsEqual(other.utf8.lazy.map(folded))
  }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, String)...) { fields = elements.map { Field($0, $1) } }
}
