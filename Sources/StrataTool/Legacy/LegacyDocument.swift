internal import Foundation
internal import StrataCore
internal import StrataLegacy

/// A property list, which is either a keyed archive or a plain property list.
struct LegacyDocument {
  enum Content {
    case keyed(KeyedArchive, ClassCensus)
    case plain(ArchiveValue, objectCount: Int)
  }

  let isBinary: Bool
  let size: Int
  let content: Content

  /// - Parameter leniently: whether malformed objects of a keyed archive are kept for display. Otherwise a malformed
  ///   object is an error.
  init(_ data: Data, isBinary: Bool, limits: ArchiveLimits = ArchiveLimits(), leniently: Bool = false) throws {
    var reader = PropertyListReader()
    reader.limits = limits
    self.isBinary = isBinary
    size = data.count
    let list = try reader.read(data)
    if ClassCensus.isKeyedArchive(list) {
      let archive = try leniently ? KeyedArchive(inspecting: list, limits: limits) : KeyedArchive(list, limits: limits)
      content = .keyed(archive, ClassCensus(list))
    } else {
      content = .plain(try reader.value(of: list), objectCount: list.objects.count)
    }
  }

  private var form: String { isBinary ? "binary" : "XML" }

  /// A description of the file's format.
  var kind: String {
    switch content {
    case .keyed: "keyed archive, \(form)"
    case .plain: "property list, \(form)"
    }
  }

  var objectCount: Int {
    switch content {
    case .keyed(_, let census): census.objectCount
    case .plain(_, let count): count
    }
  }

  /// Returns whether the file has objects of a class. Classes whose objects become plain values are not found.
  func hasObjects(of type: String) -> Bool {
    guard case .keyed(let archive, _) = content else { return false }
    return archive.graph.objects.contains {
      if case .record(let record) = $0 { record.typeName == type } else { false }
    }
  }

  /// The values of the top-level keys and the referenced objects, in document order.
  private var graph: GraphOrder {
    switch content {
    case .keyed(let archive, _):
      GraphOrder(
        archive.graph.objects, from: archive.topKeys.map { ($0, archive.top[$0] ?? .null) },
        malformed: Set(archive.objectErrors.keys))
    case .plain(let value, _): GraphOrder([], from: [("", value)])
    }
  }

  /// Returns the errors of malformed objects, with the numbers that these objects have in the document.
  private func objectErrors(_ graph: GraphOrder) -> [(object: Int, reason: String)] {
    guard case .keyed(let archive, _) = content else { return [] }
    return archive.objectErrors.compactMap { place, error in graph.number(of: place).map { ($0, "\(error)") } }
      .sorted { $0.object < $1.object }
  }

  // MARK: Text

  /// Returns the properties of the file as rows of text.
  func rows(of path: String) -> [(name: String, text: String)] {
    var rows: [(name: String, text: String)] = [("file", path.onOneLine), ("kind", kind)]
    switch content {
    case .keyed(let archive, let census):
      rows += [
        ("archiver", "\(archive.archiver.onOneLine), version \(archive.version)"),
        ("top keys", archive.topKeys.isEmpty ? "none" : archive.topKeys.map(\.onOneLine).joined(separator: ", ")),
        ("objects", census.objectCount.grouped), ("file size", size.counted("byte")),
      ]
      rows += Self.rows(of: census)
    case .plain(let value, let count):
      rows += [
        ("root", value.kind), ("objects", count.grouped), ("file size", size.counted("byte")),
      ]
    }
    return rows
  }

  /// The values of the top-level keys, together with the referenced objects.
  var value: ArchiveValue {
    switch content {
    case .keyed(let archive, _):
      let top = archive.topKeys.map { ArchiveObject.Entry(key: $0, value: archive.top[$0] ?? .null) }
      return .graph(ObjectGraph(objects: archive.graph.objects, root: .object(ArchiveObject(top))))
    case .plain(let value, _): return value
    }
  }

  func lines(of path: String, width: Int, depth: Int, elements: Int, isColoured: Bool) -> [String] {
    let graph = graph
    var tree = ValueTree(width: width, depth: depth, elements: elements, isColoured: isColoured)
    tree.add(graph.top.map { ($0.key.isEmpty ? "" : $0.key.onOneLine + ": ", $0.value) }, in: graph)
    let errors = Self.lines(of: objectErrors(graph), mostLines: max(elements, 20))
    return rows(of: path).map { Self.row($0.name, $0.text, width, isColoured) } + [""] + tree.lines
      + errors.map { $0.cut(to: width) }
  }

  private static func lines(of errors: [(object: Int, reason: String)], mostLines: Int) -> [String] {
    guard !errors.isEmpty else { return [] }
    var lines = [
      "",
      errors.count == 1
        ? "1 object is invalid, so verify and convert reject the file:"
        : "\(errors.count.grouped) objects are invalid, so verify and convert reject the file:",
    ]
    lines += errors.prefix(mostLines).map { "  #\($0.object)  \($0.reason.onOneLine)" }
    if errors.count > mostLines { lines.append("  … \((errors.count - mostLines).grouped) more") }
    return lines
  }

  private static func rows(of census: ClassCensus) -> [(String, String)] {
    guard !census.classes.isEmpty else { return [("classes", "none")] }
    let names = census.classes.map { $0.name.onOneLine }
    let width = min(names.map(\.terminalWidth).max() ?? 0, 40) + 2
    let counts = census.classes.map { $0.count.grouped }
    let digits = counts.map(\.count).max() ?? 0
    return census.classes.enumerated().map { place, type in
      let count = String(repeating: " ", count: digits - counts[place].count) + counts[place]
      let above = type.chain.first == type.name ? type.chain.dropFirst() : type.chain[...]
      let chain = above.isEmpty ? "" : "  < " + above.map(\.onOneLine).joined(separator: " < ")
      return (
        place == 0 ? "classes" : "",
        names[place].padded(to: max(width, names[place].terminalWidth + 2)) + count + chain
      )
    }
  }

  /// Returns a header line with a name and a text.
  static func row(_ name: String, _ text: String, _ width: Int, _ isColoured: Bool) -> String {
    name.padded(to: 15).painted(.bold, isColoured) + text.cut(to: width < .max ? width - 15 : width)
  }

  // MARK: JSON

  /// Writes the JSON document that Docs/Tool.md describes, in pieces.
  func writeJSON(to sink: @escaping (Data) throws -> Void) throws {
    let graph = graph
    var document: ArchiveObject
    switch content {
    case .keyed(let archive, let census):
      document = [
        "format": "keyed archive", "form": .string(form), "archiver": .string(archive.archiver),
        "version": .integer(archive.version), "objects": .integer(census.objectCount),
        "classes": .array(
          census.classes.map {
            [
              "name": .string($0.name), "chain": .array($0.chain.map { .string($0) }), "objects": .integer($0.count),
            ]
          }),
        "top": .object(ArchiveObject(graph.top.map { .init(key: $0.key, value: $0.value) })),
      ]
    case .plain(let value, _):
      document = ["format": "property list", "form": .string(form), "value": value]
    }
    let errors = objectErrors(graph)
    if !errors.isEmpty {
      document["odd"] = .array(errors.map { ["object": .integer($0.object), "reason": .string($0.reason)] })
    }
    var json = GraphJSON(graph, sink)
    try json.write(document)
  }
}
