internal import Foundation
internal import StrataCore
internal import StrataLegacy

/// The options for converting a keyed archive or a property list to an archive.
struct LegacyConversion: Sendable {
  /// The type name that the root gets in the archive, or `nil` to keep its type. If a name is given, the root must be
  /// an object or a dictionary.
  var type: String?
  var modelVersion: Int?
  /// The top-level key whose value becomes the root.
  var key: String?
  /// The new class names, by old name.
  var newNames: [String: String] = [:]
  /// The limits on the work for a single file.
  var limits = ArchiveLimits()

  /// The encoder. It pads archives so that readers with the default limits can open them, even if this conversion has
  /// other limits.
  private var encoder: ArchiveEncoder {
    var limits = limits
    limits.maxWorkPerByte = ArchiveLimits().maxWorkPerByte
    return ArchiveEncoder(limits: limits)
  }

  /// The options as one line of text, without the limits. Conversions with the same result have the same text.
  var text: String {
    get throws {
      let names = newNames.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      let parts: [ArchiveValue] = [
        .orNull(type), .orNull(modelVersion),
        .orNull(key),
        .array(names.flatMap { [.string($0.key), .string($0.value)] }),
      ]
      return String(decoding: try JSONWriter().write(.array(parts)), as: UTF8.self)
    }
  }

  func archive(_ document: LegacyDocument) throws -> Data {
    switch document.content {
    case .plain(let value, _):
      guard key == nil else {
        throw ArchiveError(
          .missingValue, "--key applies only to keyed archives, but the file is a plain property list; omit --key")
      }
      guard let type else {
        if modelVersion != nil { throw Self.versionAlone }
        return try encoder.encode(value)
      }
      guard case .object(let object) = value else { throw Self.noRoot(value.kind) }
      return try encoder.encode(
        ModelRecord(typeName: type, modelVersion: modelVersion, object: object))
    case .keyed(let keyed, _):
      var graph = ObjectGraph(objects: keyed.graph.objects, root: try root(of: keyed))
      if key != nil, keyed.topKeys.count > 1 { graph = Self.reachable(graph) }
      return try archive(graph)
    }
  }

  /// Returns the value of the requested top-level key. If no key was requested, returns the value of the only top-level
  /// key, or an object with the values of all top-level keys if there are several.
  private func root(of keyed: KeyedArchive) throws -> ArchiveValue {
    if let key {
      guard let value = keyed.top[key] else {
        let keys = keyed.topKeys.isEmpty ? "none" : keyed.topKeys.joined(separator: ", ")
        throw ArchiveError(.missingValue, "the archive has no top-level key “\(key)”; its top-level keys are: \(keys)")
      }
      return value
    }
    if keyed.topKeys.count == 1, let value = keyed.top[keyed.topKeys[0]] { return value }
    return .object(ArchiveObject(keyed.topKeys.map { .init(key: $0, value: keyed.top[$0] ?? .null) }))
  }

  private func archive(_ graph: ObjectGraph) throws -> Data {
    var graph = graph
    for place in graph.objects.indices {
      guard case .record(var record) = graph.objects[place], let name = newNames[record.typeName] else { continue }
      record.typeName = name
      graph.objects[place] = .record(record)
    }
    if type != nil || modelVersion != nil { try mark(&graph) }
    guard !graph.objects.isEmpty else {
      if case .record(let record) = graph.root { return try encoder.encode(record) }
      return try encoder.encode(graph.root)
    }
    return try encoder.archive(Self.stamp(of: graph)) { try $0.write(graph) }
  }

  /// Sets the type and version of the root.
  private func mark(_ graph: inout ObjectGraph) throws {
    switch graph.root {
    case .reference(let number):
      guard case .record(var record)? = graph.resolve(graph.root) else { throw Self.noRoot("a collection") }
      if let type { record.typeName = type }
      if let modelVersion { record.modelVersion = modelVersion }
      graph.objects[number] = .record(record)
    case .object(let object):
      guard let type else { throw Self.versionAlone }
      graph.root = .record(ModelRecord(typeName: type, modelVersion: modelVersion, object: object))
    default: throw Self.noRoot(graph.root.kind)
    }
  }

  private static let versionAlone = ArchiveError(
    .typeMismatch, "--model-version requires --type because the root is not an object of a class")

  private static func noRoot(_ found: String) -> ArchiveError {
    ArchiveError(.typeMismatch, "--type requires an object or a dictionary at the root; found \(found)")
  }

  /// Returns the stamp of a graph. The type is `Issue` or `[Issue]`, as in a model's archive. If the root is neither an
  /// object nor an array of objects of one type, the type is `ArchiveValue`.
  private static func stamp(of graph: ObjectGraph) -> Stamp {
    func record(_ value: ArchiveValue) -> ModelRecord? {
      if case .record(let record)? = graph.resolve(value) { record } else { nil }
    }
    if let record = record(graph.root) { return Stamp(typeName: record.typeName, modelVersion: record.modelVersion) }
    if case .array(let elements) = graph.root, let first = elements.first.flatMap(record),
      elements.allSatisfy({ record($0)?.typeName == first.typeName })
    {
      return Stamp(typeName: "[\(first.typeName)]", modelVersion: first.modelVersion, count: UInt64(elements.count))
    }
    return Stamp(typeName: ArchiveValue._archiveTypeName)
  }

  /// Returns the graph without objects that are unreachable from its root.
  private static func reachable(_ graph: ObjectGraph) -> ObjectGraph {
    let order = GraphOrder(graph.objects, from: [("", graph.root)])
    var objects = Array(repeating: ArchiveValue.null, count: order.numbers.count { $0 != nil })
    for (place, number) in order.numbers.enumerated() {
      if let number { objects[number] = renumbered(graph.objects[place], order) }
    }
    return ObjectGraph(objects: objects, root: renumbered(graph.root, order))
  }

  /// Returns the value with its references renumbered. The recursion is safe, because plain values cannot be nested
  /// deeper than the limits for reading allow.
  private static func renumbered(_ value: ArchiveValue, _ order: GraphOrder) -> ArchiveValue {
    value.mapReferences { .reference(order.number(of: $0) ?? -1) }
  }
}
