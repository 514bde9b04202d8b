import Foundation

/// A keyed archive in Mantle's form, built byte by byte without the library.
///
/// The format follows CFBinaryPList.c: a marker and the content of each object, a table of offsets, and a 32-byte trailer. Here, references
/// have two bytes and offsets have four.
struct MantleArchive {
  indirect enum Node {
    case string(String)
    case int(Int64)
    case real(Double)
    case bool(Bool)
    case uid(Int)
    case array([Node])
    case dictionary([(String, Node)])
  }

  private var objects: [Node] = [.string("$null")]

  /// The reference to nil.
  let null = Node.uid(0)

  /// Adds an object, such as a boxed value, and returns a reference to it.
  mutating func object(_ node: Node) -> Node {
    objects.append(node)
    return .uid(objects.count - 1)
  }

  mutating func string(_ text: String) -> Node { object(.string(text)) }
  mutating func int(_ number: Int64) -> Node { object(.int(number)) }

  /// Adds a class with its superclasses.
  mutating func type(_ names: String..., under bases: [String] = ["MTLModel", "NSObject"]) -> Node {
    object(
      .dictionary([
        ("$classname", .string(names[0])), ("$classes", .array((names + bases).map { .string($0) })),
      ]))
  }

  /// Adds an object whose fields are set later, because it refers to itself or to a later object.
  mutating func reserve() -> Node { object(.dictionary([])) }

  mutating func set(_ object: Node, _ type: Node, version: Int64?, _ fields: [(String, Node)]) {
    guard case .uid(let number) = object else { return }
    let versions = version.map { [("MTLModelVersion", int($0))] } ?? []
    objects[number] = .dictionary([("$class", type)] + versions + fields)
  }

  /// Adds a model with its boxed version and an entry per property.
  mutating func model(_ type: Node, version: Int64?, _ fields: [(String, Node)]) -> Node {
    let model = reserve()
    set(model, type, version: version, fields)
    return model
  }

  mutating func array(_ elements: [Node]) -> Node {
    let type = type("NSArray", under: ["NSObject"])
    return object(.dictionary([("$class", type), ("NS.objects", .array(elements))]))
  }

  mutating func dictionary(_ members: [(String, Node)]) -> Node {
    let type = type("NSDictionary", under: ["NSObject"])
    let keys = members.map { string($0.0) }
    return object(
      .dictionary([("$class", type), ("NS.keys", .array(keys)), ("NS.objects", .array(members.map(\.1)))]))
  }

  /// Returns the bytes of an archive with `root` as its root object. The method is mutating, so that its argument can add objects.
  mutating func data(_ root: Node) -> Data {
    var bytes = PropertyListBytes()
    let top = bytes.add(
      .dictionary([
        ("$version", .int(100_000)), ("$archiver", .string("NSKeyedArchiver")), ("$top", .dictionary([("root", root)])),
        ("$objects", .array(objects)),
      ]))
    return bytes.finish(top)
  }
}

/// The bytes of a binary property list.
private struct PropertyListBytes {
  private var chunks: [[UInt8]] = []

  private static func big(_ number: some FixedWidthInteger) -> [UInt8] {
    (0..<number.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }

  /// A marker and a count of two bytes.
  private static func head(_ marker: UInt8, _ count: Int) -> [UInt8] { [marker | 0x0F, 0x11] + big(UInt16(count)) }

  mutating func add(_ node: MantleArchive.Node) -> Int {
    let chunk: [UInt8] =
      switch node {
      case .string(let text):
        text.utf8.allSatisfy { $0 < 0x80 }
          ? Self.head(0x50, text.utf8.count) + Array(text.utf8)
          : Self.head(0x60, text.utf16.count) + text.utf16.flatMap { Self.big($0) }
      case .int(let number): [0x13] + Self.big(number)
      case .real(let number): [0x23] + Self.big(number.bitPattern)
      case .bool(let flag): [flag ? 0x09 : 0x08]
      case .uid(let number): [0x81] + Self.big(UInt16(number))
      case .array(let elements): Self.head(0xA0, elements.count) + references(elements)
      case .dictionary(let members):
        Self.head(0xD0, members.count) + references(members.map { .string($0.0) }) + references(members.map(\.1))
      }
    chunks.append(chunk)
    return chunks.count - 1
  }

  private mutating func references(_ nodes: [MantleArchive.Node]) -> [UInt8] {
    var bytes: [UInt8] = []
    for node in nodes { bytes += Self.big(UInt16(add(node))) }
    return bytes
  }

  func finish(_ top: Int) -> Data {
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for chunk in chunks {
      offsets += Self.big(UInt32(bytes.count))
      bytes += chunk
    }
    let start = bytes.count
    bytes += offsets + [0, 0, 0, 0, 0, 0, 4, 2]
    for number in [chunks.count, top, start] { bytes += Self.big(UInt64(number)) }
    return Data(bytes)
  }
}
