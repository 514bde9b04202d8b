public import Foundation

/// What a keyed archive of Foundation holds (`NSKeyedArchiver`, also as Mantle writes it), without its classes.
///
///     let archive = try KeyedArchive(propertyList)
///     archive.graph.resolve(archive.graph.root)?["name"]
///
/// - An object with a class is a ``Record`` under a number of ``graph``: its type is the name of the class, its fields
///   are what the class encoded, and wherever it is meant, ``Value/reference(_:)`` stands. So shared objects stand once,
///   and cycles end.
/// - `MTLModelVersion`, which Mantle writes into each model, is the record's version and no field.
/// - Foundation's own strings, numbers, dates, data, URLs, UUIDs and collections are plain values in their places. A
///   collection that is met inside itself is an object of the graph too, since it has no end otherwise.
/// - nil and `NSNull` are ``Value/null``; a key that was not encoded is absent.
///
/// Objects are numbered in the order in which a walk from the top keys first meets them: keys in the order of the file,
/// and each object with all that it holds before the next.
///
/// The format is that of swift-corelibs-foundation's `NSKeyedArchiver`: a property list with the keys `$archiver`,
/// `$version`, `$top` and `$objects`, in which numbers (UIDs) stand for objects.
public struct KeyedArchive: Sendable {
  /// The name of the archiver: `NSKeyedArchiver`, or that of a subclass or of another writer.
  public let archiver: String
  /// The version of the format: 100,000.
  public let version: Int
  /// The values by the keys under which they were archived: usually `root`; values without a key have `$0`, `$1` ….
  public let top: [String: Value]
  /// The objects. Its root is what stands under the key `root`; where there is no such key, an object of all keys.
  public let graph: ObjectGraph
  private let classes: [String: KeyedClass]

  /// The version of the format that this program knows, and the only one that there is.
  public static let knownVersion = 100_000

  /// Reads an archive in the form of a binary or an XML property list.
  ///
  /// - Throws: as ``PropertyListReader/read(_:)`` and `init(_:limits:)` with a property list.
  public init(_ data: Data, limits: ArchiveLimits = ArchiveLimits()) throws {
    var reader = PropertyListReader()
    reader.limits = limits
    try self.init(reader.read(data), limits: limits)
  }

  /// Reads the objects of a property list that is a keyed archive.
  ///
  /// Nesting of plain values is limited to ``ArchiveLimits/depth``, and to 512 whatever that says; objects may refer to
  /// each other in lists of any length. Shared plain values are repeated in their places, up to 1,048,576 of them,
  /// or 16 for each object of the archive where that is more.
  ///
  /// - Throws: ``ArchiveError`` with the code `notAnArchive` where the property list is something else, `newerFormat`
  ///   for a version above ``knownVersion``, `damaged` where a reference leads nowhere or in a circle, or where a class or
  ///   a value of Foundation is not as it is written, and `limitExceeded`. The path begins with the top key.
  /// - Complexity: linear in the size of the property list.
  public init(_ propertyList: PropertyList, limits: ArchiveLimits = ArchiveLimits()) throws {
    let table = try KeyedTable(propertyList, limits: limits)
    var walk = KeyedWalk(table, limits: limits)
    let values = try walk.run()
    archiver = table.archiver
    version = table.version
    top = Dictionary(values.entries.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
    graph = ObjectGraph(objects: walk.objects, root: values["root"] ?? .object(values))
    classes = walk.classesByName
  }

  /// The names of a class and of its superclasses as they were when the archive was written, the class first; empty for
  /// a class that the archive does not hold.
  public func classChain(of typeName: String) -> [String] { classes[typeName]?.chain ?? [] }

  /// The names of classes that may stand for a class where a program does not have it, as its author wished.
  public func classHints(of typeName: String) -> [String] { classes[typeName]?.hints ?? [] }
}
