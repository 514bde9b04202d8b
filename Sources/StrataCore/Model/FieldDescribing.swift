import Foundation

/// A model that describes itself with its permanent fields: `Issue(id: 1, title: "Crash")`.
///
///     extension User: FieldDescribing {
///       static var redactedKeys: Set<String> { ["token"] }
///     }
public protocol FieldDescribing: Model, CustomStringConvertible {
  /// The keys whose values descriptions hide; none unless given.
  static var redactedKeys: Set<String> { get }
}

extension FieldDescribing {
  public static var redactedKeys: Set<String> { [] }

  /// The permanent fields in the order of the schema: see ``Model/fieldDescription(redacting:)``.
  public var description: String { fieldDescription(redacting: Self.redactedKeys) }
}

extension Model {
  /// The name of the type and the permanent fields in the order of the schema, the same in every run.
  ///
  /// Dates are in ISO 8601, data is a number of bytes. Objects inside are described likewise.
  ///
  /// - Parameter redactedKeys: keys whose values are hidden, in objects inside too.
  /// - Complexity: linear in the size of the object.
  public func fieldDescription(redacting redactedKeys: Set<String> = []) -> String {
    let name = Self.schema.name
    do {
      return ValueDescription(redactedKeys: redactedKeys).text(name, try permanentValues().map { ($0.key, $0.value) })
    } catch { return "\(name)(not encodable)" }
  }
}

/// Words values for people.
private struct ValueDescription {
  let redactedKeys: Set<String>

  func text(_ name: String, _ fields: [(String, Value)]) -> String {
    let texts = fields.map { key, value in
      "\(key): \(redactedKeys.contains(key) && !value.isNull ? "•••" : text(value))"
    }
    return "\(name)(\(texts.joined(separator: ", ")))"
  }

  private func text(_ value: Value) -> String {
    switch value {
    case .null: "nil"
    case .bool(let value): "\(value)"
    case .int(let value): "\(value)"
    case .uint(let value): "\(value)"
    case .wideInteger(let value): "\(value.isNegative ? "-" : "")\(value.magnitude)"
    case .float(let value): "\(value)"
    case .double(let value): "\(value)"
    case .decimal(let value): "\(value)"
    case .string(let value): value.debugDescription
    case .data(let value): "\(value.count) bytes"
    case .date(let value): ISO8601.string(from: value) ?? "\(value.timeIntervalSinceReferenceDate)"
    case .url(let value): value.absoluteString
    case .uuid(let value): value.uuidString
    case .array(let elements), .set(let elements): "[\(elements.map(text).joined(separator: ", "))]"
    case .object(let object): text("", object.entries.map { ($0.key, $0.value) })
    case .map(let entries):
      "[\(entries.map { "\(text($0.key)): \(text($0.value))" }.joined(separator: ", "))]"
    case .reference(let number): "#\(number)"
    case .graph(let graph): text(graph.resolve(graph.root) ?? graph.root)
    case .record(let record): text(record.typeName, record.fields.map { ($0.key, $0.value) })
    }
  }
}
