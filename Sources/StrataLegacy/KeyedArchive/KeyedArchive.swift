public import Foundation
public import StrataCore

/// What a keyed archive of Foundation holds (`NSKeyedArchiver`, also as Mantle writes it), without its classes.
///
///     let archive = try KeyedArchive(propertyList)
///     archive.graph.resolve(archive.graph.root)?["name"]
///
/// - An object with a class is a `ModelRecord` under a number of ``graph``: its type is the name of the class, its fields
///   are what the class encoded, and references to it are `ArchiveValue.reference(_:)`. So shared objects are there once,
///   and cycles end.
/// - `MTLModelVersion`, which Mantle writes into each model, is the record's version and no field.
/// - Foundation's own strings, numbers, dates, data, URLs, UUIDs and collections are inlined as values. A
///   collection that is met inside itself is an object of the graph too, since it has no end otherwise.
/// - nil and `NSNull` are `ArchiveValue.null`; a key that was not encoded is absent.
///
/// Objects of a class with the same keys have their fields in the order of the first of them.
///
/// Objects are numbered in the order in which a walk from the top keys first meets them: keys in the order of the file,
/// and each object with all that it holds before the next.
///
/// The format is that of swift-corelibs-foundation's `NSKeyedArchiver`: a property list with the keys `$archiver`,
/// `$version`, `$top` and `$objects`, in which numbers (UIDs) refer to objects.
public struct KeyedArchive: Sendable {
  /// The name of the archiver: `NSKeyedArchiver`, or that of a subclass or of another writer.
  public let archiver: String
  /// The version of the format: 100,000.
  public let version: Int
  /// The objects. Its root is what is under the key `root`; where there is no such key, an object of all keys.
  ///
  /// What is set here is what ``data(_:)`` writes.
  public var graph: ObjectGraph
  /// What is under other keys than `root`, and the index of `root` among them.
  private let others: ArchiveObject
  private let rootIndex: Int?
  let classes: [String: KeyedClass]
  private let encodings: [String: KeyedEncoding]
  private let topEncoding: KeyedEncoding
  /// What is odd about objects, by their numbers in the graph, of an archive that was read to look into it.
  package let oddities: [Int: ArchiveError]
  /// How large what was read was: its objects, and bytes of text and data.
  let size: Int?

  /// The values by the keys under which they were archived: usually `root`; values without a key have `$0`, `$1` ….
  public var top: [String: ArchiveValue] {
    Dictionary(topEntries.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  /// The keys of ``top`` in the order of the file.
  public var topKeys: [String] { topEntries.map(\.key) }

  private var topEntries: [ArchiveObject.Entry] {
    guard let rootIndex else { return graph.root.objectValue?.entries ?? [] }
    var entries = others.entries
    entries.insert(ArchiveObject.Entry(key: Self.rootKey, value: graph.root), at: rootIndex)
    return entries
  }

  static let rootKey = "root"

  /// The version of the format that this program knows, and the only one that there is.
  public static let knownVersion = 100_000

  /// Reads an archive that is a binary or an XML property list.
  ///
  /// - Parameters:
  ///   - data: the property list.
  ///   - limits: what the archive may claim, with those inside it.
  ///   - opensNested: whether data that is a keyed archive itself becomes what it holds.
  /// - Throws: as ``PropertyListReader/read(_:)`` and `init(_:limits:opensNested:)` with a property list.
  public init(_ data: Data, limits: ArchiveLimits = ArchiveLimits(), opensNested: Bool = false) throws {
    var reader = PropertyListReader()
    reader.limits = limits
    let (data, listLimits) = try reader.binary(data)
    try self.init(BinaryPropertyList(data.bytes, limits: listLimits), limits, opensNested)
  }

  /// Reads the objects of a property list that is a keyed archive.
  ///
  /// Nesting of inlined values is limited to `ArchiveLimits.depth`, and to 512 whatever that says; objects may refer to
  /// each other in lists of any length. Shared values are repeated where they are referred to, as often as
  /// `ArchiveLimits.values`, `ArchiveLimits.expandedBytes` and `ArchiveLimits.maxWorkPerByte` allow for what the archive
  /// has of objects, text and data. A class has at most 64 names above it.
  ///
  /// Programs archive objects into data and put that into other archives. With `opensNested`, data which begins as a
  /// property list does and is a keyed archive becomes the value under its key `root`, or an object of all its keys; its
  /// objects follow those met before in the same ``graph``. Archives nest in up to 8 levels, deeper ones stay data.
  /// All limits hold for the whole. Data that is a property list and no keyed archive stays data; one that is damaged is
  /// an error. Written again, such values are where the data was, so open without to hand an archive back.
  ///
  /// - Parameters:
  ///   - propertyList: the property list.
  ///   - limits: what the archive may claim, with those inside it.
  ///   - opensNested: whether data that is a keyed archive itself becomes what it holds.
  /// - Throws: `ArchiveError` with the code `notAnArchive` where the property list is something else, `newerFormat`
  ///   for a version above ``knownVersion``, `damaged` where a reference leads nowhere or in a cycle, where a class or a
  ///   value of Foundation is not as it is written, or where the list cannot be written since a number in it names no
  ///   object or a date is not finite, and `limitExceeded`. The path begins with the top key.
  /// - Complexity: linear in the size of the property list.
  public init(
    _ propertyList: PropertyList, limits: ArchiveLimits = ArchiveLimits(), opensNested: Bool = false
  ) throws {
    let data = try Self.bytes(of: propertyList)
    try self.init(BinaryPropertyList(data.bytes, limits: .ofChecked), limits, opensNested)
  }

  /// Reads an archive to look into it: an object that is not as its class writes it is a record of what was encoded, a
  /// reference that leads nowhere is one to null, and ``oddities`` has the reasons.
  ///
  /// - Throws: as `init(_:limits:opensNested:)` where the whole is no keyed archive, and for limits.
  package init(inspecting propertyList: PropertyList, limits: ArchiveLimits) throws {
    let data = try Self.bytes(of: propertyList)
    try self.init(BinaryPropertyList(data.bytes, limits: .ofChecked), limits, false, isLenient: true)
  }

  private static func bytes(of propertyList: PropertyList) throws -> Data {
    guard propertyList.objects.indices.contains(propertyList.root) else {
      throw KeyedTable.notAnArchive("its outermost object is no dictionary")
    }
    do { return try PropertyListWriter().write(propertyList) } catch {
      throw ArchiveError(.damaged, "the property list is none that could be written", underlying: error)
    }
  }

  /// Reads an archive whose models are known, for making them: the graph holds only objects of classes and of no model.
  init(_ data: Data, limits: ArchiveLimits, models: KeyedModels) throws {
    var reader = PropertyListReader()
    reader.limits = limits
    let (data, listLimits) = try reader.binary(data)
    do {
      try self.init(BinaryPropertyList(data.bytes, limits: listLimits), limits, false, models)
    } catch let error as ArchiveError where models.needGraph || error.limit == .depth {
      // An object of the graph is in no other value, so that its depth is its own.
      try self.init(BinaryPropertyList(data.bytes, limits: listLimits), limits, false)
    }
    models.classes = classes
  }

  private init(
    _ list: BinaryPropertyList, _ limits: ArchiveLimits, _ opensNested: Bool, _ models: KeyedModels? = nil,
    isLenient: Bool = false
  ) throws {
    let table = try KeyedTable(list, limits: limits)
    let nested = opensNested ? KeyedNesting(dataSize: list.dataSize) : nil
    var reader = try KeyedReader(table, limits: limits, models: models, nested: nested)
    if isLenient { reader.contents.oddities = [:] }
    let values = try reader.read().values
    archiver = table.archiver
    version = table.version
    rootIndex = values.entries.firstIndex { $0.key == Self.rootKey }
    others = ArchiveObject(uniqueEntries: values.entries.filter { $0.key != Self.rootKey })
    graph = ObjectGraph(objects: reader.contents.objects, root: values[Self.rootKey] ?? .object(values))
    classes = reader.contents.classes
    encodings = reader.contents.encodings
    topEncoding = reader.contents.topEncoding
    oddities = reader.contents.oddities ?? [:]
    size = table.size
  }

  /// An archive of a graph, to be written.
  ///
  /// - Parameters:
  ///   - graph: objects that refer to each other, and what is archived of them.
  ///   - key: the key under which the root is archived.
  public init(_ graph: ObjectGraph, key: String = "root") {
    archiver = "NSKeyedArchiver"
    version = Self.knownVersion
    rootIndex = key == Self.rootKey ? 0 : nil
    others = ArchiveObject()
    oddities = [:]
    size = nil
    let root: ArchiveValue =
      key == Self.rootKey ? graph.root : .object(ArchiveObject([ArchiveObject.Entry(key: key, value: graph.root)]))
    self.graph = ObjectGraph(objects: graph.objects, root: root)
    classes = [:]
    encodings = [:]
    topEncoding = KeyedEncoding()
  }

  /// The archive as a binary property list, which `NSKeyedUnarchiver` opens.
  ///
  /// What was read is written as it was: keys, classes with their superclasses, and whether a value is inlined in its object
  /// or is an object of its own. Reading it again gives the same graph. Objects that nothing refers to are left out. The
  /// same archive always gives the same bytes.
  ///
  /// - Parameter options: how classes and numbers are written where the archive does not know it.
  /// - Throws: `ArchiveError` with the code `notEncodable` where a reference names no object, an integer takes more
  ///   than 128 bits, a number is only known as text, a date of a property list is not finite, a field has a key
  ///   of the archiver's, or where the archive has no key `root` and the root is no object of all keys; `limitExceeded`
  ///   where inlined values nest in more than 512 levels, which is as deep as they are read.
  /// - Complexity: linear in the size of what the root refers to. The stack does not grow with the graph.
  public func data(_ options: KeyedWriting = KeyedWriting()) throws -> Data {
    try PropertyListWriter().write(propertyList(options))
  }

  /// The archive as a property list: ``data(_:)`` before it becomes bytes.
  ///
  /// - Throws: as ``data(_:)``.
  public func propertyList(_ options: KeyedWriting = KeyedWriting()) throws -> PropertyList {
    if rootIndex == nil, graph.root.objectValue == nil {
      throw ArchiveError(
        .notEncodable, "the archive has no top key root, so its root is to be an object of all top keys")
    }
    var writer = KeyedWriter(graph.objects, classes: classes, encodings: encodings, options: options)
    return try writer.write(topEntries, topEncoding, archiver: archiver)
  }

  /// The names of a class and of its superclasses as they were when the archive was written, the class first; empty for
  /// a class that the archive does not hold.
  public func classChain(of typeName: String) -> [String] { classes[typeName]?.chain ?? [] }

  /// The names of classes to use instead of a class that a program does not have, as its author wished.
  public func classHints(of typeName: String) -> [String] { classes[typeName]?.hints ?? [] }
}
