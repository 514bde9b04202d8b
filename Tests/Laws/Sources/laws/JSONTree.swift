/// A JSON document, parsed and written without the library under test.
indirect enum JSONTree: Hashable {
  case null
  case bool(Bool)
  /// A number, stored as its digits. Create it with ``init(_:)``, so that equal numbers have equal digits.
  case number(Number)
  case text(String)
  case array([JSONTree])
  case object([Member])

  struct Member: Hashable { var key: String, value: JSONTree }

  /// A number as its sign, its digits without leading and trailing zeros, and the position of the decimal point.
  struct Number: Hashable {
    let text: String
    private let key: String

    init(_ text: String) {
      self.text = text
      let isNegative = text.hasPrefix("-")
      let parts = text.drop { $0 == "-" }.lowercased().split(separator: "e")
      let mantissa = parts[0].split(separator: ".", omittingEmptySubsequences: false)
      let whole = mantissa[0]
      let fraction = mantissa.count > 1 ? mantissa[1] : ""
      var exponent = (parts.count > 1 ? Int(parts[1].drop { $0 == "+" }) ?? 0 : 0) - fraction.count
      var digits = String((whole + fraction).drop { $0 == "0" })
      while digits.hasSuffix("0") {
        digits.removeLast()
        exponent += 1
      }
      key = digits.isEmpty ? (isNegative ? "-0" : "0") : (isNegative ? "-" : "") + digits + "e\(exponent)"
    }

    static func == (left: Number, right: Number) -> Bool { left.key == right.key }
    func hash(into hasher: inout Hasher) { hasher.combine(key) }
  }

  static func number(_ text: String) -> JSONTree { .number(Number(text)) }

  /// The document as text.
  var text: String {
    switch self {
    case .null: "null"
    case .bool(let bool): "\(bool)"
    case .number(let number): number.text
    case .text(let text): Self.quoted(text)
    case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { Self.quoted($0.key) + ":" + $0.value.text }.joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\" + String(scalar)
      case _ where scalar.value < 32:
        quoted += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }

  /// Parses a document. Returns `nil` if the text isn't JSON.
  init?(parsing text: some StringProtocol) {
    var reader = Reader(scalars: Array(text.unicodeScalars))
    guard let tree = reader.value() else { return nil }
    reader.skipSpace()
    guard reader.place == reader.scalars.count else { return nil }
    self = tree
  }

  private struct Reader {
    let scalars: [Unicode.Scalar]
    var place = 0

    var next: Unicode.Scalar? { place < scalars.count ? scalars[place] : nil }

    mutating func skipSpace() { while let next, " \n\t\r".unicodeScalars.contains(next) { place += 1 } }

    mutating func take(_ text: String) -> Bool {
      skipSpace()
      let wanted = Array(text.unicodeScalars)
      guard scalars[place...].starts(with: wanted) else { return false }
      place += wanted.count
      return true
    }

    mutating func value() -> JSONTree? {
      skipSpace()
      switch next {
      case "n"?: return take("null") ? .null : nil
      case "t"?: return take("true") ? .bool(true) : nil
      case "f"?: return take("false") ? .bool(false) : nil
      case "\""?: return string().map { .text($0) }
      case "["?:
        place += 1
        var elements: [JSONTree] = []
        if take("]") { return .array([]) }
        repeat {
          guard let element = value() else { return nil }
          elements.append(element)
        } while take(",")
        return take("]") ? .array(elements) : nil
      case "{"?:
        place += 1
        var members: [Member] = []
        if take("}") { return .object([]) }
        repeat {
          skipSpace()
          guard let key = string(), take(":"), let value = value() else { return nil }
          members.append(Member(key: key, value: value))
        } while take(",")
        return take("}") ? .object(members) : nil
      default:
        let start = place
        while let next, "+-.0123456789eE".unicodeScalars.contains(next) { place += 1 }
        guard place > start else { return nil }
        return .number(String(String.UnicodeScalarView(scalars[start..<place])))
      }
    }

    /// Parses a string. Characters beyond the basic plane are escaped as surrogate pairs.
    mutating func string() -> String? {
      guard next == "\"" else { return nil }
      place += 1
      var units: [UInt16] = []
      while let scalar = next, scalar != "\"" {
        place += 1
        guard scalar == "\\" else {
          units += Array(String(scalar).utf16)
          continue
        }
        guard let escape = next else { return nil }
        place += 1
        let plain: [Unicode.Scalar: Unicode.Scalar] = ["n": "\n", "t": "\t", "r": "\r", "b": "\u{8}", "f": "\u{c}"]
        if escape == "u" {
          guard place + 4 <= scalars.count,
            let unit = UInt16(String(String.UnicodeScalarView(scalars[place..<place + 4])), radix: 16)
          else { return nil }
          place += 4
          units.append(unit)
        } else {
          units += Array(String(plain[escape] ?? escape).utf16)
        }
      }
      guard next == "\"" else { return nil }
      place += 1
      return String(decoding: units, as: UTF16.self)
    }
  }
}
