import Foundation
import StrataCore

/// The canonical text of a case. Its lines are the same in every run, on every platform and in every build.
///
/// The lines are separated by a tab, which no line can contain, because ``quote(_:)`` escapes control characters.
struct CaseText {
  private(set) var bytes: [UInt8] = []
  /// The character that separates lines.
  static let separator = UInt8(ascii: "\t")

  private var prefix = ""
  /// The nesting depth of the next value.
  private var depth = 0
  private var isFirst = true
  /// The numbers of the objects that a value refers to.
  private var numbers: [ObjectIdentifier: Int] = [:]
  /// In a report, new numbers for its references, in the order in which they occur; otherwise `nil`. They replace the library's own
  /// numbers, which depend on how it traverses a graph.
  private var references: [Int: Int]?
  private var waiting: [any ShownObject] = []

  init() {}

  mutating func removeAll() { self = CaseText(keeping: bytes) }

  private init(keeping buffer: [UInt8]) {
    bytes = buffer
    bytes.removeAll(keepingCapacity: true)
  }

  mutating func add(_ text: String) { bytes.append(contentsOf: text.utf8) }
  mutating func add(_ text: StaticString) {
    text.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }

  /// Starts a line.
  mutating func begin(_ name: String) {
    if !bytes.isEmpty { bytes.append(Self.separator) }
    add(name)
    add(" = ")
  }

  mutating func line(_ name: String, _ value: some Shown) {
    begin(name)
    value.show(to: &self)
  }

  /// Writes a model, with one line per field and one per object that it refers to.
  mutating func model(_ name: String, _ value: some ShownModel) {
    (prefix, numbers) = (name, [:])
    if let object = value as? any ShownObject {
      object.show(to: &self, name)
    } else {
      value.showFields(to: &self)
    }
    objects()
  }

  /// Writes a value that may refer to objects.
  mutating func value(_ name: String, _ value: some Shown) {
    (prefix, numbers) = (name, [:])
    depth += 1
    line(name, value)
    depth -= 1
    objects()
  }

  private mutating func objects() {
    var next = 0
    while next < waiting.count {
      let object = waiting[next]
      object.show(to: &self, "\(prefix)#\(numbers[ObjectIdentifier(object)] ?? -1)")
      next += 1
    }
    waiting.removeAll()
  }

  mutating func field(_ name: String, _ value: some Shown) {
    if depth == 0 {
      begin("\(prefix).\(name)")
    } else {
      if !isFirst { add(", ") }
      add(name)
      add(": ")
    }
    depth += 1
    isFirst = false
    value.show(to: &self)
    isFirst = false
    depth -= 1
  }

  /// Writes `open`, the values that `body` adds, and `close`.
  mutating func group(_ open: StaticString, _ close: StaticString, _ body: (inout CaseText) -> Void) {
    let wasFirst = isFirst
    isFirst = true
    depth += 1
    add(open)
    body(&self)
    add(close)
    depth -= 1
    isFirst = wasFirst
  }

  mutating func element(_ value: some Shown) {
    if !isFirst { add(", ") }
    isFirst = false
    value.show(to: &self)
    isFirst = false
  }

  /// Writes the object's number. The object itself is written later.
  mutating func reference(_ object: some ShownObject) {
    let number = numbers[ObjectIdentifier(object)] ?? numbers.count
    if numbers.updateValue(number, forKey: ObjectIdentifier(object)) == nil { waiting.append(object) }
    add("#\(number)")
  }

  mutating func reference(_ number: Int) {
    let shown = references.map { $0[number] ?? $0.count } ?? number
    if references != nil { references?[number] = shown }
    add("ref\(shown)")
  }

  mutating func withOwnReferences(_ body: (inout CaseText) -> Void) {
    references = [:]
    body(&self)
    references = nil
  }

  mutating func quote(_ text: String) {
    add("\"")
    escape(text)
    add("\"")
  }

  mutating func escape(_ text: String) {
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x22, 0x5C:
        bytes.append(0x5C)
        bytes.append(UInt8(scalar.value))
      case 0..<0x20, 0x7F...0x9F, 0x2028, 0x2029, 0xFEFF:
        add("\\u{" + String(scalar.value, radix: 16) + "}")
      case ..<0x80: bytes.append(UInt8(scalar.value))
      default: bytes.append(contentsOf: UTF8.encode(scalar).unsafelyUnwrapped)
      }
    }
  }
}

/// A 64-bit FNV-1a hash.
struct Digest {
  private var hash: UInt64 = 0xcbf2_9ce4_8422_2325

  init() {}

  init(of bytes: some Sequence<UInt8>) { add(bytes) }

  mutating func add(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
  }

  var text: String {
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Six bits of the hash, as a base-64 digit.
  var mark: UInt8 {
    let digits: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return digits.utf8Start[Int((hash ^ hash >> 32) & 63)]
  }

  static func text(of bytes: some Sequence<UInt8>) -> String { Digest(of: bytes).text }
}

/// A value with a canonical text.
protocol Shown {
  func show(to text: inout CaseText)
}

protocol ShownModel: Shown {
  func showFields(to text: inout CaseText)
}

extension ShownModel {
  func show(to text: inout CaseText) {
    text.add("\(type(of: self))")
    text.group("(", ")") { showFields(to: &$0) }
  }
}

/// An object. References to it are written as its number.
protocol ShownObject: AnyObject, ShownModel {}

extension ShownObject {
  func show(to text: inout CaseText) { text.reference(self) }

  func show(to text: inout CaseText, _ name: String) {
    text.begin(name)
    text.add("\(type(of: self))")
    text.group("(", ")") { showFields(to: &$0) }
  }
}

extension Bool: Shown { func show(to text: inout CaseText) { text.add(self ? "true" : "false") } }
extension FixedWidthInteger { func show(to text: inout CaseText) { text.add(String(self)) } }
extension Int: Shown {}
extension Int8: Shown {}
extension Int16: Shown {}
extension Int32: Shown {}
extension Int64: Shown {}
extension Int128: Shown {}
extension UInt8: Shown {}
extension UInt16: Shown {}
extension UInt32: Shown {}
extension UInt64: Shown {}
extension UInt128: Shown {}
// `description` has the fewest digits that read back as the same number, regardless of the locale.
extension Float: Shown { func show(to text: inout CaseText) { text.add(description) } }
extension Double: Shown { func show(to text: inout CaseText) { text.add(description) } }
extension Decimal: Shown { func show(to text: inout CaseText) { text.add("\(self)") } }
extension String: Shown { func show(to text: inout CaseText) { text.quote(self) } }
extension URL: Shown { func show(to text: inout CaseText) { text.quote(absoluteString) } }
extension UUID: Shown { func show(to text: inout CaseText) { text.add(uuidString) } }
extension Date: Shown {
  func show(to text: inout CaseText) { text.add("@\(timeIntervalSinceReferenceDate)") }
}
extension Data: Shown {
  func show(to text: inout CaseText) {
    if count > 64 {
      text.add("<\(count) bytes \(Digest.text(of: self))>")
    } else {
      text.add("<" + map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + ">")
    }
  }
}
extension Optional: Shown where Wrapped: Shown {
  func show(to text: inout CaseText) {
    if let value = self { value.show(to: &text) } else { text.add("nil") }
  }
}
extension Array: Shown where Element: Shown {
  func show(to text: inout CaseText) {
    text.group("[", "]") { text in for element in self { text.element(element) } }
  }
}
extension Set: Shown where Element: Shown & Comparable {
  func show(to text: inout CaseText) {
    text.group("{", "}") { text in for element in sorted() { text.element(element) } }
  }
}
extension Dictionary: Shown where Key: Shown & Comparable, Value: Shown {
  func show(to text: inout CaseText) {
    text.group("[", "]") { text in
      for key in keys.sorted() {
        text.element(key)
        text.add(": ")
        self[key].show(to: &text)
      }
    }
  }
}

extension ArchiveValue: Shown {
  /// Writes different kinds of values as different texts. Object keys keep their order. Record keys are sorted by their bytes, because
  /// their order isn't part of the value.
  func show(to text: inout CaseText) {
    switch self {
    case .null: text.add("null")
    case .bool(let value): value.show(to: &text)
    case .int(let value): value.show(to: &text)
    case .uint(let value): text.add("\(value)u")
    case .wideInteger(let value): text.add("\(value.isNegative ? "-" : "")\(value.magnitude)w")
    case .float(let value): text.add("\(value)f")
    case .double(let value): text.add("\(value)d")
    case .decimal(let value): text.add("\(value)m")
    case .number(let value): text.add("\(value.text)n")
    case .string(let value): value.show(to: &text)
    case .data(let value): value.show(to: &text)
    case .date(let value): value.show(to: &text)
    case .url(let value):
      text.add("url")
      value.show(to: &text)
    case .uuid(let value): value.show(to: &text)
    case .array(let elements): elements.show(to: &text)
    case .set(let elements): text.group("{", "}") { text in for element in elements { text.element(element) } }
    case .object(let object): object.show(to: &text)
    case .map(let entries):
      text.add("map")
      text.group("[", "]") { text in
        for entry in entries {
          text.element(entry.key)
          text.add(": ")
          entry.value.show(to: &text)
        }
      }
    case .record(let record): record.show(to: &text)
    case .reference(let number): text.reference(number)
    case .graph(let graph):
      text.add("graph")
      text.group("(", ")") { text in
        text.element(graph.root)
        for object in graph.objects { text.element(object) }
      }
    }
  }
}

extension ArchiveObject: Shown {
  func show(to text: inout CaseText) {
    text.group("[", "]") { text in
      if isEmpty { text.add(":") }
      for entry in entries {
        text.element(entry.key)
        text.add(": ")
        entry.value.show(to: &text)
      }
    }
  }
}

extension ModelRecord: Shown {
  func show(to text: inout CaseText) {
    text.escape(typeName)
    text.add(modelVersion.map { "@\($0)" } ?? "@nil")
    for level in superclasses { text.add("<\(level.typeName)@\(level.modelVersion)") }
    text.group("(", ")") { text in
      for (key, value) in fields.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
        text.element(key)
        text.add(": ")
        value.show(to: &text)
      }
    }
  }
}

extension UnknownFields: Shown { func show(to text: inout CaseText) { object.show(to: &text) } }

extension MergeReport.Entry: Shown {
  func show(to text: inout CaseText) {
    text.escape("\(path) \(outcome.rawValue) (\(rule)) ")
    text.group("[", "]") { text in
      text.element(base)
      text.element(local)
      text.element(server)
      text.element(result)
    }
  }
}

extension MergeState: Shown {
  func show(to text: inout CaseText) {
    text.add("MergeState")
    text.group("(", ")") { text in
      text.element(base)
      text.element(conflicts)
    }
  }
}

extension CaseText {
  mutating func report(_ name: String, _ report: MergeReport) {
    withOwnReferences { $0.lines(name, report) }
  }

  private mutating func lines(_ name: String, _ report: MergeReport) {
    line(name + ".changed", report.changedKeys)
    line(name + ".merged", report.mergedKeys)
    line(name + ".isEmpty", report.isEmpty)
    for change in report.changes {
      begin(name + ".change." + change.key)
      change.old.show(to: &self)
      add(" → ")
      change.new.show(to: &self)
    }
    for entry in report.entries { line(name + ".entry", entry) }
    if report.conflicts.count > 0 { line(name + ".conflicts", report.conflicts.map(\.path.description)) }
  }

  mutating func report(_ name: String, _ report: DecodingReport) {
    begin(name)
    escape(
      report.upgrades.map { "\($0.typeName) \($0.fromVersion) → \($0.toVersion): \($0.count)" }.joined(separator: ", "))
    if !report.typesWithoutVersion.isEmpty { line(name + ".unversioned", report.typesWithoutVersion) }
  }

  private static func path(_ components: [ArchiveError.PathComponent]) -> String {
    components.map { component in
      switch component {
      case .key(let key): key
      case .index(let index): String(index)
      }
    }.joined(separator: "/")
  }

  mutating func error(_ name: String, _ error: any Error) {
    begin(name)
    guard let known = error as? ArchiveError else {
      escape("\(type(of: error)) \(error)")
      return
    }
    escape(
      "\(known.code.rawValue) at [\(Self.path(known.codingPath))] json [\(Self.path(known.jsonPath))]: \(known.description)"
    )
    var parts: [String] = []
    if let type = known.typeName { parts.append("type \(type)") }
    if let version = known.foundVersion { parts.append("found \(version)") }
    if let version = known.supportedVersion { parts.append("supported \(version)") }
    if let limit = known.limit { parts.append("limit \(limit.rawValue)") }
    if let offset = known.byteOffset { parts.append("offset \(offset)") }
    parts += known.failures.map { "failure \(Self.path($0.path))" }
    if !parts.isEmpty { line(name + ".parts", parts) }
  }

  /// Writes the error that a closure throws, if any.
  @discardableResult
  mutating func attempt(_ name: String, _ body: (inout CaseText) throws -> Void) -> Bool {
    do {
      try body(&self)
      return true
    } catch {
      self.error(name + ".error", error)
      return false
    }
  }
}
