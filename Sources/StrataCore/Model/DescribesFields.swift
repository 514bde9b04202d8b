import Foundation

/// A model whose description lists its permanent fields: `Issue(id: 1, title: "Crash")`.
///
///     extension User: DescribesFields {
///       static var redactedKeys: Set<String> { ["token"] }
///     }
public protocol DescribesFields: VersionedModel, CustomStringConvertible {
  /// The keys whose values the description hides. Empty by default.
  static var redactedKeys: Set<String> { get }
}

extension DescribesFields {
  public static var redactedKeys: Set<String> { [] }

  /// The type name and the permanent fields, as returned by ``VersionedModel/fieldDescription(redacting:)``.
  public var description: String { fieldDescription(redacting: Self.redactedKeys) }
}

extension VersionedModel {
  /// Returns the type name and the permanent fields in the order of the schema. The text is the same in every run.
  ///
  /// Dates are in ISO 8601 format, and data is shown as its number of bytes. Nested objects are described in the same way.
  ///
  /// - Parameter redactedKeys: the keys whose values are hidden, including those in nested objects.
  /// - Complexity: linear in the size of the object.
  public func fieldDescription(redacting redactedKeys: Set<String> = []) -> String {
    var describing = ValueDescription(redactedKeys: redactedKeys)
    return describing.text(of: dynamicModel)
  }
}

/// Formats models and their values as text for people to read.
private struct ValueDescription {
  let redactedKeys: Set<String>
  /// The objects being described, outermost first. Used to detect cycles.
  private var open: [ObjectIdentifier] = []

  /// The maximum depth of nested objects. An object at a greater depth is shown only as its type name, because a linked list may be long.
  private static let deepest = 3

  init(redactedKeys: Set<String>) { self.redactedKeys = redactedKeys }

  mutating func text<M: VersionedModel>(of model: M) -> String {
    let name = M.schema.name
    if M.schema.isObject {
      guard !open.contains(model.identity), open.count < Self.deepest else { return "\(name)(…)" }
      open.append(model.identity)
    }
    defer { if M.schema.isObject { open.removeLast() } }
    let referenced = ReferencedObjects()
    // A description cannot throw. If the model cannot be encoded, the text contains a note instead of the fields.
    guard let values = try? model.permanentValues(M.schema.holdsObjects ? referenced : nil) else {
      return "\(name)(not encodable)"
    }
    return text(name, values, referenced)
  }

  private mutating func text(
    _ name: String, _ fields: [(key: String, value: ArchiveValue)], _ referenced: ReferencedObjects
  ) -> String {
    var texts: [String] = []
    for (key, value) in fields {
      texts.append("\(key): \(redactedKeys.contains(key) && !value.isNull ? "•••" : text(value, referenced))")
    }
    return "\(name)(\(texts.joined(separator: ", ")))"
  }

  private mutating func text(_ value: ArchiveValue, _ referenced: ReferencedObjects) -> String {
    switch value {
    case .null: "nil"
    case .bool, .int, .uint, .wideInteger, .float, .double, .decimal, .number, .url, .uuid: value.scalarText ?? ""
    case .string(let value): value.debugDescription
    case .data(let value): "\(value.count) bytes"
    case .date(let value): ISO8601.string(from: value) ?? "\(value.timeIntervalSinceReferenceDate)"
    case .array(let elements), .set(let elements): list(elements) { $1.text($0, referenced) }
    case .object(let object): text("", object.entries.map { ($0.key, $0.value) }, referenced)
    case .map(let entries):
      list(entries) { "\($1.text($0.key, referenced)): \($1.text($0.value, referenced))" }
    case .reference(let number): text(of: referenced.objects[number])
    case .graph(let graph): "graph of \(graph.objects.count) objects"
    case .record(let record): text(record.typeName, record.fields, referenced)
    }
  }

  private mutating func list<T>(_ elements: [T], _ text: (T, inout Self) -> String) -> String {
    var texts: [String] = []
    for element in elements { texts.append(text(element, &self)) }
    return "[\(texts.joined(separator: ", "))]"
  }
}
